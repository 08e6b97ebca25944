// The tools of `larder build -t`: they look at the manifest and what is known of its steps, or remove
// outputs.
#include <unistd.h>

#include <algorithm>
#include <charconv>

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
      for (TargetId target = 0; target < manifest_.target_count(); ++target)
        if (manifest_.is_used(target) && manifest_.producer(target) == kNone)
          console_.out(printable(manifest_.path(target)) + '\n');
      return kDone;
    }
    for (StepId step = 0; step < manifest_.step_count(); ++step) {
      if (manifest_.step(step).rule->name != words_[1]) continue;
      for (const TargetId output : manifest_.outputs(step))
        console_.out(printable(manifest_.path(output)) + '\n');
    }
    return kDone;
  }
  unsigned depth = 1;
  if (mode != "depth" ||
      (words_.size() > 1 &&
       std::from_chars(words_[1].data(), words_[1].data() + words_[1].size(), depth).ec != std::errc()))
    return call_.refuse("-t targets does not know " + mode, "it takes `rule NAME`, `depth N` or `all`",
                        "write larder build -t targets all");
  // A graph may be deeper than the machine's stack, and a tree of it larger than the disk.
  if (depth == 0 || depth > 200) depth = 200;
  std::vector<TargetId> tops;
  for (StepId step = 0; step < manifest_.step_count(); ++step)
    for (const TargetId output : manifest_.outputs(step))
      if (!manifest_.is_used(output)) tops.push_back(output);
  for (const TargetId top : tops) list(top, depth, 0);
  return kDone;
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
      console_.out("  input: " + std::string(manifest_.step(step).rule->name) + '\n');
      const auto all = manifest_.all_inputs(step);
      const std::size_t first_implicit = manifest_.explicit_inputs(step).size();
      const std::size_t first_order_only = manifest_.inputs(step).size();
      for (std::size_t i = 0; i < all.size(); ++i) {
        const char* const mark = i >= first_order_only ? "|| " : i >= first_implicit ? "| " : "";
        console_.out("    " + std::string(mark) + printable(manifest_.path(all[i])) + '\n');
      }
      for (const TargetId validation : manifest_.validations(step))
        console_.out("    |@ " + printable(manifest_.path(validation)) + '\n');
    }
    console_.out("  outputs:\n");
    for (StepId other = 0; other < manifest_.step_count(); ++other) {
      const auto inputs = manifest_.all_inputs(other);
      if (std::find(inputs.begin(), inputs.end(), target) == inputs.end()) continue;
      for (const TargetId output : manifest_.outputs(other))
        console_.out("    " + printable(manifest_.path(output)) + '\n');
    }
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
  Json json;
  json.begin_array();
  for (StepId step = 0; step < manifest_.step_count(); ++step) {
    if (manifest_.is_phony(step) || manifest_.explicit_inputs(step).empty()) continue;
    const std::string rule(manifest_.step(step).rule->name);
    if (!words_.empty() && std::find(words_.begin(), words_.end(), rule) == words_.end()) continue;
    json.begin_object()
        .member("directory", directory)
        .member("command", manifest_.value(step, "command"))
        .member("file", manifest_.path(manifest_.explicit_inputs(step)[0]))
        .member("output", manifest_.path(manifest_.outputs(step)[0]))
        .end_object();
    console_.out(json.take());
  }
  json.end_array();
  console_.out(std::move(json).text());
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
  const auto quoted = [&](TargetId target) {
    std::string text = "\"";
    for (const char c : printable(manifest_.path(target))) {
      if (c == '"' || c == '\\') text += '\\';
      text += c;
    }
    return text + '"';
  };
  console_.out(
      "digraph larder {\nrankdir=\"LR\"\nnode [fontsize=10, shape=box, height=0.25]\nedge [fontsize=10]\n");
  for (const StepId step : steps_of(manifest_, targets)) {
    const std::string rule(manifest_.step(step).rule->name);
    const auto all = manifest_.all_inputs(step);
    const std::size_t order_only = manifest_.inputs(step).size();
    for (const TargetId output : manifest_.outputs(step)) {
      if (all.empty()) console_.out(quoted(output) + '\n');
      for (std::size_t i = 0; i < all.size(); ++i)
        console_.out(quoted(all[i]) + " -> " + quoted(output) + " [label=\"" + rule + '"' +
                     (i >= order_only ? ", style=dotted" : "") + "]\n");
    }
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
