// Products that files decide. Two recipes lead to one: the first holds what is known before making and finds
// the program's closures, the sets of paths that compilations of it have used; the second adds the files at
// those paths as they are now, and finds the product. Every path of a closure stands in the second recipe,
// there or not, so that a product is found only where nothing that its compiler read or looked for has
// changed.
#include <algorithm>

#include "format/file_closures.hpp"
#include "program/closure_check.hpp"
#include "program/file_recording.hpp"
#include "program/product_bytes.hpp"

namespace larder::detail {

// A closure that a live program was made with.
class UsedFiles {
 public:
  UsedFiles(Recipe base, const format::FileClosures& closures, std::size_t which, const Key& key)
      : base_(std::move(base)), key_(key) {
    format::FileClosures one;
    const format::FileClosure& closure = closures.closures[which];
    for (const format::FileUse& use : closure.uses) one.files.push_back(closures.files[use.file]);
    one.closures.push_back({.uses = closure.uses, .keys = {}});
    for (std::size_t i = 0; i < one.files.size(); ++i) {
      one.closures.front().uses[i].file = static_cast<std::uint32_t>(i);
    }
    bytes_ = format::encode_file_closures(one);
    closures_ = *format::decode_file_closures(as_bytes(bytes_));
  }
  // The same of what was read from the cache, which is kept as it is where nothing else stands in it.
  UsedFiles(Recipe base, Bytes bytes, format::FileClosures&& closures, const Key& key)
      : base_(std::move(base)), key_(key), listed_(std::move(bytes)), closures_(std::move(closures)) {}
  static std::shared_ptr<const UsedFiles> of_listed(const Recipe& base, const Bytes& bytes,
                                                    format::FileClosures&& closures, std::size_t which,
                                                    const Key& key) {
    if (closures.closures.size() > 1) return std::make_shared<const UsedFiles>(base, closures, which, key);
    return std::make_shared<const UsedFiles>(base, bytes, std::move(closures), key);
  }
  UsedFiles(const UsedFiles&) = delete;
  UsedFiles& operator=(const UsedFiles&) = delete;

  bool is_current() const {
    ClosureCheck check(closures_);
    const auto recipe = check.recipe(base_, 0);
    return recipe && recipe->key() == key_;
  }

