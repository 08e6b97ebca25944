#include <algorithm>
#include <filesystem>

#include "base/number.hpp"
#include "larder/program_input.hpp"
#include "program/clock_macros.hpp"

namespace larder {
namespace {

constexpr std::string_view kPart = "part ";
constexpr std::string_view kFailed = "build failed (";

// Whether a text of C's kind can make its compiler look for a file. Only a directive can; what spells one is
// these words, unless a line is spliced in the middle of them.
bool may_read_files(std::string_view source) noexcept {
  constexpr std::string_view kSigns[] = {"include", "import", "embed", "__has_", "\\\n", "\\\r", "?\?/"};
  for (const std::string_view sign : kSigns) {
    if (source.find(sign) != std::string_view::npos) return true;
  }
  return false;
}

// Adds what `input` says, each name behind `prefix`; the first reason not to keep it goes to `why_not`.
void add_input(const ProgramInput& input, const std::string& prefix, Canonicalise canonicalise,
               DescribedProgram& described) {
  ProgramIngredients& to = described.ingredients;
  const auto note = [&](std::string why) {
    if (described.why_not.empty()) described.why_not = std::move(why);
  };
  const auto look_at_source = [&](std::string_view text) {
    if (input.form != ProgramForm::source) return;
    described.may_read_files = described.may_read_files || may_read_files(text);
    if (const auto macro = clock_macro_in(text); !macro.empty()) {
      note("its source uses " + std::string(macro) + ", which is different each time");
    }
  };
  look_at_source(input.text);
  if (input.form == ProgramForm::interop) {
    note("made by interoperation: what it was made from is not known");
  }
  const auto named = [&](std::string_view name) { return prefix + std::string(name); };
  to.add_owned(named(ingredient::kForm), std::string(name(input.form)));
  if (input.form != ProgramForm::linked) to.add(named(ingredient::kText), input.text);
  for (const ProgramHeader& header : input.headers) {
    to.add(named(ingredient::kHeader) + std::string(header.name), header.text);
    look_at_source(header.text);
  }
  if (!input.name.empty()) to.add(named(ingredient::kName), input.name);
  std::vector<std::string_view> expressions(input.name_expressions.begin(), input.name_expressions.end());
  std::sort(expressions.begin(), expressions.end());
  expressions.erase(std::unique(expressions.begin(), expressions.end()), expressions.end());
  for (const std::string_view each : expressions) to.add(named(ingredient::kNameExpression), each);
  for (const SpecConstant& constant : input.constants) {
    to.add(named(ingredient::kConstant) + std::to_string(constant.id), as_text(constant.value));
  }
  bool names_folder = false;
  const auto add_options = [&](std::string_view ingredient, std::string_view OptionPair::*stage) {
    CanonicalOptions merged;
    for (const OptionPair* pair : {&input.image_options, &input.call_options, &input.environment_options}) {
      CanonicalOptions one = canonicalise(pair->*stage);
      if (!one.why_not.empty()) note(std::move(one.why_not));
      described.may_read_files = described.may_read_files || one.reads_files;
      names_folder = names_folder || one.names_folder;
      if (!merged.text.empty() && !one.text.empty()) merged.text += ' ';
      merged.text += one.text;
    }
    to.add_owned(named(ingredient), std::move(merged.text));
  };
  add_options(ingredient::kCompileOptions, &OptionPair::compile);
  add_options(ingredient::kLinkOptions, &OptionPair::link);
  if (names_folder) {
    std::error_code error;
    std::string folder = std::filesystem::current_path(error).string();
    if (folder.empty()) note("the product says in which folder it was compiled, and that is not known");
    to.add_owned(named(ingredient::kFolder), std::move(folder));
  }
  for (std::size_t i = 0; i < input.parts.size(); ++i) {
    add_input(input.parts[i], named(kPart) + std::to_string(i) + '/', canonicalise, described);
  }
}

}  // namespace

std::string_view name(ProgramForm form) noexcept {
  switch (form) {
    case ProgramForm::source:
      return "source";
    case ProgramForm::image:
      return "image";
    case ProgramForm::linked:
      return "linked";
    case ProgramForm::interop:
      return "interop";
  }
  return "unknown";
}

void ProgramIngredients::add_owned(std::string name, std::string text) {
  entries_.push_back({std::move(name), std::move(text), {}, true});
}

std::string_view ProgramIngredients::text(std::string_view name) const noexcept {
  for (const Entry& entry : entries_) {
    if (entry.name == name) return entry.content();
  }
  return {};
}

bool ProgramIngredients::has(std::string_view name) const noexcept {
  for (const Entry& entry : entries_) {
    if (entry.name == name) return true;
  }
  return false;
}

std::vector<std::pair<std::string_view, std::string_view>> ProgramIngredients::all(
    std::string_view prefix) const {
  std::vector<std::pair<std::string_view, std::string_view>> found;
  for (const Entry& entry : entries_) {
    if (!entry.name.starts_with(prefix)) continue;
    found.emplace_back(std::string_view(entry.name).substr(prefix.size()), entry.content());
  }
  return found;
}

std::optional<ProgramIngredients> ProgramIngredients::part(std::size_t number) const {
  ProgramIngredients found;
  for (const auto& [name, content] : all(std::string(kPart) + std::to_string(number) + '/')) {
    found.add(std::string(name), content);
  }
  if (found.size() == 0) return std::nullopt;
  return found;
}

void ProgramIngredients::add_to(Recipe& recipe) const {
  for (const Entry& entry : entries_) recipe.add(entry.name, entry.content());
}

DescribedProgram describe(const ProgramInput& input, Canonicalise canonicalise) {
  DescribedProgram described;
  add_input(input, "", canonicalise, described);
  return described;
}

// The number stands in the text, so that it goes wherever an Error goes and needs no second channel.
Error to_error(const BuildFailure& failure) {
  return {Code::maker_failed, std::string(kFailed) + std::to_string(failure.code) + "): " + failure.log};
}

std::optional<BuildFailure> build_failure(const Error& error) {
  std::string_view rest = error.what;
  if (error.code != Code::maker_failed || !rest.starts_with(kFailed)) return std::nullopt;
  rest.remove_prefix(kFailed.size());
  const auto code = take_number<decltype(BuildFailure::code)>(rest);
  constexpr std::string_view kThen = "): ";
  if (!code || !rest.starts_with(kThen)) return std::nullopt;
  return BuildFailure{*code, std::string(rest.substr(kThen.size()))};
}

}  // namespace larder
