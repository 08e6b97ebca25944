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

// A shader's source as it was given, string by string: compilers say in their logs in which one they found
// something.
struct ShaderSource {
  std::string text;                // all of them
  std::vector<std::size_t> sizes;  // of each
  bool may_include = false;        // named strings, that is
};
using ShaderText = std::shared_ptr<const ShaderSource>;
ShaderText to_source(const std::vector<std::string_view>& strings);

// What GL_ARB_shading_language_include adds to a source when it is compiled: the named strings that are in
// force, and where paths are searched, in order.
struct Includes {
  std::map<std::string, std::string> named{};
  std::vector<std::string> paths{};
};

// A shader as it was compiled: its kind in OpenGL's numbers, and its source.
struct ShaderInput {
  std::uint32_t kind = 0;
  ShaderText source{};
  // What it may include, where its source does; null: not known.
  std::shared_ptr<const Includes> includes{};
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
  // glCreateShaderProgramv's, whose log is another.
  bool is_of_one_call = false;
};

// Why a program of such shaders cannot be kept; empty: it can.
std::string why_not(const std::vector<ShaderInput>& shaders);

Recipe shader_recipe(const DeviceIdentity& identity, const ShaderInput& shader);
// In the order in which the shaders are attached.
Recipe program_recipe(const DeviceIdentity& identity, const std::vector<ShaderInput>& shaders,
                      const LinkOptions& options);

// The name of the ingredient that holds the text of shader number `number` of a program.
std::string text_name(std::size_t number);

}  // namespace larder::opengl
