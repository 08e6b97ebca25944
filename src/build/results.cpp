// What came of a command: the files it named in its depfile, the outputs it made, and whether what it read
// stood still meanwhile. Only then its run is recorded.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "build/build.hpp"
#include "build/command_line.hpp"
#include "build/depfile.hpp"
#include "build/text_file.hpp"

namespace larder::build {
namespace {

constexpr unsigned kAttemptsMax = 3;

std::string working_prefix() {
  const std::string directory = working_directory();
  return directory.empty() ? directory : directory + '/';
}

// Takes the lines out of `output` that name included files, as compilers do that write no depfile.
std::vector<std::string> take_included(std::string& output, std::string_view prefix) {
  std::vector<std::string> found;
  std::string rest;
  std::string_view text = output;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    const std::string_view whole = text.substr(0, end == text.npos ? text.size() : end + 1);
    text.remove_prefix(whole.size());
    if (!line.starts_with(prefix)) {
      rest += whole;
      continue;
    }
    line.remove_prefix(prefix.size());
    while (line.starts_with(' ')) line.remove_prefix(1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty()) found.emplace_back(line);
  }
  output = std::move(rest);
  return found;
}

}  // namespace

bool Build::learn_depfile(Job& job, std::vector<TargetId>& discovered, std::string& output, int& code) {
  const std::string deps = manifest_.value(job.step, "deps");
  std::vector<std::string> paths;
  if (deps == "msvc") {
    std::string prefix = manifest_.value(job.step, "msvc_deps_prefix");
    paths = take_included(output, prefix.empty() ? "Note: including file: " : prefix);
  } else if (!job.depfile.empty()) {
    const Result<std::string> text = read_text_file(job.depfile);
    if (!text && text.error().code != Code::not_found) {
      output += "larder: " + text.error().what + '\n';
      code = 1;
      return false;
    }
    if (text) {
      job.has_depfile = true;
      Result<std::vector<std::string>> read = read_depfile(job.depfile, *text);
      if (!read) {
        output += "larder: " + read.error().what + '\n';
        code = 1;
        return false;
      }
      paths = std::move(*read);
    }
    if (!deps.empty() && !options_.keeps_depfiles) ::unlink(job.depfile.c_str());
  }
  static const std::string& prefix = *new std::string(working_prefix());
  for (std::string& path : paths) {
    make_canonical(path);
    TargetId target = manifest_.find(path);
    if ((target == kNone || manifest_.producer(target) == kNone) && path.starts_with(prefix)) {
      // Compilers that were given an absolute path name what the manifest names from here.
      const TargetId here = manifest_.find(path.substr(prefix.size()));
      if (here != kNone) target = here;
    }
    discovered.push_back(target != kNone ? target : manifest_.target(path));
  }
  std::sort(discovered.begin(), discovered.end());
  discovered.erase(std::unique(discovered.begin(), discovered.end()), discovered.end());
  const auto inputs = manifest_.inputs(job.step);
  const auto outputs = manifest_.outputs(job.step);
  std::erase_if(discovered, [&](TargetId target) {
    const StepId producer = manifest_.producer(target);
    return std::find(inputs.begin(), inputs.end(), target) != inputs.end() ||
           std::find(outputs.begin(), outputs.end(), target) != outputs.end() ||
           (producer != kNone && manifest_.is_phony(producer) && !manifest_.all_inputs(producer).empty());
  });
  return true;
}

// CMake and Meson write steps that make nothing: they are there to be run, by an alias that names them.
bool Build::is_task(const Job& job) const {
  const StepId step = job.step;
  if (is_tool_of_ninja(manifest_.value(step, "command"))) return true;
  // What it once made it should make again.
  const auto run = history_.run(manifest_.outputs(step)[0]);
  if (run && run->command == job.command) return false;
  bool has_alias = false;
  for (StepId other = 0; other < manifest_.step_count(); ++other) {
    for (const TargetId input : manifest_.all_inputs(other)) {
      if (manifest_.producer(input) != step) continue;
      if (!manifest_.is_phony(other)) return false;
      has_alias = true;
    }
  }
  return has_alias;
}

bool Build::made_all_outputs(const Job& job, std::vector<ContentId>& outputs, std::string& output,
                             int& code) {
  const bool is_generator = manifest_.is_set(job.step, "generator");
  std::vector<TargetId> missing;
  for (const TargetId target : manifest_.outputs(job.step)) {
    const std::int64_t before = present_.is_looked(target) ? present_.whole_print(target).modified_ns : 0;
    outputs.push_back(present_.look_again(target));
    if (outputs.back() == kMissing)
      missing.push_back(target);
    else if (is_generator && present_.whole_print(target).modified_ns != before)
      plan_.note_rewritten(target);
  }
  if (missing.empty()) return true;
  if (missing.size() == outputs.size() && is_task(job)) return false;
  for (const TargetId target : missing)
    output +=
        "larder: the command ended well, but did not make " + std::string(manifest_.path(target)) + '\n';
  code = 1;
  return false;
}

