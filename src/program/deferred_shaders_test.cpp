#include "program/deferred_shaders.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "larder/recipe.hpp"

namespace larder::testing {
namespace {

Key key_of(std::string_view name) {
  return Recipe("shader").add("source", name).key();
}

// A driver that counts what it is asked to do.
class DeferredShadersTest : public ::testing::Test {
 protected:
  static constexpr DeferredShaders::Shader kVertex = 1;
  static constexpr DeferredShaders::Shader kFragment = 2;

  bool compile(DeferredShaders& shaders, DeferredShaders::Shader shader, const Key& key) {
    return shaders.compile(shader, key, [this, shader] {
      compiled_.push_back(shader);
      return compiles_;
    });
  }
  LinkedProgram link(DeferredShaders& shaders, bool has_binary) {
    const DeferredShaders::Shader both[] = {kVertex, kFragment};
    const Key keys[] = {vertex_, fragment_};
    return shaders.link(
        program_, both, keys, [&] { return has_binary; },
        [&] {
          compiled_at_link_ = compiled_.size();
          return links_;
        });
  }
  // What an earlier context knew.
  void know_both() {
    status_.shader_compiled(vertex_);
    status_.shader_compiled(fragment_);
    const Key keys[] = {vertex_, fragment_};
    status_.program_linked(program_, keys);
  }

  const Key vertex_ = key_of("vertex");
  const Key fragment_ = key_of("fragment");
  const Key program_ = key_of("program");
  ShaderStatus status_;
  std::vector<DeferredShaders::Shader> compiled_;
  std::size_t compiled_at_link_ = 0;
  bool compiles_ = true;
  bool links_ = true;
};

TEST_F(DeferredShadersTest, CompilesWhatIsUnknownAtOnce) {
  DeferredShaders shaders(status_);
  EXPECT_TRUE(compile(shaders, kVertex, vertex_));
  EXPECT_EQ(compiled_.size(), 1u);
  EXPECT_TRUE(status_.is_known_good(vertex_));
  compiles_ = false;
  EXPECT_FALSE(compile(shaders, kFragment, fragment_));
  EXPECT_FALSE(status_.is_known_good(fragment_));
}

TEST_F(DeferredShadersTest, AProgramFromItsBinaryNeedsNoCompiling) {
  know_both();
  DeferredShaders shaders(status_);
  EXPECT_TRUE(compile(shaders, kVertex, vertex_));
  EXPECT_TRUE(compile(shaders, kFragment, fragment_));
  const LinkedProgram linked = link(shaders, true);
  EXPECT_TRUE(linked.is_linked);
  EXPECT_TRUE(linked.is_from_binary);
  EXPECT_TRUE(compiled_.empty());
}

TEST_F(DeferredShadersTest, AShaderWhoseCompileWasSkippedIsCompiledWhenItsProgramMisses) {
  know_both();
  DeferredShaders shaders(status_);
  compile(shaders, kVertex, vertex_);
  compile(shaders, kFragment, fragment_);
  const LinkedProgram linked = link(shaders, false);
  EXPECT_TRUE(linked.is_linked);
  EXPECT_FALSE(linked.is_from_binary);
  EXPECT_EQ(linked.compiled_after_all, 2u);
  EXPECT_EQ(compiled_, (std::vector<DeferredShaders::Shader>{kVertex, kFragment}));
  EXPECT_EQ(compiled_at_link_, 2u) << "before linking";
  link(shaders, false);
  EXPECT_EQ(compiled_.size(), 2u) << "once";
  EXPECT_TRUE(status_.is_linked(program_));
}

TEST_F(DeferredShadersTest, WhatStaysPutOffIsCompiledForTheNextProgramThatMisses) {
  know_both();
  DeferredShaders shaders(status_);
  compile(shaders, kVertex, vertex_);
  link(shaders, true);
  EXPECT_TRUE(shaders.is_deferred(kVertex));
  EXPECT_EQ(link(shaders, false).compiled_after_all, 1u);
}

TEST_F(DeferredShadersTest, AShaderThatDoesNotCompileAfterAllIsNotLinked) {
  know_both();
  DeferredShaders shaders(status_);
  compile(shaders, kVertex, vertex_);
  compiles_ = false;
  EXPECT_FALSE(link(shaders, false).is_linked);
  EXPECT_FALSE(status_.is_linked(program_));
}

TEST_F(DeferredShadersTest, IsCompiledWhenItsLogIsWanted) {
  know_both();
  DeferredShaders shaders(status_);
  compile(shaders, kVertex, vertex_);
  EXPECT_TRUE(shaders.need(kVertex));
  EXPECT_EQ(compiled_.size(), 1u);
  EXPECT_TRUE(shaders.need(kVertex));
  EXPECT_EQ(compiled_.size(), 1u);
}

TEST_F(DeferredShadersTest, ANewSourceTakesTheOldOnesPlace) {
  know_both();
  DeferredShaders shaders(status_);
  compile(shaders, kVertex, vertex_);
  EXPECT_TRUE(compile(shaders, kVertex, key_of("another")));
  EXPECT_EQ(compiled_.size(), 1u);
  EXPECT_FALSE(shaders.is_deferred(kVertex));
  shaders.forget(kVertex);
}

}  // namespace
}  // namespace larder::testing
