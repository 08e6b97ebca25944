#include "larder/shader_status.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace larder {
namespace {

Key shader(std::string_view source) {
  return Recipe("shader").add("source", source).key();
}

Key program(const std::vector<Key>& shaders, std::string_view attributes = {}) {
  Recipe recipe("link");
  for (const Key& each : shaders) recipe.add("shader", each.hex());
  return recipe.add("attributes", attributes).key();
}

std::string numbered(std::string text, int number) {
  text += std::to_string(number);
  return text;
}

TEST(ShaderStatus, AShaderIsUnknownUntilItCompiled) {
  ShaderStatus status;
  EXPECT_FALSE(status.is_known_good(shader("a")));
  status.shader_compiled(shader("a"));
  EXPECT_TRUE(status.is_known_good(shader("a")));
}

TEST(ShaderStatus, AShaderIsUnknownAfterItsSourceChanged) {
  ShaderStatus status;
  status.shader_compiled(shader("a"));
  EXPECT_FALSE(status.is_known_good(shader("a ")));
}

TEST(ShaderStatus, KeepsItsOwnCopyOfAKey) {
  ShaderStatus status;
  Key key = shader("a");
  status.shader_compiled(key);
  const Key linked = program({key});
  std::vector<Key> shaders{key};
  status.program_linked(linked, shaders);
  key = {};
  shaders.assign(1, Key{});
  EXPECT_TRUE(status.is_known_good(shader("a")));
  EXPECT_EQ(status.uses(shader("a")), 1u);
  EXPECT_TRUE(status.program_left(linked));
  EXPECT_FALSE(status.is_known_good(shader("a")));
}

TEST(ShaderStatus, ALinkIsUnknownWhenEitherSourceOrTheAttributesChange) {
  ShaderStatus status;
  const Key vertex = shader("v");
  const Key fragment = shader("f");
  const std::vector<Key> shaders{vertex, fragment};
  status.program_linked(program(shaders, "0=position"), shaders);
  EXPECT_TRUE(status.is_linked(program({vertex, fragment}, "0=position")));
  EXPECT_FALSE(status.is_linked(program({shader("v2"), fragment}, "0=position")));
  EXPECT_FALSE(status.is_linked(program({vertex, shader("f2")}, "0=position")));
  EXPECT_FALSE(status.is_linked(program({vertex, fragment}, "1=position")));
  EXPECT_FALSE(status.is_linked(program({fragment, vertex}, "0=position")));
}

TEST(ShaderStatus, AShaderLeavesWithItsOnlyProgram) {
  ShaderStatus status;
  const std::vector<Key> shaders{shader("v"), shader("f")};
  for (const Key& each : shaders) status.shader_compiled(each);
  status.program_linked(program(shaders), shaders);
  EXPECT_TRUE(status.program_left(program(shaders)));
  EXPECT_FALSE(status.is_linked(program(shaders)));
  EXPECT_FALSE(status.is_known_good(shaders[0]));
  EXPECT_FALSE(status.is_known_good(shaders[1]));
  EXPECT_FALSE(status.program_left(program(shaders)));
}

TEST(ShaderStatus, AShaderThatAnotherProgramUsesStays) {
  ShaderStatus status;
  const std::vector<Key> first{shader("v"), shader("f1")};
  const std::vector<Key> second{shader("v"), shader("f2")};
  status.program_linked(program(first), first);
  status.program_linked(program(second), second);
  EXPECT_EQ(status.uses(shader("v")), 2u);
  status.program_left(program(first));
  EXPECT_TRUE(status.is_known_good(shader("v")));
  EXPECT_FALSE(status.is_known_good(shader("f1")));
  EXPECT_EQ(status.uses(shader("v")), 1u);
  status.program_left(program(second));
  EXPECT_FALSE(status.is_known_good(shader("v")));
  EXPECT_EQ(status.stats().shaders, 0u);
}

TEST(ShaderStatus, LinkingAgainCountsAShaderOnce) {
  ShaderStatus status;
  const std::vector<Key> twice{shader("v"), shader("v")};
  status.program_linked(program(twice), twice);
  status.program_linked(program(twice), twice);
  EXPECT_EQ(status.uses(shader("v")), 1u);
  status.program_left(program(twice));
  EXPECT_FALSE(status.is_known_good(shader("v")));
}

TEST(ShaderStatus, IsClearedAtOnce) {
  ShaderStatus status;
  const std::vector<Key> shaders{shader("v")};
  status.program_linked(program(shaders), shaders);
  status.shader_compiled(shader("unused"));
  status.clear();
  EXPECT_EQ(status.stats().shaders + status.stats().programs, 0u);
  status.shader_compiled(shader("unused"));
  EXPECT_TRUE(status.is_known_good(shader("unused")));
}

TEST(ShaderStatus, StaysBounded) {
  ShaderStatus status({.programs_max = 3, .unused_shaders_max = 2});
  for (int i = 0; i < 10; ++i) {
    const std::vector<Key> shaders{shader(numbered("v", i)), shader("shared")};
    status.shader_compiled(shader(numbered("unused", i)));
    status.program_linked(program(shaders), shaders);
  }
  EXPECT_EQ(status.stats().programs, 3u);
  EXPECT_EQ(status.stats().shaders, 3u + 1u + 2u);
  EXPECT_EQ(status.uses(shader("shared")), 3u);
  EXPECT_FALSE(status.is_known_good(shader("unused0")));
  EXPECT_TRUE(status.is_known_good(shader("unused9")));
  EXPECT_FALSE(status.is_known_good(shader("v0")));
  EXPECT_TRUE(status.is_known_good(shader("v9")));
}

TEST(ShaderStatus, CountsRightWhenManyThreadsLinkAndLeave) {
  ShaderStatus status;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 500; ++i) {
        const std::vector<Key> shaders{shader("shared"), shader(std::to_string(i % 7))};
        const Key linked = program(shaders, std::to_string(t));
        status.program_linked(linked, shaders);
        status.program_left(linked);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(status.stats().shaders, 0u);
  EXPECT_EQ(status.stats().programs, 0u);
}

}  // namespace
}  // namespace larder