bool Build::are_inputs_unchanged(Job& job, const std::vector<TargetId>& discovered, std::string& changed) {
  const auto has_changed = [&](TargetId target) {
    if (present_.is_untouched(target)) return false;
    const ContentId before = present_[target];
    const std::uint32_t modified = present_.print(target).modified;
    return present_.look_again(target) != before || present_.print(target).modified != modified;
  };
  for (const TargetId target : job.watched)
    if (has_changed(target)) changed = manifest_.path(target);
  for (const TargetId target : discovered) {
    if (has_changed_since(job, target)) changed = manifest_.path(target);
    if (present_.is_looked(target)) {
      if (has_changed(target)) changed = manifest_.path(target);
      continue;
    }
    // Nobody had looked at it before the command began, so it must be older than that.
    if (present_.look_again(target) == kMissing) continue;
    const Fingerprint print = present_.whole_print(target);
    if (print == Fingerprint{} || !is_settled(print, job.started_ns)) changed = manifest_.path(target);
  }
  return changed.empty();
}

bool Build::take_results(Job& job, std::string& output, int& code) {
  const StepId step = job.step;
  std::vector<TargetId> discovered;
  if (!learn_depfile(job, discovered, output, code)) return true;
  std::vector<ContentId> outputs;
  const bool made_all = made_all_outputs(job, outputs, output, code);
  if (code == 0 && made_all && job.report) heed_report(job, discovered, output, code);
  if (code != 0) return true;

  if (attempts_.size() <= step) attempts_.resize(manifest_.step_count());
  std::uint8_t& attempts = attempts_[step];
  if (attempts < kAttemptsMax) ++attempts;
  unrecorded_.insert(step);
  // It read what another step makes that had not run yet, or not when the command began.
  for (const TargetId target : discovered) {
    const StepId producer = manifest_.producer(target);
    if (producer == kNone || producer == step) continue;
    if (is_made(producer) && !is_made_since(job, producer)) continue;
    plan_.learn(step, discovered);
    return attempts > 1;
  }
  std::string changed = job.came;
  for (const TargetId ghost : job.ghosts)
    if (present_.look_again(ghost) != kMissing) changed = manifest_.path(ghost);
  if (!are_inputs_unchanged(job, discovered, changed)) {
    plan_.learn(step, discovered);
    if (attempts < kAttemptsMax) return false;
    listener_.on_warning(changed + " keeps changing while the command of " +
                         std::string(manifest_.path(manifest_.outputs(step)[0])) +
                         " runs; the step is made again next time");
    return true;
  }
  bool is_known = made_all;
  for (const ContentId input : job.inputs) is_known = is_known && input != kMissing;
  std::vector<ContentId> read;
  for (const TargetId target : discovered) {
    if (present_[target] == kMissing) continue;
    read.push_back(present_[target]);
  }
  for (const TargetId ghost : job.ghosts) read.push_back(history_.content(ghost, kNotThere));
  for (const TargetId target : job.looked) read.push_back(history_.content(target, kSomethingThere));
  if (!is_known) return true;
  const auto took = std::chrono::steady_clock::now() - job.started;
  unrecorded_.erase(step);
  record(job, read, outputs,
         static_cast<std::uint32_t>(std::chrono::duration_cast<std::chrono::milliseconds>(took).count()));
  keep_product(job, discovered, outputs, output);
  return true;
}

void Build::note_made(StepId step) {
  if (made_.size() <= step) made_.resize(manifest_.step_count());
  made_[step] = ++made_count_;
}

void Build::record(const Job& job, std::span<const ContentId> read, std::span<const ContentId> outputs,
                   std::uint32_t duration_ms) {
  Run run;
  run.command = job.command;
  run.inputs = job.inputs;
  run.declared = job.declared;
  run.discovered = read;
  run.outputs = outputs;
  run.is_generator = manifest_.is_set(job.step, "generator");
  run.duration_ms = duration_ms;
  if (run.is_generator) {
    run.inputs = run.inputs.first(job.declared);
  }
  history_.keep(manifest_.outputs(job.step)[0], run);
  plan_.unlearn(job.step);
}

// An interrupted command may leave outputs that look whole.
void Build::remove_halves(const Job& job) {
  if (manifest_.is_set(job.step, "generator")) return;
  for (const TargetId output : manifest_.outputs(job.step)) {
    if (present_.is_untouched(output)) continue;
    ::unlink(std::string(manifest_.path(output)).c_str());
  }
  if (!job.depfile.empty()) ::unlink(job.depfile.c_str());
}

void Build::remove_dropped_outputs(StepId step, std::span<const ContentId> before) {
  const auto outputs = manifest_.outputs(step);
  for (const ContentId content : before) {
    const TargetId target = history_[content].target;
    if (std::find(outputs.begin(), outputs.end(), target) != outputs.end()) continue;
    if (manifest_.producer(target) != kNone || manifest_.is_used(target)) continue;
    if (present_.look_again(target) == content) ::unlink(std::string(manifest_.path(target)).c_str());
  }
}

unsigned Build::remove_stale() {
  unsigned removed = 0;
  for (const TargetId main : history_.recorded()) {
    const StepId step = manifest_.producer(main);
    if (step != kNone && !manifest_.is_phony(step) && manifest_.outputs(step)[0] == main) continue;
    const auto run = history_.run(main);
    const std::vector<ContentId> outputs(run->outputs.begin(), run->outputs.end());
    for (const ContentId content : outputs) {
      const TargetId target = history_[content].target;
      if (run->is_generator || manifest_.producer(target) != kNone || manifest_.is_used(target)) continue;
      // Only what is still as the step made it: anything else is somebody's work.
      if (present_.look_again(target) != content) continue;
      if (::unlink(std::string(manifest_.path(target)).c_str()) == 0) ++removed;
    }
    history_.forget(main);
  }
  if (removed != 0) log_.flush();
  return removed;
}

}  // namespace larder::build