 private:
  Recipe base_;
  Key key_;
  std::string bytes_;  // what the paths are views of; or that is
  Bytes listed_;
  format::FileClosures closures_;
};

bool is_current(const std::shared_ptr<const UsedFiles>& files) {
  return files == nullptr || files->is_current();
}

namespace {

constexpr std::string_view kListSuffix = "-files";

// Where the closures of `base` are kept: the same ingredients, so that `why` can name one that differs.
Recipe list_recipe(const Recipe& base) {
  Recipe list(std::string(base.kind()).append(kListSuffix));
  for (const Ingredient& each : base.ingredients()) list.add(each.name, each.bytes);
  return list;
}

struct Choice {
  std::size_t which = 0;
  std::optional<Recipe> recipe;  // nothing: no closure can be held against the files
  bool is_known = false;         // its product was made before
};

// The closure under which a product was made from files as they are now; else the newest.
Choice choose(ClosureCheck& check, const Recipe& base, const format::FileClosures& closures) {
  Choice choice;
  for (std::size_t i = 0; i < closures.closures.size(); ++i) {
    auto recipe = check.recipe(base, i);
    if (!recipe) continue;
    const auto& keys = closures.closures[i].keys;
    const bool is_known = std::find(keys.begin(), keys.end(), recipe->key()) != keys.end();
    if (!choice.recipe || is_known) choice = {i, std::move(recipe), is_known};
    if (is_known) break;
  }
  return choice;
}

}  // namespace

// What making gave, and with which files.
struct ProgramProducts::Recorded {
  Result<ProgramProduct> made;  // a failure that is remembered is a product
  SeenFiles seen;
  Nanoseconds cost{0};
  std::optional<Recipe> recipe;  // nothing: it must not be kept
};

// The maker's errors stay here: which files decided them stands in no recipe that is asked for, so that no
// tier may remember them.
ProgramProducts::Recorded ProgramProducts::record(const Recipe& base, AnyProductMaker maker) const {
  FileRecording recording;
  const auto begin = std::chrono::steady_clock::now();
  Recorded recorded{maker.call(maker.maker), {}, {}, {}};
  recorded.cost = std::chrono::steady_clock::now() - begin;
  if (!recorded.made) {
    const auto failure = remembers_failures_ ? build_failure(recorded.made.error()) : std::nullopt;
    if (!failure) return recorded;
    recorded.made = ProgramProduct{true, failure->code, failure->log, {}};
  } else if (recorded.made->artefacts.empty()) {
    return recorded;
  }
  recorded.seen = recording.finish();
  if (recorded.seen.why_not.empty()) recorded.recipe = recipe_of(base, recorded.seen);
  return recorded;
}

Result<GotProduct> ProgramProducts::to_got(const Recipe& base, Recorded& recorded) {
  if (!recorded.made) return fail(recorded.made.error().code, std::move(recorded.made.error().what));
  if (recorded.made->is_failure) {
    Error error = to_error({recorded.made->code, std::move(recorded.made->log)});
    return fail(error.code, std::move(error.what));
  }
  GotProduct got{std::move(*recorded.made), Outcome::made, Reason::absent, recorded.cost, {}, {}};
  got.why_not = std::move(recorded.seen.why_not);
  if (recorded.recipe) {
    got.files =
        std::make_shared<const UsedFiles>(base, closures_of(recorded.seen), 0, recorded.recipe->key());
  }
  return got;
}

// Keeps what was made under the recipe that its files give, unless that is the one that was asked for, which
// its asker keeps. Closures are kept after the product: who finds them finds it.
std::string ProgramProducts::keep(const Recorded& recorded, const Recipe* asked, std::span<const Text> texts,
                                  const format::FileClosures& known) {
  if (!recorded.recipe) return {};
  const Recipe& recipe = *recorded.recipe;
  if (asked == nullptr || !(*asked == recipe)) {
    cache_->put(recipe, encode_product(*recorded.made), {.cost = recorded.cost, .log = {}, .texts = texts});
  }
  const auto fresh = closures_of(recorded.seen);
  return format::encode_file_closures(with_closure(known, fresh, recipe.key()));
}

Result<GotProduct> ProgramProducts::get_or_make_recorded(const Recipe& base, std::span<const Text> texts,
                                                         AnyProductMaker maker) {
  const auto make_alone = [&] {
    Recorded recorded = record(base, maker);
    return to_got(base, recorded);
  };
  if (cache_ == nullptr) return make_alone();
  std::optional<Recorded> mine;
  // What this thread made, with what the cache says of it: switched off, it makes aside.
  const auto told = [&](const Result<larder::Product>& by) {
    auto made = to_got(base, *mine);
    if (!made || !by) return made;
    made->outcome = by->outcome;
    if (by->reason != Reason::nothing_to_store) made->reason = by->reason;
    return made;
  };
  const Recipe list = list_recipe(base);
  for (bool is_second = false;; is_second = true) {
    auto listed = cache_->get_or_make(list, [&] {
      mine = record(base, maker);
      std::string bytes = keep(*mine, nullptr, texts, {});
      const bool is_kept = !bytes.empty();
      return Made{.bytes = Bytes(std::move(bytes)), .log = {}, .keep = is_kept, .cost = Nanoseconds{0}};
    });
    if (mine) return told(listed);
    if (!listed) return fail(listed.error().code, std::move(listed.error().what));
    // Nothing: whoever made it meanwhile could not keep it.
    if (listed->bytes.empty()) return make_alone();
    auto closures = format::decode_file_closures(listed->bytes.view());
    if (!closures) {
      if (is_second) return make_alone();
      cache_->reject(list);  // closures of another version
      continue;
    }
    ClosureCheck check(*closures);
    const Choice choice = choose(check, base, *closures);
    if (!choice.recipe) return make_alone();
    auto got = cache_->get_or_make(
        *choice.recipe,
        [&] {
          mine = record(base, maker);
          std::string bytes = keep(*mine, &*choice.recipe, texts, *closures);
          if (!bytes.empty())
            cache_->put(list, Bytes(std::move(bytes)), {.log = {}, .texts = {}, .replace = true});
          const bool is_asked = mine->recipe && *mine->recipe == *choice.recipe;
          return Made{
              .bytes = mine->recipe ? encode_product(*mine->made) : Bytes(), .log = {}, .keep = is_asked};
        },
        {.texts = texts});
    if (mine) return told(got);
    if (!got) return fail(got.error().code, std::move(got.error().what));
    if (got->bytes.empty()) return make_alone();
    auto product = decode_product(got->bytes);
    if (!product) {
      if (is_second) return make_alone();
      cache_->reject(*choice.recipe);
      continue;
    }
    if (check.has_news()) {
      format::FileClosures known = *closures;
      known.files = check.files();
      cache_->put(list, Bytes(format::encode_file_closures(known)),
                  {.log = {}, .texts = {}, .replace = true});
    }
    if (product->is_failure) {
      Error error = to_error({product->code, std::move(product->log)});
      return fail(error.code, std::move(error.what));
    }
    GotProduct answer{std::move(*product), got->outcome, got->reason, got->cost, {}, {}};
    answer.files =
        UsedFiles::of_listed(base, listed->bytes, std::move(*closures), choice.which, choice.recipe->key());
    return answer;
  }
}

bool ProgramProducts::reject(const Recipe& recipe, bool records_files) {
  if (cache_ == nullptr) return false;
  if (!records_files) return cache_->reject(recipe);
  const auto listed = cache_->get(list_recipe(recipe));
  const auto closures = listed ? format::decode_file_closures(listed->bytes.view()) : std::nullopt;
  if (!closures) return false;
  ClosureCheck check(*closures);
  bool was_kept = false;
  for (std::size_t i = 0; i < closures->closures.size(); ++i) {
    const auto with_files = check.recipe(recipe, i);
    if (with_files && cache_->reject(*with_files)) was_kept = true;
  }
  return was_kept;
}

}  // namespace larder::detail
