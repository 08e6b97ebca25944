#include "recipe/readable.hpp"
#include "settings/units.hpp"
#include "tool/columns.hpp"
#include "tool/entries.hpp"
#include "tool/ingredients.hpp"
#include "tool/kept_texts.hpp"
#include "tool/place.hpp"
#include "tool/shown.hpp"

namespace larder::tool {
namespace {

constexpr std::size_t kLinesShown = 8;  // of one text, unless --full
constexpr std::size_t kHexShown = 24;   // bytes of what is no text
constexpr std::size_t kLineMax = 4096;

// Lines of `text`, each behind `indent`, control characters escaped; without `full` no more than a few.
std::string block(std::string_view text, std::string_view indent, bool full, unsigned width) {
  std::string all;
  std::size_t lines = 0, left_out = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!full && ++lines > kLinesShown) {
      ++left_out;
      continue;
    }
    const std::string shown = std::string(indent) + to_readable(line, 0, full ? line.size() * 10 : kLineMax);
    all += (full || width == 0 ? shown : cut(shown, width)) + '\n';
  }
  if (left_out != 0) {
    all += std::string(indent) + "... " + std::to_string(left_out) + (left_out == 1 ? " line" : " lines") +
           " more, see --full\n";
  }
  return all;
}

// What is kept of the text of a large ingredient.
std::string kept_text(const format::Text& kept, bool full, unsigned width) {
  std::string text;
  if (!is_readable(as_bytes(beginning(kept.text, KeptTexts::kShownMax)))) {
    const BytesView bytes = as_bytes(kept.text);
    text = "    no text: " + hex_of(bytes, full ? bytes.size() : kHexShown) + '\n';
  } else {
    text = block(kept.text, "    ", full, width);
  }
  if (!kept.is_whole())
    text += "    (only its first " + to_size(kept.text.size()) + " are kept, see attachment-max)\n";
  return text;
}

std::string ingredient_text(const Ingredient& ingredient, const format::Text* kept, bool full,
                            unsigned width) {
  const std::string name = "  " + to_readable(ingredient.name, 0, 80);
  if (ingredient.is_digest) {
    return name + ": " + to_size(ingredient.size) + ", BLAKE2b " +
           hex_of(ingredient.bytes, ingredient.bytes.size()) + '\n' +
           (kept == nullptr ? "" : kept_text(*kept, full, width));
  }
  if (!is_readable(ingredient.bytes)) {
    return name + ": " + to_size(ingredient.size) +
           ", no text: " + hex_of(ingredient.bytes, full ? ingredient.bytes.size() : kHexShown) + '\n';
  }
  const std::string_view text = as_text(ingredient.bytes);
  if (text.find('\n') != std::string_view::npos) {
    return name + ": " + to_size(ingredient.size) + '\n' + block(text, "    ", full, width);
  }
  const std::string line = name + " = " + to_quoted(text, 0, full ? text.size() * 10 : kLineMax);
  return (full || width == 0 ? line : cut(line, width)) + '\n';
}

void show_json(const Call& call, const EntryInfo& info, const Recipe& recipe, const KeptTexts& texts) {
  const std::size_t most = call.has("--full") ? KeptTexts::kSizeMax : KeptTexts::kShownMax;
  Json json = begin_json();
  json.member("key", info.key.hex())
      .member("kind", recipe.kind())
      .member("product_bytes", info.product_bytes)
      .member("file_bytes", info.file_bytes)
      .member("cost_ns", info.cost.count())
      .member("made_at_unix_ns", info.made_at_unix_ns)
      .member("used_at_unix_ns", info.used_at_unix_ns)
      .key("ingredients")
      .begin_array();
  for (const Ingredient& ingredient : recipe.ingredients())
    write_ingredient(json, ingredient, texts.of(ingredient), most);
  json.end_array().member("log", info.log).end_object();
  call.console().out(std::move(json).text());
}

void show_text(const Call& call, const EntryInfo& info, const Recipe& recipe, const KeptTexts& texts) {
  Console& console = call.console();
  const bool full = call.has("--full");
  const unsigned width = console.out_width();
  const std::int64_t now = Clock::system().unix_ns();
  Columns head({{""}, {""}});
  head.add({"key", info.key.hex()});
  head.add({"kind", to_readable(recipe.kind(), 0, 200)});
  head.add({"product", settings::readable_size(info.product_bytes) + "; on disk " +
                           settings::readable_size(info.file_bytes)});
  head.add({"cost", settings::readable_duration(info.cost) + " to make"});
  head.add({"made", date(info.made_at_unix_ns) + ", " + ago(now, info.made_at_unix_ns)});
  head.add({"used", date(info.used_at_unix_ns) + ", " + ago(now, info.used_at_unix_ns)});
  console.out(head.text(width));
  const std::vector<Ingredient> ingredients = recipe.ingredients();
  console.out('\n' +
              console.strong(std::to_string(ingredients.size()) +
                             (ingredients.size() == 1 ? " ingredient" : " ingredients")) +
              '\n');
  for (const Ingredient& ingredient : ingredients)
    console.out(ingredient_text(ingredient, texts.of(ingredient), full, width));
  if (!info.log.empty()) {
    console.out('\n' + console.strong("the maker's log") + '\n');
    console.out(block(info.log, "  ", full, width));
  }
}

int run_show(Call& call) {
  const auto place = open_place(call, Access::look);
  if (!place) return kError;
  if (place->store == nullptr) {
    return say_no(call, {"there is no entry to show", "nothing is kept in " + place->root + " yet",
                         "name another directory with --dir"});
  }
  int code = kDone;
  const auto key = find_key(call, *place->store, call.value("KEY"), code);
  if (!key) return code;
  EntryInfo info;
  const Reason reason = place->store->inspect(*key, info);
  const Result<Recipe> recipe = Recipe::from_canonical(info.recipe);
  if (reason == Reason::absent) {
    return say_no(call, {"entry " + short_key(*key) + " has just left", "another process removed it",
                         "see `larder ls`"});
  }
  if (reason != Reason::none || !recipe) {
    return call.refuse("entry " + short_key(*key) + " cannot be read: " + std::string(name(reason)),
                       std::string(meaning(reason)), "`larder verify --remove` removes what is damaged");
  }
  KeptTexts texts;
  texts.add(info.attachment);
  call.wants_json() ? show_json(call, info, *recipe, texts) : show_text(call, info, *recipe, texts);
  return kDone;
}

constexpr Argument kShowArguments[] = {
    {"KEY", "", "the entry's key, or the first digits of it", {}, true},
    {"--full", "", "show long texts whole"},
};

}  // namespace

extern const Command kShowCommand;
const Command kShowCommand{"show",
                           "show one entry: its ingredients, sizes, cost, ages and log",
                           "Shows the recipe of one entry, ingredient by ingredient, with sizes, what making "
                           "it cost, when it was made "
                           "and used, and what its maker said. Of large ingredients the text is shown "
                           "where it was kept. Long texts are cut unless --full is given. "
                           "Exits with 1 when there is no "
                           "such entry.",
                           kShowArguments,
                           true,
                           false,
                           run_show,
                           "larder show 3f2a90c1\nlarder show --full 3f2a90c1"};

}  // namespace larder::tool
