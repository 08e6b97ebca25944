// The tools of `larder build -t`: they look at the manifest and what is known of its steps, or remove
// outputs. What is read by other programs is printed as ninja prints it.
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/number.hpp"
#include "build/plan.hpp"

#include "tool/build_session.hpp"
#include "tool/json.hpp"

namespace larder::tool {
namespace {

using build::kNone;
using build::Manifest;
using build::StepId;
using build::TargetId;

// Steps that the targets need, each behind what it needs.
std::vector<StepId> steps_of(const Manifest& manifest, const std::vector<TargetId>& targets) {
  std::vector<StepId> order;
  std::vector<bool> seen(manifest.step_count());
  std::vector<std::pair<StepId, std::size_t>> open;
  const auto enter = [&](TargetId target) {
    const StepId step = manifest.producer(target);
    if (step == kNone || seen[step]) return;
    seen[step] = true;
    open.emplace_back(step, 0);
  };
  for (const TargetId target : targets) {
    enter(target);
    while (!open.empty()) {
      const StepId step = open.back().first;
      const auto inputs = manifest.all_inputs(step);
      if (open.back().second < inputs.size()) {
        const TargetId input = inputs[open.back().second++];
        enter(input);
        continue;
      }
      order.push_back(step);
      open.pop_back();
    }
  }
  return order;
}

std::string path_of(const Manifest& manifest, TargetId target) {
  return std::string(manifest.path(target));
}

class BuildTool {
 public:
  BuildTool(Call& call, const std::vector<std::string>& words, BuildSession& session)
      : call_(call),
        console_(call.console()),
        words_(words),
        session_(session),
        manifest_(*session.manifest) {}

  int clean();
  int targets();
  int query();
  int commands();
  int compdb();
  int deps();
  int graph();

 private:
  void remove(const std::string& path);
  void clean_step(StepId step);
  void list(TargetId target, unsigned depth, unsigned indent);
  template <typename Taken>
  void list_steps(const Taken& taken, TargetId target, std::string title);
  void load_dyndep(StepId step);
  // The targets that the words name; false: said why not.
  bool choose(std::vector<TargetId>& targets);

