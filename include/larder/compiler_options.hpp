// Canonical options: two ways to write the same options become one, by a table of rules, so that they share a
// product; what no rule knows stays as it is and where it is. The compiler is given the canonical text, so a
// rule that were wrong could give a wrong program, but never a stale one. Any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "larder/export.h"
#include "larder/program_input.hpp"

namespace larder {

enum class OptionShape : std::uint8_t {
  alone,               // `-w`
  begins,              // `-cl-std=CL2.0`: the rule knows how the word begins
  joined_or_separate,  // `-DX` and `-D X`, which become `-DX`
  with_value,          // `--name=X` and `--name X`, which become `--name=X`
};

enum class OptionEffect : std::uint8_t {
  keep,          // decides the product by itself
  once,          // as keep, and saying it again changes nothing: later ones are left out
  define,        // a macro: `-DX=1` becomes `-DX`, which means the same
  reads_file,    // names a file that the compiler reads
  names_folder,  // makes the product say in which folder it was compiled
  side_effect,   // does something besides compiling, which a hit would not do: forbids keeping
};

struct OptionRule {
  std::string_view spelling;
  OptionShape shape;
  OptionEffect effect;
  // What the spelling becomes, with the `=` in front of a value if there is to be one; empty: it stays.
  std::string_view canonical{};
};

// Words are separated by white space; what stands between double quotes is one word with them. One blank
// stands between words afterwards.
LARDER_API CanonicalOptions canonical_options(std::string_view options, std::span<const OptionRule> rules);

// The same for a compiler that is given its options one by one, where a blank is like any other character.
// In text a backslash stands before each blank and backslash of an option.
LARDER_API CanonicalOptions canonical_option_list(std::string_view options,
                                                  std::span<const OptionRule> rules);
LARDER_API std::string join_options(std::span<const char* const> options);
LARDER_API std::vector<std::string> split_options(std::string_view options);

}  // namespace larder
