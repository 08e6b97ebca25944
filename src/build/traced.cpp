// What comes of having watched a command: what it read and its step does not declare is a dependency all the
// same, what it wrote so is told or fails it, and neither lets its product be kept for others.
#include <algorithm>
#include <utility>

#include "build/build.hpp"
#include "build/crossing.hpp"

namespace larder::build {
namespace {

constexpr std::size_t kNamesMax = 5;

std::string list(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kNamesMax); ++i) text += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > kNamesMax) text += " and " + std::to_string(names.size() - kNamesMax) + " more";
  return text;
}

}  // namespace

// Whether `target` is behind `step`, which may have looked at what an earlier build had left there.
bool Build::is_made_of(TargetId target, StepId step) const {
  std::unordered_set<StepId> seen;
  std::vector<TargetId> open{target};
  while (!open.empty()) {
    const StepId producer = manifest_.producer(open.back());
    open.pop_back();
    if (producer == step) return true;
    if (producer == kNone || !seen.insert(producer).second) continue;
    for (const TargetId input : manifest_.all_inputs(producer)) open.push_back(input);
    if (const auto run = history_.run(manifest_.outputs(producer)[0]))
      for (const ContentId content : run->discovered) open.push_back(history_[content].target);
  }
  return false;
}

// Whether its command is to be traced; says once that it cannot be.
bool Build::is_traced(StepId step) {
  if (options_.tracing == nullptr || untraced_.contains(step)) return false;
  if (manifest_.is_set(step, "generator")) return false;  // it may write what it likes
  const bool is_asked = options_.tracing->extent() == Tracing::Extent::all;
  // A command on the console may want to be more than larder is.
  if (!is_asked && (restorer_ == nullptr || manifest_.step(step).pool == kConsolePool)) return false;
  const std::string& why = options_.tracing->why_not();
  if (why.empty()) return true;
  if (std::exchange(is_untraced_told_, true)) return false;
  const std::string told = "commands are not traced, so only compilations are restored: " + why;
  if (!options_.tracing->is_traced_itself())
    listener_.on_warning(told);
  else if (options_.explains)
    listener_.on_explain(told);
  return false;
}

// Why what the command made is not for others.
void Build::keep_from_others(Job& job, const Undeclared::Found& found) {
  if (!found.written.empty()) {
    job.why_not_kept = "the command wrote what its step does not declare: " + list(found.written);
  } else if (!found.outside.empty()) {
    job.why_not_kept = "the command wrote outside the project: " + found.outside;
  } else if (!found.read_back.empty()) {
    job.why_not_kept = "the command read the old " + found.read_back + ", which it makes";
  } else if (!job.report->why_unknowable.empty()) {
    job.why_not_kept = "what the command did cannot be known: " + job.report->why_unknowable;
  } else if (const std::string_view other = other_than_compiler(*job.report);
             !job.sees_links && !other.empty()) {
    job.why_not_kept = "the command started " + std::string(other) + ", which is no part of a compiler";
  } else if (job.asked != nullptr && job.asked->is_traced) {
    Footprint footprint = footprint_of(*job.report, found.declared, *undeclared_);
    job.why_not_kept = std::move(footprint.why_not);
    job.marks = std::move(footprint.marks);
    job.program = program_that_stays(*job.report);
  } else if (!found.read.empty() || !found.links.empty()) {
    job.why_not_kept = "the command read what its step does not declare: " +
                       list(found.read.empty() ? found.links : found.read);
  }
}

void Build::heed_report(Job& job, std::vector<TargetId>& discovered, std::string& output, int& code) {
  const StepId step = job.step;
  const Undeclared::Found found = undeclared_->look({.step = step,
                                                     .known = job.targets,
                                                     .discovered = discovered,
                                                     .depfile = job.depfile,
                                                     .response = job.response},
                                                    *job.report);
  const std::string self(manifest_.path(manifest_.outputs(step)[0]));
  const bool is_first = step >= attempts_.size() || attempts_[step] == 0;
  const bool is_strict = options_.tracing->is_strict();
  if (!found.missing.empty() && is_first && options_.explains)
    listener_.on_explain(self + ": its command looked for what is not there: " + list(found.missing));
  keep_from_others(job, found);
  if (!found.written.empty() && is_strict) {
    output += "larder: " + job.why_not_kept +
              "\nlarder: name it as an output of the step, or have the command remove it\n";
    code = 1;
    history_.forget(manifest_.outputs(step)[0]);  // else an older run of it would do next time
  } else if (!found.written.empty() && is_first) {
    listener_.on_warning(self + ": " + job.why_not_kept);
  }
  if (!found.read.empty() && is_strict && is_first)
    listener_.on_warning(self + ": the command read what its step does not declare: " + list(found.read));
  for (const auto* const names : {&found.read, &found.links})
    for (const std::string& name : *names)
      if (const TargetId target = manifest_.target(name); !is_made_of(target, step))
        discovered.push_back(target);
  job.ghosts.clear();
  for (const std::string& name : found.missing) {
    const TargetId target = manifest_.target(name);
    if (manifest_.producer(target) == kNone) {
      job.ghosts.push_back(target);
    } else if (!is_made_of(target, step)) {
      discovered.push_back(target);  // it is not there yet because the step that makes it had not run
    }
  }
  // What it read before and only looks at now, as make does of what has not changed, decides it still.
  std::unordered_set<TargetId> read_before;
  if (const auto run = history_.run(manifest_.outputs(step)[0]); run && run->command == job.command)
    for (const ContentId content : run->discovered)
      if (history_[content].digest != kNotThere && history_[content].digest != kSomethingThere)
        read_before.insert(history_[content].target);
  job.looked.clear();
  for (const std::string& name : found.looked) {
    const TargetId target = manifest_.target(name);
    if (is_made_of(target, step)) continue;
    (read_before.contains(target) ? discovered : job.looked).push_back(target);
  }
  job.came.clear();
  for (const std::string& name : found.came) {
    const TargetId target = manifest_.target(name);
    if (is_made_of(target, step)) continue;
    if (manifest_.producer(target) != kNone) discovered.push_back(target);
    job.came = name;
  }
  std::sort(discovered.begin(), discovered.end());
  discovered.erase(std::unique(discovered.begin(), discovered.end()), discovered.end());
}

}  // namespace larder::build
