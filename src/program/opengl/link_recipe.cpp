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
  const ShaderSource& source = *shader.source;
  recipe.add(prefix + std::string(kText), source.text);
  if (source.sizes.size() != 1) {
    std::string sizes;
    for (const std::size_t each : source.sizes) sizes += std::to_string(each) + ' ';
    recipe.add(prefix + "strings", sizes);
  }
  if (!source.may_include || shader.includes == nullptr) return;
  for (const std::string& path : shader.includes->paths) recipe.add(prefix + "include-path", path);
  for (const auto& [name, text] : shader.includes->named) recipe.add(prefix + "named-string " + name, text);
}

std::string prefix_of(std::size_t number) {
  return "shader " + std::to_string(number) + '/';
}

}  // namespace

std::string why_not(const std::vector<ShaderInput>& shaders) {
  if (shaders.empty()) return "it has no shaders";
  for (const ShaderInput& shader : shaders) {
    if (shader.source == nullptr) return "one of its shaders is not made from a source that larder saw";
    if (shader.source->may_include && shader.includes == nullptr)
      return "its source may include named strings, and larder does not know which";
  }
  return {};
}

ShaderText to_source(const std::vector<std::string_view>& strings) {
  auto source = std::make_shared<ShaderSource>();
  for (const std::string_view each : strings) {
    source->text += each;
    source->sizes.push_back(each.size());
  }
  // A line may go on after a backslash, in the middle of a word.
  source->may_include = source->text.find("include") != std::string::npos ||
                        source->text.find("\\\n") != std::string::npos ||
                        source->text.find("\\\r") != std::string::npos;
  return source;
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
  if (options.is_of_one_call) recipe.add("made-by", "glCreateShaderProgramv");
  recipe.add("separable", options.is_separable ? "yes" : "no");
  recipe.add("retrievable", options.is_retrievable ? "yes" : "no");
  return recipe;
}

}  // namespace larder::opengl
