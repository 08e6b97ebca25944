#include "larder/difference.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "recipe/readable.hpp"
#include "recipe/testing.hpp"
#include "recipe/text_diff.hpp"

namespace larder {
namespace {

using testing::Named;
using testing::recipe_of;

// "changed options 1>0" and the like.
std::vector<std::string> changes_of(const Recipe& before, const Recipe& after) {
  const auto place = [](std::size_t at) { return at == kNoPlace ? std::string("-") : std::to_string(at); };
  std::vector<std::string> all;
  for (const IngredientChange& change : difference(before, after).changes) {
    std::string text(name(change.change));
    text.append(" ").append(change.name()).append(" ");
    text.append(place(change.place_before)).append(">").append(place(change.place_after));
    all.push_back(text);
  }
  return all;
}

using Changes = std::vector<std::string>;

TEST(Difference, IsEmptyForEqualRecipes) {
  const Recipe recipe = recipe_of("k", {{"a", "1"}, {"b", "2"}});
  EXPECT_TRUE(difference(recipe, recipe).is_empty());
  EXPECT_EQ(to_text(difference(recipe, recipe)), "");
}

TEST(Difference, NamesWhatWasAddedRemovedAndChanged) {
  const Recipe before = recipe_of("k", {{"source", "s"}, {"driver", "22"}, {"old", "x"}});
  const Recipe after = recipe_of("k", {{"source", "s"}, {"driver", "23"}, {"extra", "y"}});
  EXPECT_EQ(changes_of(before, after), (Changes{"changed driver 1>1", "removed old 2>-", "added extra ->2"}));
}

TEST(Difference, TellsMovedFromChanged) {
  const Recipe before = recipe_of("k", {{"source", "s"}, {"options", "o"}, {"driver", "d"}});
  const Recipe after = recipe_of("k", {{"options", "o"}, {"driver", "d"}, {"source", "s"}});
  EXPECT_EQ(changes_of(before, after), (Changes{"moved source 0>2"}));
}

TEST(Difference, SeesOneRemovalAmongRepeatedNames) {
  const Recipe before = recipe_of("k", {{"o", "-a"}, {"o", "-b"}, {"o", "-c"}, {"o", "-d"}});
  const Recipe after = recipe_of("k", {{"o", "-b"}, {"o", "-c"}, {"o", "-d"}});
  EXPECT_EQ(changes_of(before, after), (Changes{"removed o 0>-"}));
}

TEST(Difference, SeesOneMoreOfTheSame) {
  const Recipe before = recipe_of("k", {{"o", "-g"}, {"x", "1"}});
  const Recipe after = recipe_of("k", {{"o", "-g"}, {"o", "-g"}, {"x", "1"}});
  EXPECT_EQ(changes_of(before, after), (Changes{"added o ->1"}));
}

TEST(Difference, TellsTheDigestFromAnInlineIngredientOfTheSameBytes) {
  Recipe large("k");
  large.add("x", std::string(kIngredientInlineMax + 1, 'a'));
  Recipe forged("k");
  forged.add("x", large.ingredients()[0].bytes);
  EXPECT_EQ(changes_of(large, forged), (Changes{"changed x 0>0"}));
}

rc::Gen<Named> plain_ingredient_lists() {
  const auto text = rc::gen::container<std::string>(rc::gen::element('a', 'b'));
  return rc::gen::container<Named>(rc::gen::pair(text, text));
}

// Undoes a difference: what is left of both lists when everything that changed is taken out is the same.
RC_GTEST_PROP(Difference, LeavesTheSameInBoth, ()) {
  const Recipe before = recipe_of("k", *plain_ingredient_lists());
  const Recipe after = recipe_of("k", *plain_ingredient_lists());
  const Difference difference = larder::difference(before, after);
  RC_ASSERT(difference.is_empty() == (before == after));
  std::vector<bool> out_before(before.ingredients().size());
  std::vector<bool> out_after(after.ingredients().size());
  for (const IngredientChange& change : difference.changes) {
    if (change.place_before != kNoPlace) out_before[change.place_before] = true;
    if (change.place_after != kNoPlace) out_after[change.place_after] = true;
  }
  Recipe left_before("k");
  Recipe left_after("k");
  for (std::size_t i = 0; i < out_before.size(); ++i) {
    const Ingredient one = before.ingredients()[i];
    if (!out_before[i]) left_before.add(one.name, one.bytes);
  }
  for (std::size_t i = 0; i < out_after.size(); ++i) {
    const Ingredient one = after.ingredients()[i];
    if (!out_after[i]) left_after.add(one.name, one.bytes);
  }
  RC_ASSERT(left_before == left_after);
}

TEST(DifferenceText, ShowsShortValuesOnOneLine) {
  const Recipe before = recipe_of("a", {{"options", "-O2"}, {"old", "x"}});
  const Recipe after = recipe_of("b", {{"options", "-O3"}, {"new", "y\"z"}});
  EXPECT_EQ(to_text(difference(before, after)),
            "kind: \"a\" -> \"b\"\n"
            "changed options: \"-O2\" -> \"-O3\"\n"
            "removed old: \"x\"\n"
            "added new: \"y\\\"z\"\n");
}

TEST(DifferenceText, ShowsTheLinesThatDifferWithTwoAround) {
  const Recipe before = recipe_of("k", {{"source", "1\n2\n3\n4\n5\n6\n7\n8\n9\n"}});
  const Recipe after = recipe_of("k", {{"source", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n"}});
  EXPECT_EQ(to_text(difference(before, after)),
            "changed source: 18 bytes -> 21 bytes\n"
            "  @ line 3\n"
            "    3\n"
            "    4\n"
            "  - 5\n"
            "  + five\n"
            "    6\n"
            "    7\n");
}

TEST(DifferenceText, ShowsSizesAndDigestsOfBinaries) {
  using namespace std::string_literals;
  const Recipe before = recipe_of("k", {{"image", "ab\0c"s}});
  const Recipe after = recipe_of("k", {{"image", "ab\0cd"s}});
  EXPECT_EQ(to_text(difference(before, after)),
            "changed image: 4 bytes, blake2b d50d3b644005 -> 5 bytes, blake2b b6a5013e624f, from byte 4\n");
}

TEST(DifferenceText, ShowsLargeTextsWhenSomebodyKeptThem) {
  std::string text;
  for (int i = 0; i < 20'000; ++i) text += "line " + std::to_string(i) + "\n";
  std::string edited = text;
  edited.replace(edited.find("line 777\n"), 8, "LINE");
  Recipe before("k");
  before.add("source", text);
  Recipe after("k");
  after.add("source", edited);
  const Difference difference = larder::difference(before, after);
  EXPECT_NE(to_text(difference).find("blake2b"), std::string::npos);
  DifferenceTextOptions options;
  options.bytes_of_digest = [&](const Ingredient& one) {
    return Bytes(one.size == text.size() ? text : edited);
  };
  const std::string shown = to_text(difference, options);
  EXPECT_NE(shown.find("  - line 777\n  + LINE\n"), std::string::npos) << shown;
}

TEST(DifferenceText, ShowsLongLinesFromWhereTheyDiffer) {
  const std::string common(500, 'x');
  const std::string shown =
      to_text(difference(recipe_of("k", {{"o", common + "old"}}), recipe_of("k", {{"o", common + "new"}})));
  EXPECT_NE(shown.find("old\" -> \"..."), std::string::npos) << shown;
  EXPECT_NE(shown.find("new\"\n"), std::string::npos) << shown;
  EXPECT_LT(shown.size(), 200u);
}

TEST(DifferenceText, ShowsAMissingNewlineAndACarriageReturn) {
  EXPECT_EQ(to_text(difference(recipe_of("k", {{"s", "a\n"}}), recipe_of("k", {{"s", "a"}}))),
            "changed s: 2 bytes -> 1 byte\n"
            "  @ line 1\n"
            "  - a\n"
            "  + a\n"
            "  \\ no newline at the end\n");
  EXPECT_EQ(to_text(difference(recipe_of("k", {{"s", "a\n"}}), recipe_of("k", {{"s", "a\r\n"}}))),
            "changed s: 2 bytes -> 3 bytes\n"
            "  @ line 1\n"
            "  - a\n"
            "  + a\\r\n");
}

TEST(DifferenceText, TellsTextsApartThatLookAlike) {
  const auto told = [](std::string before, std::string after) {
    return to_text(difference(recipe_of("k", {{"s", before}}), recipe_of("k", {{"s", after}})));
  };
  // An escape and what it would be shown as; a letter as one character and as two; the same in another
  // script.
  EXPECT_EQ(told("a line with an escape\x1b\n", "a line with an escape\\x1b\n"),
            "changed s: 23 bytes -> 26 bytes\n  @ line 1\n"
            "  - a line with an escape\\x1b\n  + a line with an escape\\\\x1b\n");
  EXPECT_EQ(told("\u00e9\n", "e\u0301\n"),
            "changed s: 3 bytes -> 4 bytes\n  @ line 1\n  - \\u{00e9}\n  + e\\u{0301}\n");
  EXPECT_EQ(told("p\u00e9", "pe\u0301"), "changed s: \"p\\u{00e9}\" -> \"pe\\u{0301}\"\n");
  EXPECT_EQ(told("a", "\u0430"), "changed s: \"a\" -> \"\\u{0430}\"\n");
  EXPECT_NE(told("", "  (no newline at the end)\n"), told("", ""));
  // A backslash alone stands as it is: nothing could be taken for it.
  EXPECT_EQ(told("a\\n\n", "b\\n\n"), "changed s: 4 bytes -> 4 bytes\n  @ line 1\n  - a\\n\n  + b\\n\n");
}

TEST(DifferenceText, QuotesNamesThatCouldBeTakenForSomethingElse) {
  const auto told = [](std::string name) {
    return to_text(difference(recipe_of("k", {}), recipe_of("k", {{name, "x"}})));
  };
  EXPECT_EQ(told("file:/a/b.h"), "added file:/a/b.h: \"x\"\n");
  EXPECT_EQ(told("a: \"b\""), "added \"a: \\\"b\\\"\": \"x\"\n");
  EXPECT_EQ(told("a\\n"), "added \"a\\\\n\": \"x\"\n");
  EXPECT_EQ(told(""), "added \"\": \"x\"\n");
}

TEST(DifferenceText, ShowsSomethingInLittleRoom) {
  DifferenceTextOptions options;
  options.size_max = 120;
  const std::string text = to_text(difference(recipe_of("k", {{"s", std::string(70, 'a')}}),
                                              recipe_of("k", {{"s", std::string(70, 'b')}})),
                                   options);
  EXPECT_TRUE(text.starts_with("changed s: \"aaaa")) << text;
  EXPECT_TRUE(text.ends_with("...\n")) << text;
  EXPECT_LE(text.size(), 120u);
}

RC_GTEST_PROP(TextDiff, ShowsUnequalLinesUnequal, ()) {
  const auto part =
      rc::gen::element<std::string>("a", "\\", "n", "x1b", "\x1b", "\t", "\r", "\u00e9", "e\u0301", "\xff",
                                    "\\xff", "\"", "\u202e", "\\u{202e}", "  (no newline at the end)");
  const auto line = [&] {
    std::string text;
    for (const std::string& one : *rc::gen::container<std::vector<std::string>>(part)) text += one;
    return text;
  };
  const std::string before = line();
  const std::string after = line();
  RC_PRE(before != after && before.size() < 90 && after.size() < 90);
  std::string shown[2];
  for (const DiffLine& each : diff_lines(before + "\n", after + "\n", 10)) {
    if (each.mark == '-') shown[0] = each.text;
    if (each.mark == '+') shown[1] = each.text;
  }
  RC_ASSERT(shown[0] != shown[1]);
}

// Nothing that a terminal would obey, and nothing that is no UTF-8.
bool is_harmless(std::string_view text) {
  return std::ranges::none_of(
      text, [](char c) { return (static_cast<unsigned char>(c) < 0x20 && c != '\n') || c == 0x7f; });
}

TEST(DifferenceText, IsSafeForHostileBytes) {
  const Recipe before =
      recipe_of("k\x1b[2J", {{"n\x1b]0;x\x07", "a\x1b[31m\n\xe2\x80\xae"}, {"c1", "\xc2\x9b"}});
  const Recipe after = recipe_of("k\n", {{"n\x1b]0;x\x07", "b\x1b[31m\n\xe2\x80\xae"}, {"c1", "\xff\r"}});
  const std::string text = to_text(difference(before, after));
  EXPECT_TRUE(is_harmless(text)) << text;
  EXPECT_NE(text.find("\\x1b[2J"), std::string::npos) << text;
  EXPECT_EQ(text.find("\xe2\x80\xae"), std::string::npos) << text;
  EXPECT_EQ(text.find("\xc2\x9b"), std::string::npos) << text;
}

RC_GTEST_PROP(DifferenceText, IsBoundedAndHarmlessForAnyBytes,
              (const std::vector<std::pair<std::string, std::string>>& a,
               const std::vector<std::pair<std::string, std::string>>& b, std::uint8_t size_max)) {
  DifferenceTextOptions options;
  options.size_max = size_max;
  const Recipe before = recipe_of("k", a);
  const Recipe after = recipe_of("k", b);
  const std::string text = to_text(difference(before, after), options);
  RC_ASSERT(text.size() <= size_max);
  RC_ASSERT(is_harmless(text));
}

TEST(DifferenceText, CountsWhatDoesNotFit) {
  Named many;
  for (int i = 0; i < 1000; ++i) many.emplace_back("option" + std::to_string(i), "-x");
  const std::string text = to_text(difference(recipe_of("k", {}), recipe_of("k", many)));
  EXPECT_LE(text.size(), 8192u);
  EXPECT_TRUE(text.ends_with(" more changes\n")) << text.substr(text.size() - 60);
}

std::string replay(const std::vector<DiffLine>& lines, char mark) {
  std::string text;
  for (const DiffLine& line : lines) {
    if (line.mark == ' ' || line.mark == mark) text += line.text + "\n";
  }
  return text;
}

// Short texts are shown whole, so both sides can be read off the diff.
RC_GTEST_PROP(TextDiff, ContainsBothSides, ()) {
  const auto line = rc::gen::element<std::string>("a\n", "b\n", "c\n");
  const auto side = [&](std::string text) {
    for (const std::string& one : *rc::gen::container<std::vector<std::string>>(line)) text += one;
    return text;
  };
  // Enough differing lines at both ends that everything is close to a difference.
  const std::string before = side("x\n");
  const std::string after = side("y\n");
  const std::vector<DiffLine> lines = diff_lines(before, after, 10'000);
  const auto is_hidden = std::ranges::count(lines, '@', &DiffLine::mark) > 1;
  const std::string shown_before = replay(lines, '-');
  const std::string shown_after = replay(lines, '+');
  if (!is_hidden) {
    RC_ASSERT(before.starts_with(shown_before));
    RC_ASSERT(after.starts_with(shown_after));
  }
  for (const DiffLine& one : lines) RC_ASSERT(one.mark != '@' || one.text.starts_with("line "));
}

TEST(TextDiff, FindsTheShortestEdit) {
  const auto marks = [](std::string_view before, std::string_view after) {
    std::string all;
    for (const DiffLine& line : diff_lines(before, after, 100)) all.push_back(line.mark);
    return all;
  };
  EXPECT_EQ(marks("a\nb\nc\n", "a\nc\n"), "@ - ");
  EXPECT_EQ(marks("a\nc\n", "a\nb\nc\n"), "@ + ");
  EXPECT_EQ(marks("x\na\nb\n", "a\nb\ny\n"), "@-  +");
  EXPECT_EQ(marks("", "a\n"), "@+");
  EXPECT_EQ(marks("a\nb\nc\na\nb\nb\na\n", "c\nb\na\nb\na\nc\n").size(), 1u + 9u);  // 5 edits and 4 in common
}

TEST(TextDiff, StaysBoundedForTextsThatShareNothing) {
  std::string before;
  std::string after;
  for (int i = 0; i < 30'000; ++i) {
    before.append("b").append(std::to_string(i)).append("\n");
    after.append("a").append(std::to_string(i)).append("\n");
  }
  const auto lines = diff_lines(before, after, 40);
  EXPECT_EQ(lines.size(), 41u);
  EXPECT_EQ(lines.back().mark, '@');
}

TEST(Nearest, PrefersTheFewestDifferingIngredients) {
  const Recipe wanted = recipe_of("k", {{"source", "s"}, {"options", "-O2"}, {"driver", "23"}});
  const std::vector<Recipe> candidates{
      recipe_of("k", {{"source", "t"}, {"options", "-O2"}, {"driver", "22"}}),
      recipe_of("k", {{"source", "s"}, {"options", "-O2"}, {"driver", "22"}}),
      recipe_of("k", {{"source", "t"}, {"options", "-O3"}, {"driver", "22"}}),
  };
  EXPECT_EQ(nearest(wanted, candidates), 1u);
}

TEST(Nearest, PrefersTheSameKindHoweverDifferent) {
  const Recipe wanted = recipe_of("k", {{"a", "1"}, {"b", "2"}});
  const std::vector<Recipe> candidates{recipe_of("other", {{"a", "1"}, {"b", "2"}}),
                                       recipe_of("k", {{"c", "3"}})};
  EXPECT_EQ(nearest(wanted, candidates), 1u);
  EXPECT_EQ(nearest(wanted, std::span(candidates).first(1)), 0u);
  EXPECT_EQ(nearest(wanted, {}), std::nullopt);
}

TEST(Nearest, BreaksATieByDifferingBytesAndThenByOrder) {
  const std::string source(1000, 's');
  std::string edited = source;
  edited[500] = 'x';
  const Recipe wanted = recipe_of("k", {{"source", source}});
  const std::vector<Recipe> candidates{recipe_of("k", {{"source", std::string(1000, 'q')}}),
                                       recipe_of("k", {{"source", edited}}),
                                       recipe_of("k", {{"source", edited}})};
  EXPECT_EQ(nearest(wanted, candidates), 1u);
}

TEST(Nearest, IsNotMisledByOrderOrRepetition) {
  const Recipe wanted = recipe_of("k", {{"o", "a"}, {"o", "b"}, {"o", "c"}, {"o", "d"}});
  const std::vector<Recipe> candidates{recipe_of("k", {{"o", "a"}, {"o", "x"}, {"o", "y"}, {"o", "d"}}),
                                       recipe_of("k", {{"o", "b"}, {"o", "c"}, {"o", "d"}})};
  EXPECT_EQ(nearest(wanted, candidates), 1u);
}

TEST(Nearest, LooksAtTenThousandCandidatesInBoundedTime) {
  const std::string source(2'000, 's');
  const Recipe wanted = recipe_of("k", {{"source", source}, {"n", "7777"}, {"driver", "d"}});
  Nearest search(wanted);
  const auto begin = std::chrono::steady_clock::now();
  for (std::uint64_t i = 0; i < 10'000; ++i) {
    Recipe candidate("k");
    candidate.add("source", source).add("n", std::to_string(i)).add("driver", i == 7'777 ? "d" : "e");
    ASSERT_TRUE(search.offer(candidate, i));
  }
  const auto found = search.found();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->id, 7'777u);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

TEST(Nearest, StopsReadingAtItsBound) {
  const Recipe wanted("k");
  Recipe large("k");
  for (int i = 0; i < 64; ++i) large.add("x", std::string(kIngredientInlineMax, 'x'));  // 4 MiB
  Nearest search(wanted);
  std::uint64_t looked_at = 0;
  while (search.offer(large, looked_at)) ++looked_at;
  EXPECT_EQ(looked_at, Nearest::kReadMax / large.canonical().size() + 1);
  EXPECT_TRUE(search.found());
}

}  // namespace
}  // namespace larder
