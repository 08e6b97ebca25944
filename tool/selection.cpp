#include "tool/selection.hpp"

#include "cache/selected.hpp"
#include "settings/units.hpp"

namespace larder::tool {
namespace {

std::string without_slashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

}  // namespace

std::unique_ptr<Selection> Selection::of(const Call& call) {
  std::unique_ptr<Selection> selection(new Selection);
  for (const std::string_view name : {"--kind", "--program", "--older-than", "--path"}) {
    if (!call.has(name) || !call.value(name).empty()) continue;
    call.refuse(std::string(name) + " is empty", "it says which entries are meant",
                "leave it out, or say one");
    return nullptr;
  }
  selection->kind_ = call.value("--kind");
  selection->program_ = call.value("--program");
  selection->selector_.kind = selection->kind_;
  selection->selector_.program = selection->program_;
  if (call.has("--older-than")) {
    const auto time = settings::to_duration(call.value("--older-than"));
    if (!time) {
      call.refuse("--older-than cannot be " + settings::quoted(call.value("--older-than")), time.error().what,
                  "write 30d, 12h or 1h30min");
      return nullptr;
    }
    selection->selector_.older_than = *time;
  }
  if (call.has("--path")) {
    selection->path_ = without_slashes(std::string(call.value("--path")));
    if (selection->path_[0] != '/') {
      selection->absolute_path_ = call.surroundings().working_dir + '/' + selection->path_;
    }
    selection->selector_.matches = [one = selection.get()](const Recipe& recipe) {
      return names_path(recipe, one->path_) ||
             (!one->absolute_path_.empty() && names_path(recipe, one->absolute_path_));
    };
  }
  return selection;
}

bool Selection::says_anything() const noexcept {
  return !kind_.empty() || !program_.empty() || !path_.empty() || selector_.older_than.has_value();
}

std::string Selection::text() const {
  std::string all;
  const auto add = [&](const std::string& one) { all += (all.empty() ? "" : ", ") + one; };
  if (!kind_.empty()) add("of kind " + settings::quoted(kind_));
  if (!program_.empty()) add("used by " + settings::quoted(program_));
  if (!path_.empty()) add("of path " + settings::quoted(path_));
  if (selector_.older_than) add("unused for " + settings::exact_duration(*selector_.older_than));
  return all;
}

}  // namespace larder::tool
