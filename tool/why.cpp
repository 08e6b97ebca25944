#include <algorithm>

#include "cache/misses.hpp"
#include "larder/difference.hpp"
#include "recipe/canonical.hpp"
#include "recipe/readable.hpp"
#include "settings/units.hpp"
#include "tool/columns.hpp"
#include "tool/entries.hpp"
#include "tool/ingredients.hpp"
#include "tool/interrupt.hpp"
#include "tool/kept_texts.hpp"
#include "tool/place.hpp"
#include "tool/progress.hpp"
#include "tool/shown.hpp"

namespace larder::tool {
namespace {

constexpr std::size_t kTextMax = 16 * 1024;

// The kept entry that differs least from what was missed.
struct Neighbour {
  Recipe recipe;
  Key key;
  std::int64_t made_at_unix_ns = 0;
};

struct Explanation {
  Miss miss;
  Key key;
  bool is_kept_now = false;
  std::optional<Neighbour> nearest;
  bool is_later = false;  // the nearest was made after the miss: nothing was there before
  bool was_stopped = false;
  KeptTexts texts;  // of the nearest and, where it is kept by now, of what was missed
};

// Of the entries made before the miss the nearest one, else of those made after it.
void find_nearest(const Call& call, const Store& store, Explanation& explanation) {
  const std::string_view kind = explanation.miss.recipe.kind();
  struct Candidate {
    Key key;
    std::int64_t made_at_unix_ns;
  };
  std::vector<Candidate> seen;
  Nearest before(explanation.miss.recipe), after(explanation.miss.recipe);
  Interrupt interrupt;
  Progress progress(call.console(), "comparing entries", store.usage().entries);
  store.for_each_key([&](const Key& key) {
    progress.advance();
    EntryInfo info;
    if (store.glance(key, info) != Reason::none) return !Interrupt::is_requested();
    if (info.recipe == explanation.miss.recipe.canonical()) {
      explanation.is_kept_now = true;
      return !Interrupt::is_requested();
    }
    std::string_view its_kind;
    canonical::Reader(info.recipe).read_kind(its_kind);
    if (its_kind != kind) return !Interrupt::is_requested();
    const Result<Recipe> recipe = Recipe::from_canonical(info.recipe);
    if (!recipe) return !Interrupt::is_requested();
    Nearest& among = info.made_at_unix_ns <= explanation.miss.at_unix_ns ? before : after;
    if (among.offer(*recipe, seen.size())) seen.push_back({key, info.made_at_unix_ns});
    return !Interrupt::is_requested();
  });
  explanation.was_stopped = Interrupt::is_requested();
  auto found = before.found();
  explanation.is_later = !found;
  if (!found) found = after.found();
  if (!found) return;
  const Candidate& one = seen[found->id];
  explanation.nearest = Neighbour{std::move(found->recipe), one.key, one.made_at_unix_ns};
}

// What was missed has mostly been made and kept since, with its texts.
void find_texts(const Store& store, Explanation& explanation) {
  if (!explanation.nearest) return;
  EntryInfo info;
  if (store.inspect(explanation.nearest->key, info) == Reason::none) explanation.texts.add(info.attachment);
  if (explanation.is_kept_now && store.inspect(explanation.key, info) == Reason::none)
    explanation.texts.add(info.attachment);
}

void write_change(Json& json, const IngredientChange& change, const KeptTexts& texts) {
  json.begin_object().member("change", name(change.change)).member("name", change.name());
  if (change.place_before != kNoPlace) {
    json.member("place_before", change.place_before).key("before");
    write_ingredient(json, change.before, texts.of(change.before), KeptTexts::kShownMax);
  }
  if (change.place_after != kNoPlace) {
    json.member("place_after", change.place_after).key("after");
    write_ingredient(json, change.after, texts.of(change.after), KeptTexts::kShownMax);
  }
  json.end_object();
}

void write_miss(Json& json, const Miss& miss, const Key& key) {
  json.member("key", key.hex())
      .member("kind", miss.recipe.kind())
      .member("reason", name(miss.reason))
      .member("at_unix_ns", miss.at_unix_ns)
      .member("program", miss.program);
}

void show_json(const Call& call, const Explanation& explanation) {
  Json json = begin_json();
  json.key("miss").begin_object();
  write_miss(json, explanation.miss, explanation.key);
  json.end_object().member("is_kept_now", explanation.is_kept_now).key("nearest");
  if (explanation.nearest) {
    const Neighbour& nearest = *explanation.nearest;
    const Difference change = difference(nearest.recipe, explanation.miss.recipe);
    json.begin_object()
        .member("key", nearest.key.hex())
        .member("made_at_unix_ns", nearest.made_at_unix_ns)
        .member("is_later", explanation.is_later)
        .key("changes")
        .begin_array();
    for (const IngredientChange& one : change.changes) write_change(json, one, explanation.texts);
    json.end_array().end_object();
  } else {
    json.null();
  }
  json.end_object();
  call.console().out(std::move(json).text());
}

void show_text(const Call& call, const Explanation& explanation) {
  Console& console = call.console();
  const std::int64_t now = Clock::system().unix_ns();
  const Miss& miss = explanation.miss;
  const std::string kind = to_readable(miss.recipe.kind(), 0, 100);
  console.out(console.strong(short_key(explanation.key) + ' ' + kind) + '\n');
  console.out("  missed " + ago(now, miss.at_unix_ns) + " by " + to_readable(miss.program, 0, 100) + ", " +
              std::string(name(miss.reason)) + ": " + std::string(meaning(miss.reason)) + '\n');
  if (explanation.is_kept_now) console.out("  it is kept now\n");
  if (!explanation.nearest) {
    console.out("\nno other entry of kind " + kind + " is kept\n");
    return;
  }
  const Neighbour& nearest = *explanation.nearest;
  const Difference change = difference(nearest.recipe, miss.recipe);
  console.out("\nnearest kept entry: " + short_key(nearest.key) + ", made " +
              ago(now, nearest.made_at_unix_ns) +
              (explanation.is_later ? " (after the miss; nothing of this kind was kept before)" : "") +
              "\nwhat was asked for differs from it in " + std::to_string(change.changes.size()) +
              (change.changes.size() == 1 ? " ingredient:\n" : " ingredients:\n"));
  const auto bytes_of_digest = [&](const Ingredient& ingredient) -> std::optional<Bytes> {
    const format::Text* const kept = explanation.texts.of(ingredient);
    // Of a beginning nobody knows whether what follows differs, too.
    if (kept == nullptr || !kept->is_whole()) return std::nullopt;
    return Bytes(nullptr, as_bytes(kept->text));
  };
  console.out(to_text(change, {.size_max = kTextMax, .bytes_of_digest = bytes_of_digest}));
}

int list(const Call& call, const std::vector<Miss>& misses) {
  if (call.wants_json()) {
    Json json = begin_json();
    json.key("misses").begin_array();
    for (const Miss& miss : misses) {
      json.begin_object();
      write_miss(json, miss, miss.recipe.key());
      json.end_object();
    }
    json.end_array().end_object();
    call.console().out(std::move(json).text());
    return kDone;
  }
  if (misses.empty()) {
    call.console().err(remark("no miss is remembered"));
    return kDone;
  }
  const std::int64_t now = Clock::system().unix_ns();
  Columns columns({{"KEY"}, {"AGO", true}, {"REASON"}, {"PROGRAM"}, {"KIND"}, {"INGREDIENTS"}});
  for (const Miss& miss : misses) {
    columns.add({short_key(miss.recipe.key()), age(now, miss.at_unix_ns), std::string(name(miss.reason)),
                 to_readable(miss.program, 0, 40), to_readable(miss.recipe.kind(), 0, 40),
                 summary_of(miss.recipe.canonical(), 100)});
  }
  call.console().out(columns.text(call.console().out_width()));
  return kDone;
}

// The remembered miss that `text` means; complains when there is none or the text means several.
const Miss* find_miss(const Call& call, const std::vector<Miss>& misses, std::string_view text, int& code) {
  code = kNo;
  if (text == "last") {
    if (!misses.empty()) return &misses.front();
    say_no(call, {"no miss is remembered", "no program that used this directory missed, or misses-kept is 0",
                  "ask again after the next miss"});
    return nullptr;
  }
  std::string digits;
  if (!to_digits(text, digits)) {
    code = kError;
    call.refuse(settings::quoted(text) + " is no key", "it is `last`, or up to 32 hex digits",
                "take one from `larder why --list`");
    return nullptr;
  }
  const Miss* found = nullptr;
  for (const Miss& miss : misses) {  // newest first
    if (!miss.recipe.key().hex().starts_with(digits)) continue;
    if (found == nullptr) {
      found = &miss;
    } else if (found->recipe != miss.recipe) {
      code = kError;
      call.refuse("more than one miss begins with " + digits,
                  found->recipe.key().hex() + ", " + miss.recipe.key().hex(), "write more digits");
      return nullptr;
    }
  }
  if (found == nullptr) {
    say_no(call, {"no miss of " + digits + " is remembered",
                  "only the last " + std::to_string(*call.options().misses_kept) + " or so are (misses-kept)",
                  "see `larder why --list`"});
  }
  return found;
}

int run_why(Call& call) {
  const auto place = open_place(call, Access::look);
  if (!place) return kError;
  const auto misses = place->store == nullptr
                          ? std::vector<Miss>()
                          : read_misses(place->store->notes(), *call.options().misses_kept);
  if (call.has("--list")) return list(call, misses);
  int code = kDone;
  const Miss* miss = find_miss(call, misses, call.has("KEY") ? call.value("KEY") : "last", code);
  if (miss == nullptr) return code;
  Explanation explanation{.miss = *miss, .key = miss->recipe.key(), .nearest = std::nullopt, .texts = {}};
  find_nearest(call, *place->store, explanation);
  if (explanation.was_stopped) return kInterrupted;
  find_texts(*place->store, explanation);
  call.wants_json() ? show_json(call, explanation) : show_text(call, explanation);
  return kDone;
}

constexpr Argument kWhyArguments[] = {
    {"KEY", "", "the key of what was missed, the first digits of it, or `last`; without it, last"},
    {"--list", "", "list the misses that are remembered"},
};

}  // namespace

extern const Command kWhyCommand;
const Command kWhyCommand{"why",
                          "explain a miss: which ingredient differs from the nearest kept entry",
                          "Takes one of the recent misses, finds the kept entry that differs least from what "
                          "was asked for, and shows "
                          "the ingredients that differ, of large ones the lines where their texts were kept. "
                          "Entries made before the miss are preferred. Exits "
                          "with 1 when no such miss is "
                          "remembered.",
                          kWhyArguments,
                          true,
                          false,
                          run_why,
                          "larder why\nlarder why --list\nlarder why 3f2a90c1"};

}  // namespace larder::tool
