#include "program/opengl/link_recipe.hpp"

namespace larder::opengl {
namespace {

constexpr std::string_view kText = "text";

std::string number_text(std::uint32_t number) {
  return std::to_string(number);
}

void add_identity(Recipe& recipe, const DeviceIdentity& identity) {
  for (const auto& [name, value] : identity.facts) recipe.add(name, value);
}

void add_shader(Recipe& recipe, const std::string& prefix, const ShaderInput& shader) {
  recipe.add(prefix + "kind", number_text(shader.kind));
  recipe.add(prefix + std::string(kText), joined(shader));
  if (shader.strings->size() == 1) return;
  std::string sizes;
  for (const std::string& each : *shader.strings) sizes += std::to_string(each.size()) + ' ';
  recipe.add(prefix + "strings", sizes);
}

std::string prefix_of(std::size_t number) {
  return "shader " + std::to_string(number) + '/';
}

}  // namespace

std::string why_not(const std::vector<ShaderInput>& shaders) {
  if (shaders.empty()) return "it has no shaders";
  for (const ShaderInput& shader : shaders) {
    if (shader.strings == nullptr) return "one of its shaders is not made from a source that larder saw";
    if (joined(shader).find("include") != std::string::npos)
      return "its source may include named strings, and those are not followed";
  }
  return {};
}

std::string joined(const ShaderInput& shader) {
  std::string text;
  for (const std::string& each : *shader.strings) text += each;
  return text;
}

std::string text_name(std::size_t number) {
  return prefix_of(number) + std::string(kText);
}

Recipe shader_recipe(const DeviceIdentity& identity, const ShaderInput& shader) {
  Recipe recipe("opengl-shader");
  add_identity(recipe, identity);
  add_shader(recipe, {}, shader);
  return recipe;
}

Recipe program_recipe(const DeviceIdentity& identity, const std::vector<ShaderInput>& shaders,
                      const LinkOptions& options) {
  Recipe recipe("opengl-program");
  add_identity(recipe, identity);
  for (std::size_t i = 0; i < shaders.size(); ++i) add_shader(recipe, prefix_of(i), shaders[i]);
  for (const auto& [name, location] : options.attributes)
    recipe.add("attribute " + name, number_text(location));
  for (const auto& [name, output] : options.outputs)
    recipe.add("output " + name, number_text(output.colour) + ' ' + number_text(output.index));
  if (!options.feedback.empty()) recipe.add("feedback-mode", number_text(options.feedback_mode));
  for (const std::string& varying : options.feedback) recipe.add("feedback-varying", varying);
  recipe.add("separable", options.is_separable ? "yes" : "no");
  recipe.add("retrievable", options.is_retrievable ? "yes" : "no");
  return recipe;
}

}  // namespace larder::opengl
