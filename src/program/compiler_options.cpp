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
  switch (rule.shape) {
    case OptionShape::alone:
      return word == rule.spelling;
    case OptionShape::begins:
    case OptionShape::joined_or_separate:
      return word.starts_with(rule.spelling);
    case OptionShape::with_value:
      return word.starts_with(rule.spelling) &&
             (word.size() == rule.spelling.size() || word[rule.spelling.size()] == '=');
  }
  return false;
}

// The rule that knows most of the word: `-D` also begins words that longer rules are about.
const OptionRule* rule_for(std::string_view word, std::span<const OptionRule> rules) noexcept {
  const OptionRule* best = nullptr;
  for (const OptionRule& rule : rules) {
    if (fits(rule, word) && (best == nullptr || rule.spelling.size() > best->spelling.size())) best = &rule;
  }
  return best;
}

// The word in the rule's own spelling; takes its value from the next one when it stands there.
std::string spell(const OptionRule& rule, std::span<const std::string> words, std::size_t& i) {
  const std::string& word = words[i];
  const bool has_value_next =
      rule.shape == OptionShape::joined_or_separate || rule.shape == OptionShape::with_value;
  const bool is_bare = word.size() == rule.spelling.size();
  if (has_value_next && is_bare && i + 1 == words.size()) return word;  // the compiler's to complain of
  std::string spelled(rule.canonical.empty() ? rule.spelling : rule.canonical);
  if (rule.shape == OptionShape::with_value && rule.canonical.empty()) spelled += '=';
  if (has_value_next && is_bare) return spelled + words[++i];
  std::string_view rest = std::string_view(word).substr(rule.spelling.size());
  if (rule.shape == OptionShape::with_value) rest.remove_prefix(1);
  return spelled.append(rest);
}

std::vector<std::string> canonical_words(std::span<const std::string> words,
                                         std::span<const OptionRule> rules, CanonicalOptions& found) {
  std::vector<std::string> canonical;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const OptionRule* const rule = rule_for(words[i], rules);
    std::string word = rule == nullptr ? words[i] : spell(*rule, words, i);
    if (rule != nullptr) {
      switch (rule->effect) {
        case OptionEffect::keep:
          break;
        case OptionEffect::once:
          if (std::find(canonical.begin(), canonical.end(), word) != canonical.end()) continue;
          break;
        case OptionEffect::define:
          if (word.ends_with("=1") && std::count(word.begin(), word.end(), '=') == 1)
            word.resize(word.size() - 2);
          break;
        case OptionEffect::reads_file:
          found.reads_files = true;
          break;
        case OptionEffect::names_folder:
          found.names_folder = true;
          break;
        case OptionEffect::side_effect:
          if (found.why_not.empty()) {
            found.why_not = "option " + word + " does more than compile, which a hit would not do";
          }
          break;
      }
    }
    canonical.push_back(std::move(word));
  }
  return canonical;
}

}  // namespace

CanonicalOptions canonical_options(std::string_view options, std::span<const OptionRule> rules) {
  CanonicalOptions found;
  for (const std::string& word : canonical_words(words_of(options), rules, found)) {
    if (!found.text.empty()) found.text += ' ';
    found.text += word;
  }
  return found;
}

CanonicalOptions canonical_option_list(std::string_view options, std::span<const OptionRule> rules) {
  CanonicalOptions found;
  std::vector<const char*> words;
  const std::vector<std::string> canonical = canonical_words(split_options(options), rules, found);
  for (const std::string& word : canonical) words.push_back(word.c_str());
  found.text = join_options(words);
  return found;
}

std::string join_options(std::span<const char* const> options) {
  std::string text;
  for (const char* const option : options) {
    if (!text.empty()) text += ' ';
    for (const char* c = option; *c != '\0'; ++c) {
      if (is_blank(*c) || *c == '\\') text += '\\';
      text += *c;
    }
  }
  return text;
}

std::vector<std::string> split_options(std::string_view options) {
  std::vector<std::string> words;
  std::string word;
  for (std::size_t i = 0; i < options.size(); ++i) {
    if (options[i] == '\\' && i + 1 < options.size()) {
      word += options[++i];
    } else if (!is_blank(options[i])) {
      word += options[i];
    } else if (!word.empty()) {
      words.push_back(std::move(word));
      word.clear();
    }
  }
  if (!word.empty()) words.push_back(std::move(word));
  return words;
}

}  // namespace larder
