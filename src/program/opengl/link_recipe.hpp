// What decides an OpenGL program, as recipes: the one of the linked program ("opengl-program") and the one of
// each of its shaders ("opengl-shader"). Plain values, each for one thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "larder/program_input.hpp"
#include "larder/recipe.hpp"

namespace larder::opengl {

// A shader as it was compiled: its kind in OpenGL's numbers, and its source, string by string: compilers say
// in their logs in which one they found something.
struct ShaderInput {
  std::uint32_t kind = 0;
  std::shared_ptr<const std::vector<std::string>> strings;
};

// What a program object was told before it is linked.
struct LinkOptions {
  struct Output {
    std::uint32_t colour = 0;
    std::uint32_t index = 0;
  };
  std::map<std::string, std::uint32_t, std::less<>> attributes{};
  std::map<std::string, Output, std::less<>> outputs{};
  std::uint32_t feedback_mode = 0;
  std::vector<std::string> feedback{};  // the varyings, in order
  bool is_separable = false;
  bool is_retrievable = false;  // PROGRAM_BINARY_RETRIEVABLE_HINT, which drivers compile by
};

// Why a program of such shaders cannot be kept; empty: it can.
std::string why_not(const std::vector<ShaderInput>& shaders);

Recipe shader_recipe(const DeviceIdentity& identity, const ShaderInput& shader);
// In the order in which the shaders are attached.
Recipe program_recipe(const DeviceIdentity& identity, const std::vector<ShaderInput>& shaders,
                      const LinkOptions& options);

// The source as one text, as it stands in the recipe.
std::string joined(const ShaderInput& shader);
// The name of the ingredient that holds the text of shader number `number` of a program.
std::string text_name(std::size_t number);

}  // namespace larder::opengl
