#include "larder/compiler_options.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace larder {
namespace {

bool is_blank(char c) noexcept {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f';
}

std::vector<std::string> words_of(std::string_view options) {
  std::vector<std::string> words;
  std::string word;
  bool is_quoted = false;
  for (const char c : options) {
    if (c == '"') is_quoted = !is_quoted;
    if (is_blank(c) && !is_quoted) {
      if (!word.empty()) words.push_back(std::move(word));
      word.clear();
    } else {
      word.push_back(c);
    }
  }
  if (!word.empty()) words.push_back(std::move(word));
  return words;
}

bool fits(const OptionRule& rule, std::string_view word) noexcept {
  return rule.shape == OptionShape::alone ? word == rule.spelling : word.starts_with(rule.spelling);
}

// The rule that knows most of the word: `-D` also begins words that longer rules are about.
const OptionRule* rule_for(std::string_view word, std::span<const OptionRule> rules) noexcept {
  const OptionRule* best = nullptr;
  for (const OptionRule& rule : rules) {
    if (fits(rule, word) && (best == nullptr || rule.spelling.size() > best->spelling.size())) best = &rule;
  }
  return best;
}

}  // namespace

CanonicalOptions canonical_options(std::string_view options, std::span<const OptionRule> rules) {
  CanonicalOptions canonical;
  std::vector<std::string> said_once;
  const std::vector<std::string> words = words_of(options);
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string word = words[i];
    const OptionRule* const rule = rule_for(word, rules);
    if (rule != nullptr) {
      if (rule->shape == OptionShape::joined_or_separate && word == rule->spelling && i + 1 < words.size()) {
        word += words[++i];
      }
      switch (rule->effect) {
        case OptionEffect::keep:
          break;
        case OptionEffect::once:
          if (std::find(said_once.begin(), said_once.end(), word) != said_once.end()) continue;
          said_once.push_back(word);
          break;
        case OptionEffect::define:
          if (word.ends_with("=1") && std::count(word.begin(), word.end(), '=') == 1)
            word.resize(word.size() - 2);
          break;
        case OptionEffect::reads_file:
          canonical.reads_files = true;
          break;
        case OptionEffect::side_effect:
          if (canonical.why_not.empty()) {
            canonical.why_not = "option " + word + " does more than compile, which a hit would not do";
          }
          break;
      }
    }
    if (!canonical.text.empty()) canonical.text += ' ';
    canonical.text += word;
  }
  return canonical;
}

}  // namespace larder
