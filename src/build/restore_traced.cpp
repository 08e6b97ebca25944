// The part of Restorer that finds and keeps products by what their commands were seen to depend on.
#include <algorithm>
#include <deque>
#include <span>
#include <tuple>

#include "base/hex.hpp"
#include "build/restorer.hpp"
#include "recipe/canonical.hpp"

namespace larder::build {
namespace {

constexpr std::string_view kTracedProduct = "build-step-traced";
constexpr std::string_view kTracedRules = "2";  // as kRules in restorer.cpp

void add_part(std::string& text, std::string_view part) {
  text.append(part) += '\0';
}

std::string proof_of(const std::string& text) {
  const canonical::Digest digest = canonical::digest_of(as_bytes(text));
  return to_hex(std::as_bytes(std::span(digest)));
}

}  // namespace

std::string Restorer::content_of(const Mark& mark, std::int64_t began_ns, std::string& why) {
  const TargetId target = manifest_.target(mark.path);
  present_.look(std::span(&target, 1));
  const ContentId content = present_[target];
  if (content == kMissing) {
    why = mark.path + " is missing";
    return {};
  }
  // What is a dependency was held against the time before the command by whoever recorded the run.
  if (!mark.is_dependency && began_ns != INT64_MAX) {
    const Fingerprint print = present_.whole_print(target);
    if (print == Fingerprint{} || !is_settled(print, began_ns)) {
      why = mark.path + " changed while its command ran";
      return {};
    }
  }
  const Kind kind = look_at(mark.path.c_str()).kind;
  if (kind != (mark.manner == Manner::listed ? Kind::directory : Kind::file)) {
    why = mark.path + " is of another kind now";
    return {};
  }
  // The system's files are large and seldom change: the log knows their digests without reading them.
  if (kind == Kind::directory || mark.path.starts_with(kPackagesPlace)) return hex(history_[content].digest);
  const FileProof& proof = traced_proofs_.look(mark.path, content);
  if (!proof.is_known) why = mark.path + " cannot be read, or is being written";
  if (!proof.why_not.empty()) why = mark.path + ' ' + std::string(proof.why_not);
  if (!why.empty()) return {};
  return to_hex(std::as_bytes(std::span(proof.digest))) + mode_of(mark.path);
}

std::optional<Recipe> Restorer::traced_recipe(const Asked& asked, const std::vector<Mark>& marks,
                                              std::int64_t began_ns, std::string& why) {
  const Root& root = products_.root();
  std::vector<std::pair<std::string, const Mark*>> sorted;
  for (const Mark& mark : marks)
    sorted.emplace_back(to_closure(mark.manner, root.portable_path(mark.path)), &mark);
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  Recipe recipe(kTracedProduct);
  recipe.add("rules", kTracedRules);
  for (const auto& [name, value] : asked.ingredients) recipe.add(name, value);
  std::string system;
  std::string presences;
  for (const auto& [name, mark] : sorted) {
    if (mark->manner != Manner::read && mark->manner != Manner::listed) {
      add_part(presences, name);
      add_part(presences, root.portable(presence(mark->manner, mark->path)));
      continue;
    }
    const std::string content = content_of(*mark, began_ns, why);
    if (content.empty()) return std::nullopt;
    if (mark->path.starts_with(kPackagesPlace)) {
      add_part(system, name);
      add_part(system, content);
    } else {
      recipe.add("file " + name, content);
    }
  }
  recipe.add("system's files", proof_of(system));
  recipe.add("what is there", proof_of(presences));
  return recipe;
}

std::vector<Mark> Restorer::marks_of(const Outcome& outcome) const {
  std::vector<Mark> marks = outcome.marks;
  for (const TargetId target : outcome.discovered) {
    const bool is_directory = look_at(path(target).c_str()).kind == Kind::directory;
    marks.push_back({is_directory ? Manner::listed : Manner::read, true, path(target)});
  }
  for (const TargetId target : outcome.looked) marks.push_back({Manner::looked, true, path(target)});
  for (const TargetId ghost : outcome.ghosts) marks.push_back({Manner::missing, true, path(ghost)});
  // A file that is named in several ways is a dependency if it is in one.
  const auto order = [](const Mark& a, const Mark& b) {
    return std::tie(a.path, a.manner, b.is_dependency) < std::tie(b.path, b.manner, a.is_dependency);
  };
  std::sort(marks.begin(), marks.end(), order);
  const auto is_same = [](const Mark& a, const Mark& b) { return a.path == b.path && a.manner == b.manner; };
  marks.erase(std::unique(marks.begin(), marks.end(), is_same), marks.end());
  return marks;
}

std::optional<std::vector<Mark>> Restorer::marks_in(const format::FileClosures& closures,
                                                    const format::FileClosure& closure) {
  std::vector<Mark> marks;
  for (const format::FileUse& use : closure.uses) {
    Mark mark;
    std::string_view portable;
    if (!from_closure(closures.files[use.file].path, mark.manner, portable)) return std::nullopt;
    auto file = products_.root().path_of(portable);
    if (!file || file->empty()) return std::nullopt;
    mark.path = std::move(*file);
    mark.is_dependency = use.is_read;
    const TargetId target = manifest_.find(mark.path);
    const StepId producer = target == kNone ? kNone : manifest_.producer(target);
    if (producer != kNone && !is_made(plan_.state(producer))) return std::nullopt;
    marks.push_back(std::move(mark));
  }
  return marks;
}

bool Restorer::restore_traced(Cache& cache, const Asked& asked, Restored& restored, std::string& why) {
  const auto closures = format::decode_file_closures(asked.closures.view());
  if (!closures) return false;
  why = "a file that its command read, or looked for, is another now";
  for (const format::FileClosure& closure : closures->closures) {
    const auto marks = marks_in(*closures, closure);
    if (!marks) continue;
    std::string trouble;
    const auto recipe = traced_recipe(asked, *marks, INT64_MAX, trouble);
    const auto found = recipe ? find_product(cache, *recipe, why) : std::nullopt;
    if (!found) continue;
    restored = {};
    if (!lay_out(asked, found->product, restored, why)) return false;
    for (const Mark& mark : *marks) {
      if (!mark.is_dependency) continue;
      const TargetId target = manifest_.target(mark.path);
      restored.discovered.push_back(mark.manner == Manner::missing ? history_.content(target, kNotThere)
                                    : mark.manner == Manner::looked
                                        ? history_.content(target, kSomethingThere)
                                        : present_[target]);
    }
    return true;
  }
  return false;
}

void Restorer::keep_marks(Cache& cache, const Asked& asked, const std::vector<Mark>& marks) {
  std::deque<std::string> names;
  format::FileClosures kept;
  format::FileClosure mine;
  for (const Mark& mark : marks) {
    format::KnownFile file;
    file.path = names.emplace_back(to_closure(mark.manner, products_.root().portable_path(mark.path)));
    if (file.path.size() > format::kClosurePathMax) return;
    mine.uses.push_back({static_cast<std::uint32_t>(kept.files.size()), mark.is_dependency});
    kept.files.push_back(file);
  }
  kept.closures.push_back(std::move(mine));
  keep_closures(cache, asked, std::move(kept));
}

}  // namespace larder::build