  Call& call_;
  Console& console_;
  const std::vector<std::string>& words_;
  BuildSession& session_;
  const Manifest& manifest_;
  unsigned removed_ = 0;
};

bool BuildTool::choose(std::vector<TargetId>& targets) {
  auto chosen = choose_targets(manifest_, words_);
  if (!chosen) {
    refuse_build(console_, chosen.error().what);
    return false;
  }
  targets = std::move(*chosen);
  return true;
}

void BuildTool::remove(const std::string& path) {
  if (path.empty()) return;
  const bool is_dry = call_.has("--dry-run");
  if (is_dry ? ::access(path.c_str(), F_OK) != 0 : ::unlink(path.c_str()) != 0) return;
  ++removed_;
  if (is_dry || call_.has("--verbose")) console_.out("remove " + printable(path) + '\n');
}

void BuildTool::clean_step(StepId step) {
  if (manifest_.is_phony(step)) return;
  for (const TargetId output : manifest_.outputs(step)) remove(path_of(manifest_, output));
  remove(manifest_.plain_value(step, "depfile"));
  remove(manifest_.plain_value(step, "rspfile"));
}

int BuildTool::clean() {
  if (call_.has("--rules")) {
    for (StepId step = 0; step < manifest_.step_count(); ++step)
      if (std::find(words_.begin(), words_.end(), manifest_.step(step).rule->name) != words_.end())
        clean_step(step);
  } else if (!words_.empty()) {
    std::vector<TargetId> targets;
    if (!choose(targets)) return kError;
    for (const StepId step : steps_of(manifest_, targets))
      if (call_.has("--generated") || !manifest_.is_set(step, "generator")) clean_step(step);
  } else {
    for (StepId step = 0; step < manifest_.step_count(); ++step)
      if (call_.has("--generated") || !manifest_.is_set(step, "generator")) clean_step(step);
  }
  console_.out(std::string(call_.has("--dry-run") ? "would remove " : "removed ") + std::to_string(removed_) +
               " files\n");
  return kDone;
}

void BuildTool::list(TargetId target, unsigned depth, unsigned indent) {
  std::string line(2ul * indent, ' ');
  line += printable(manifest_.path(target));
  const StepId step = manifest_.producer(target);
  if (step != kNone) line += ": " + std::string(manifest_.step(step).rule->name);
  console_.out(line + '\n');
  if (step == kNone || (depth != 0 && indent + 1 >= depth)) return;
  for (const TargetId input : manifest_.all_inputs(step)) list(input, depth, indent + 1);
}

int BuildTool::targets() {
  const std::string mode = words_.empty() ? "depth" : words_[0];
  if (mode == "all") {
    for (StepId step = 0; step < manifest_.step_count(); ++step)
      for (const TargetId output : manifest_.outputs(step))
        console_.out(printable(manifest_.path(output)) + ": " + std::string(manifest_.step(step).rule->name) +
                     '\n');
    return kDone;
  }
  if (mode == "rule") {
    if (words_.size() < 2) {  // sources
      for (StepId step = 0; step < manifest_.step_count(); ++step)
        for (const TargetId input : manifest_.all_inputs(step))
          if (manifest_.producer(input) == kNone) console_.out(printable(manifest_.path(input)) + '\n');
      return kDone;
    }
    std::vector<std::string_view> made;
    for (StepId step = 0; step < manifest_.step_count(); ++step)
      if (manifest_.step(step).rule->name == words_[1])
        for (const TargetId output : manifest_.outputs(step)) made.push_back(manifest_.path(output));
    std::sort(made.begin(), made.end());
    for (const std::string_view path : made) console_.out(printable(path) + '\n');
    return kDone;
  }
  const auto given = words_.size() > 1 ? to_number<unsigned>(words_[1]) : std::optional(1u);
  if (mode != "depth" || !given)
    return call_.refuse("-t targets does not know " + mode, "it takes `rule NAME`, `depth N` or `all`",
                        "write larder build -t targets all");
  // A graph may be deeper than the machine's stack, and a tree of it larger than the disk.
  const unsigned depth = *given == 0 || *given > 200 ? 200 : *given;
  std::vector<TargetId> tops;
  for (StepId step = 0; step < manifest_.step_count(); ++step)
    for (const TargetId output : manifest_.outputs(step))
      if (!manifest_.is_used(output)) tops.push_back(output);
  for (const TargetId top : tops) list(top, depth, 0);
  return kDone;
}

// What the steps make that take the target so, as often as they do, under a title.
template <typename Taken>
void BuildTool::list_steps(const Taken& taken, TargetId target, std::string title) {
  for (StepId step = 0; step < manifest_.step_count(); ++step) {
    for (const TargetId one : taken(step)) {
      if (one != target) continue;
      console_.out(std::exchange(title, {}));
      for (const TargetId output : manifest_.outputs(step))
        console_.out("    " + printable(manifest_.path(output)) + '\n');
    }
  }
}

// What its dyndep file says, where there is one yet; one that cannot be read is told.
void BuildTool::load_dyndep(StepId step) {
  const TargetId file = manifest_.step(step).dyndep;
  if (file == kNone || manifest_.step(step).is_dyndep_loaded) return;
  build::Ingredients ingredients(*session_.manifest, {});
  build::Present present(*session_.manifest, *session_.history);
  build::Plan plan(*session_.manifest, *session_.history, present, ingredients);
  if (auto loaded = plan.load_dyndep(file); !loaded)
    console_.err("larder: warning: " + printable(loaded.error().what) + '\n');
}

int BuildTool::query() {
  std::vector<TargetId> targets;
  if (words_.empty())
    return call_.refuse("-t query needs a target", "it says what one is made of", "name one");
  if (!choose(targets)) return kError;
  for (const TargetId target : targets) {
    console_.out(printable(manifest_.path(target)) + ":\n");
    const StepId step = manifest_.producer(target);
    if (step != kNone) {
      load_dyndep(step);
      console_.out("  input: " + std::string(manifest_.step(step).rule->name) + '\n');
      const auto all = manifest_.all_inputs(step);
      const std::size_t first_implicit = manifest_.explicit_inputs(step).size();
      const std::size_t first_order_only = manifest_.inputs(step).size();
      for (std::size_t i = 0; i < all.size(); ++i) {
        const char* const mark = i >= first_order_only ? "|| " : i >= first_implicit ? "| " : "";
        console_.out("    " + std::string(mark) + printable(manifest_.path(all[i])) + '\n');
      }
      if (!manifest_.validations(step).empty()) console_.out("  validations:\n");
      for (const TargetId validation : manifest_.validations(step))
        console_.out("    " + printable(manifest_.path(validation)) + '\n');
    }
    console_.out("  outputs:\n");
    list_steps([&](StepId other) { return manifest_.all_inputs(other); }, target, "");
    list_steps([&](StepId other) { return manifest_.validations(other); }, target, "  validation for:\n");
  }
  return kDone;
}

int BuildTool::commands() {
  std::vector<TargetId> targets;
  if (!choose(targets)) return kError;
  for (const StepId step : steps_of(manifest_, targets))
    if (!manifest_.is_phony(step)) console_.out(manifest_.value(step, "command") + '\n');
  return kDone;
}

int BuildTool::compdb() {
  const std::string directory = build::working_directory();
  const auto quoted = [](std::string_view text) { return Json().value(text).take(); };
  bool is_first = true;
  console_.out("[");
  for (StepId step = 0; step < manifest_.step_count(); ++step) {
    if (manifest_.all_inputs(step).empty()) continue;
    const std::string rule(manifest_.step(step).rule->name);
    if (!words_.empty() && std::find(words_.begin(), words_.end(), rule) == words_.end()) continue;
    console_.out(std::string(std::exchange(is_first, false) ? "" : ",") + "\n  {\n    \"directory\": " +
                 quoted(directory) + ",\n    \"command\": " + quoted(manifest_.value(step, "command")) +
                 ",\n    \"file\": " + quoted(manifest_.path(manifest_.all_inputs(step)[0])) +
                 ",\n    \"output\": " + quoted(manifest_.path(manifest_.outputs(step)[0])) + "\n  }");
  }
  console_.out("\n]\n");
  return kDone;
}

int BuildTool::deps() {
  std::vector<TargetId> targets;
  if (!words_.empty() && !choose(targets)) return kError;
  if (words_.empty())
    for (StepId step = 0; step < manifest_.step_count(); ++step)
      if (!manifest_.is_phony(step)) targets.push_back(manifest_.outputs(step)[0]);
  for (const TargetId target : targets) {
    const StepId step = manifest_.producer(target);
    const auto run = step == kNone ? std::nullopt : session_.history->run(manifest_.outputs(step)[0]);
    if (!run) {
      if (!words_.empty()) console_.out(printable(manifest_.path(target)) + ": nothing is known\n");
      continue;
    }
    std::string read;
    unsigned count = 0;
    for (const build::ContentId content : run->discovered) {
      const build::Content& known = (*session_.history)[content];
      if (known.digest == build::kNotThere || known.digest == build::kSomethingThere) continue;
      read += "    " + printable(manifest_.path(known.target)) + '\n';
      ++count;
    }
    if (count == 0 && words_.empty()) continue;
    console_.out(printable(manifest_.path(target)) + ": #deps " + std::to_string(count) + '\n' + read);
    console_.out("\n");
  }
  return kDone;
}

int BuildTool::graph() {
  std::vector<TargetId> targets;
  if (!choose(targets)) return kError;
  const auto target_id = [](TargetId target) { return "\"t" + std::to_string(target) + '"'; };
  const auto step_id = [](StepId step) { return "\"s" + std::to_string(step) + '"'; };
  const auto label = [](std::string_view text) {
    std::string quoted;
    for (const char c : printable(text)) {
      if (c == '"') quoted += '\\';
      quoted += c == '\\' ? '/' : c;
    }
    return " [label=\"" + quoted + '"';
  };
  console_.out(
      "digraph ninja {\nrankdir=\"LR\"\nnode [fontsize=10, shape=box, height=0.25]\nedge [fontsize=10]\n");
  std::vector<bool> seen_targets;
  std::vector<bool> seen_steps(manifest_.step_count());
  std::vector<TargetId> open(targets.rbegin(), targets.rend());
  while (!open.empty()) {
    const TargetId target = open.back();
    open.pop_back();
    if (seen_targets.size() < manifest_.target_count()) seen_targets.resize(manifest_.target_count());
    if (seen_targets[target]) continue;
    seen_targets[target] = true;
    console_.out(target_id(target) + label(manifest_.path(target)) + "]\n");
    const StepId step = manifest_.producer(target);
    if (step == kNone || seen_steps[step]) continue;
    seen_steps[step] = true;
    load_dyndep(step);
    const std::string_view rule = manifest_.step(step).rule->name;
    const auto inputs = manifest_.all_inputs(step);
    const auto outputs = manifest_.outputs(step);
    if (inputs.size() == 1 && outputs.size() == 1) {
      console_.out(target_id(inputs[0]) + " -> " + target_id(outputs[0]) + label(' ' + std::string(rule)) +
                   "]\n");
    } else {
      console_.out(step_id(step) + label(rule) + ", shape=ellipse]\n");
      for (const TargetId output : outputs) console_.out(step_id(step) + " -> " + target_id(output) + '\n');
      const std::size_t order_only = manifest_.inputs(step).size();
      for (std::size_t i = 0; i < inputs.size(); ++i)
        console_.out(target_id(inputs[i]) + " -> " + step_id(step) + " [arrowhead=none" +
                     (i >= order_only ? " style=dotted" : "") + "]\n");
    }
    open.insert(open.end(), inputs.rbegin(), inputs.rend());
  }
  console_.out("}\n");
  return kDone;
}

}  // namespace

int run_build_tool(Call& call, std::string_view tool, const std::vector<std::string>& words,
                   BuildSession& session) {
  BuildTool work(call, words, session);
  if (tool == "clean") return work.clean();
  if (tool == "targets") return work.targets();
  if (tool == "query") return work.query();
  if (tool == "commands") return work.commands();
  if (tool == "compdb") return work.compdb();
  if (tool == "deps") return work.deps();
  return work.graph();
}

}  // namespace larder::tool
