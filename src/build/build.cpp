#include "build/build.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/number.hpp"
#include "build/stand_in.hpp"
#include "build/text_file.hpp"
#include "build/write_file.hpp"

namespace larder::build {
namespace {

constexpr std::size_t kFreshMax = 4096;  // files that whoever reads the seal must look at again
constexpr int kLoadPauseMs = 200;        // until the load, or the memory, is asked again

// What can be had without swapping; all there can be when nobody says it.
std::uint64_t available_memory() {
  constexpr std::string_view kTitle = "MemAvailable:";
  const Result<std::string> text = read_text_file("/proc/meminfo");
  const std::size_t at = text ? text->find(kTitle) : std::string::npos;
  if (at == std::string::npos) return UINT64_MAX;
  std::string_view rest = std::string_view(*text).substr(at + kTitle.size());
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  const auto kilobytes = take_number<std::uint64_t>(rest);
  return kilobytes ? *kilobytes * 1024 : UINT64_MAX;
}

}  // namespace

Build::Build(Manifest& manifest, History& history, Log& log, Ingredients& ingredients, StopSignals& signals,
             const BuildOptions& options, Jobserver* jobserver, BuildListener& listener)
    : manifest_(manifest),
      history_(history),
      log_(log),
      ingredients_(ingredients),
      signals_(signals),
      options_(options),
      jobserver_(jobserver),
      listener_(listener),
      present_(manifest, history),
      plan_(manifest, history, present_, ingredients),
      processes_(signals) {
  if (options.products != nullptr && !options.is_dry) {
    restorer_ = std::make_unique<Restorer>(manifest, history, present_, plan_, ingredients, signals,
                                           *options.products);
  }
  if (options.tracing != nullptr)
    undeclared_ = std::make_unique<Undeclared>(manifest, options.tracing->tree());
}

// What is known to be left of those that run shrinks as they do.
BuildListener::Counts Build::counts() const {
  std::uint64_t left_ms = left_ms_;
  const auto now = std::chrono::steady_clock::now();
  for (const auto& job : jobs_) {
    if (!job) continue;
    const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(now - job->started).count();
    left_ms -=
        std::min({left_ms, job->expected_ms, static_cast<std::uint64_t>(std::max<std::int64_t>(took, 0))});
  }
  return {finished_, std::max(total_, finished_ + static_cast<unsigned>(processes_.running())),
          static_cast<unsigned>(processes_.running()), left_ms};
}

void Build::count_plan() {
  total_ = finished_;
  left_ms_ = 0;
  for (const StepId step : plan_.order()) {
    const State state = plan_.state(step);
    if (manifest_.is_phony(step) || (state != State::running && !plan_.may_run(step))) continue;
    if (state != State::running && state != State::waiting && state != State::due) continue;
    ++total_;
    if (const auto run = history_.run(manifest_.outputs(step)[0])) left_ms_ += run->duration_ms;
  }
}

Result<void> Build::plan_anew() {
  needs_plan_ = false;
  if (auto made = plan_roots(); !made) return made;
  count_plan();
  ready_ = {};
  pool_waiting_.assign(manifest_.pools().size(), {});
  std::vector<StepId> free;
  for (const StepId step : plan_.order()) {
    const State state = plan_.state(step);
    if ((state == State::due || state == State::waiting) && plan_.blocked(step) == 0) free.push_back(step);
  }
  for (const StepId step : free) consider(step);
  return {};
}

void Build::explain(StepId step, const Verdict& verdict) {
  if (options_.explains) listener_.on_explain(plan_.explain(step, verdict));
}

void Build::consider(StepId step) {
  const State state = plan_.state(step);
  if (state != State::due && state != State::waiting) return;
  if (needs_plan_) return;  // the new plan will see it
  const Verdict verdict = plan_.judge(step);
  if (verdict.must_run()) {
    explain(step, verdict);
    if (!plan_.may_run(step)) ++total_;
    plan_.set_state(step, State::due);
    ready_.push({plan_.urgency(step), step});
    return;
  }
  if (!manifest_.is_phony(step) && plan_.may_run(step)) {
    if (total_ > finished_) --total_;
    explain(step, verdict);
  }
  plan_.set_state(step, State::done);
  settle_step(step);
}

// Without recursion: whole chains may come out the same.
void Build::settle_step(StepId first) {
  std::vector<StepId> settled{first};
  while (!settled.empty() && !needs_plan_) {
    const StepId step = settled.back();
    settled.pop_back();
    for (const TargetId output : manifest_.outputs(step))
      for (const StepId follower : plan_.followers(step))
        if (manifest_.step(follower).dyndep == output && !manifest_.step(follower).is_dyndep_loaded)
          needs_plan_ = true;
    if (needs_plan_) return;
    for (const StepId follower : plan_.followers(step)) {
      if (--plan_.blocked(follower) != 0) continue;
      const State state = plan_.state(follower);
      if (state != State::due && state != State::waiting) continue;
      const Verdict verdict = plan_.judge(follower);
      if (verdict.must_run()) {
        explain(follower, verdict);
        if (!plan_.may_run(follower)) ++total_;
        plan_.set_state(follower, State::due);
        ready_.push({plan_.urgency(follower), follower});
        continue;
      }
      if (!manifest_.is_phony(follower) && plan_.may_run(follower) && total_ > finished_) --total_;
      plan_.set_state(follower, State::done);
      settled.push_back(follower);
    }
  }
}

bool Build::may_start_more() {
  const std::size_t running = processes_.running();
  if (running >= options_.jobs) return false;
  if (running != 0 && options_.load_max > 0) {
    double load = 0;
    if (::getloadavg(&load, 1) == 1 && load > options_.load_max) return false;
  }
  if (running != 0 && options_.memory_min_bytes != 0 && available_memory() < options_.memory_min_bytes)
    return false;
  if (jobserver_ != nullptr && !jobserver_->take()) {
    waits_for_token_ = true;
    return false;
  }
  return true;
}

bool Build::start_some() {
  waits_for_token_ = false;  // else what cannot start for another reason would watch the tokens, without end
  while (!ready_.empty()) {
    const StepId step = ready_.top().step;
    if (restorer_ != nullptr && unstable_ == nullptr && !asked_.contains(step)) {
      const Urgent urgent = ready_.top();
      ready_.pop();
      if (restore(step)) {
        // Nothing is waited for while one is restored after the other.
        if (signals_.wait(0) == 0) return true;
        interrupt();
        return false;
      }
      ready_.push(urgent);
      continue;
    }
    const std::uint32_t pool = manifest_.step(step).pool;
    const unsigned depth = manifest_.pools()[pool].depth;
    if (depth != 0 && pool_running_[pool] >= depth) {
      ready_.pop();
      pool_waiting_[pool].push_back(step);
      continue;
    }
    if (!may_start_more()) return false;
    ready_.pop();
    start(step);
    return true;
  }
  return false;
}

bool Build::make_parents(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos || slash == 0) return true;
  std::string parent = path.substr(0, slash);
  if (parents_.contains(parent)) return true;
  struct stat status {};
  if (::stat(parent.c_str(), &status) != 0 &&
      (!make_parents(parent) || (::mkdir(parent.c_str(), 0777) != 0 && errno != EEXIST))) {
    return false;
  }
  parents_.insert(std::move(parent));
  return true;
}

// A step as it is before its command runs.
Build::Job Build::describe(StepId step, const std::string& command) {
  Job job;
  job.step = step;
  job.depfile = manifest_.plain_value(step, "depfile");
  job.response = manifest_.plain_value(step, "rspfile");
  std::vector<TargetId> inputs(manifest_.inputs(step).begin(), manifest_.inputs(step).end());
  job.declared = static_cast<unsigned>(inputs.size());
  ingredients_.append_programs(command, inputs);
  present_.look(inputs);
  for (const TargetId input : inputs) {
    const StepId producer = manifest_.producer(input);
    job.inputs.push_back(taken_content(manifest_, history_, present_, input));
    if (producer == kNone || !manifest_.is_phony(producer)) job.watched.push_back(input);
  }
  job.targets = std::move(inputs);
  job.command = plan_.command_digest(step, command);
  if (const auto run = history_.run(manifest_.outputs(step)[0])) job.expected_ms = run->duration_ms;
  return job;
}

int Build::inherited_fd() {
  if (commands_file_ == nullptr) return -1;
  const Result<int> fd = commands_file_->fd();
  if (fd) return *fd;
  listener_.on_warning("should this build be killed, the next one does not wait for its commands: " +
                       fd.error().what);
  commands_file_ = nullptr;
  return -1;
}

void Build::start(StepId step) {
  const std::string command = manifest_.value(step, "command");
  const bool on_console = manifest_.step(step).pool == kConsolePool;
  Job job = describe(step, command);
  if (const auto asked = asked_.find(step); asked != asked_.end()) {
    // What was asked for must be what runs.
    if (asked->second != nullptr && asked->second->inputs == job.inputs) job.asked = asked->second;
    asked_.erase(asked);
  }
  const std::string response = job.response.empty() ? "" : manifest_.value(step, "rspfile_content");
  std::string trouble;
  for (const TargetId output : manifest_.outputs(step))
    if (!make_parents(std::string(manifest_.path(output))))
      trouble = "make a directory for " + std::string(manifest_.path(output));
  if (!make_parents(job.depfile)) trouble = "make a directory for " + job.depfile;
  if (!job.response.empty() && (!make_parents(job.response) || !write_file(job.response, response)))
    trouble = "write " + job.response;
  if (!trouble.empty()) trouble += std::string(": ") + std::strerror(errno);
  if (command.size() > kValueMax || response.size() > kValueMax)
    trouble =
        "its command or rspfile_content comes out longer than " + std::to_string(kValueMax >> 20) + " MiB";

  plan_.set_state(step, State::running);
  ++pool_running_[manifest_.step(step).pool];
  std::size_t number = 0;
  while (number < jobs_.size() && jobs_[number]) ++number;
  if (number == jobs_.size()) jobs_.emplace_back();
  job.started = std::chrono::steady_clock::now();
  job.started_ns = file_clock_ns();
  job.made_before = made_count_;
  jobs_[number] = std::move(job);
  if (trouble.empty()) {
    BuildListener::Counts at = counts();
    ++at.running;
    listener_.on_start(step, at);
    trace::Tracer* const tracer = is_traced(step) ? &options_.tracing->tracer() : nullptr;
    const bool sees_links = tracer == nullptr || !is_compiler_call(command);
    jobs_[number]->sees_links = sees_links;
    const Result<void> started = processes_.start(static_cast<unsigned>(number), command, on_console,
                                                  inherited_fd(), tracer, sees_links);
    if (started) return;
    trouble = started.error().what;
  }
  Processes::Ended ended;
  ended.number = static_cast<unsigned>(number);
  ended.code = 126;
  ended.output = "larder: " + trouble + '\n';
  if (auto finished = finish(std::move(ended)); !finished) trouble_ = std::move(finished);
}

// What a step made is a name more, or less, in a directory that a step behind it may take.
void Build::look_at_parents(StepId step) {
  for (const TargetId output : manifest_.outputs(step)) {
    std::string path(manifest_.path(output));
    for (bool is_last = false; !is_last;) {
      const std::size_t slash = path.rfind('/');
      is_last = slash == std::string::npos || slash == 0;
      path = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
      const TargetId parent = manifest_.find(path);
      if (parent == kNone || manifest_.producer(parent) != kNone || !present_.is_looked(parent)) continue;
      const ContentId before = present_[parent];
      if (present_.look_again(parent) == before || !plan_.is_kept()) continue;
      // The kernel's word of it will be no news any more.
      changed_at_[parent] = std::chrono::steady_clock::now();
      plan_.touch_consumers(parent);
      needs_plan_ = true;
    }
  }
}

void Build::fail_step(StepId step) {
  plan_.set_state(step, State::failed);
  ++failures_;
  if (options_.failures_max != 0 && failures_ >= options_.failures_max) is_stopped_ = true;
}

Result<void> Build::finish(Processes::Ended ended) {
  Job job = std::move(*jobs_[ended.number]);
  jobs_[ended.number].reset();
  const StepId step = job.step;
  const std::uint32_t pool = manifest_.step(step).pool;
  --pool_running_[pool];
  if (jobserver_ != nullptr) jobserver_->give_back();
  for (const StepId waiting : pool_waiting_[pool]) ready_.push({plan_.urgency(waiting), waiting});
  pool_waiting_[pool].clear();

  int code = ended.code;
  if (code != 0 && (StopSignals::received() != 0 || code == 128 + SIGINT)) {
    remove_halves(job);
    plan_.set_state(step, State::failed);
    is_stopped_ = true;
    return {};
  }
  if (changes_ != nullptr && (job.is_cancelled || plan_.is_touched(step))) {
    drop_superseded(job, code);
    return {};
  }
  const auto before = history_.run(manifest_.outputs(step)[0]);
  const std::uint64_t expected = before ? before->duration_ms : 0;
  std::vector<ContentId> old_outputs;
  if (before) old_outputs.assign(before->outputs.begin(), before->outputs.end());
  Run checked;
  std::vector<ContentId> old_inputs;
  std::vector<ContentId> old_discovered;
  if (unstable_ != nullptr && before) {
    checked = *before;
    old_inputs.assign(before->inputs.begin(), before->inputs.end());
    old_discovered.assign(before->discovered.begin(), before->discovered.end());
    checked.inputs = old_inputs;
    checked.discovered = old_discovered;
    checked.outputs = old_outputs;
  }
  left_ms_ -= std::min(left_ms_, expected);
  job.report = std::move(ended.report);
  if (job.report && job.report->lacked_rights && options_.tracing->extent() == Tracing::Extent::cacheable) {
    untraced_.insert(step);
    plan_.set_state(step, State::unwanted);
    needs_plan_ = true;
    return {};
  }
  if (ran_.size() <= step) ran_.resize(manifest_.step_count());
  ran_[step] = true;
  const bool is_final = code != 0 || take_results(job, ended.output, code);
  if (code == 0 && !job.response.empty() && !options_.keeps_responses) ::unlink(job.response.c_str());
  if (plan_.is_kept() && !plan_.take_discovered(step)) needs_whole_ = true;
  if (!is_final) {  // it runs again
    plan_.set_state(step, State::unwanted);
    needs_plan_ = true;
    return {};
  }
  ++finished_;
  listener_.on_finish(step, counts(), code, ended.output);
  if (code != 0) {
    if (changes_ != nullptr)  // what it left is no change that would have it run again
      for (const TargetId output : manifest_.outputs(step)) present_.look_again(output);
    fail_step(step);
    return {};
  }
  plan_.set_state(step, State::done);
  note_made(step);
  tell_outputs(step, old_outputs);
  remove_dropped_outputs(step, old_outputs);
  if (unstable_ != nullptr && before) compare(step, checked);
  look_at_parents(step);
  settle_step(step);
  log_.flush();
  present_.settle_many();
  return {};
}

bool Build::is_as_recorded(StepId step) const {
  if (manifest_.is_phony(step)) return true;
  const auto run = history_.run(manifest_.outputs(step)[0]);
  if (!run) return false;
  if (run->is_generator) return true;
  const auto is_it = [&](ContentId content) {
    const TargetId target = history_[content].target;
    return present_.is_looked(target) && present_[target] == content;
  };
  return std::all_of(run->inputs.begin(), run->inputs.end(), is_it) &&
         std::all_of(run->discovered.begin(), run->discovered.end(), is_it) &&
         std::all_of(run->outputs.begin(), run->outputs.end(), is_it);
}

bool Build::add_sealed(SealMaker& seal) const {
  const auto order = plan_.order();
  if (!unrecorded_.empty() || !std::all_of(order.begin(), order.end(), [&](StepId step) {
        return is_made(step) && is_as_recorded(step);
      }))
    return false;
  std::size_t fresh = 0;
  // By directory, which are fewer than files: so they are looked at fastest. Those of one are a chain.
  PathTable directories;
  std::vector<TargetId> first;
  std::uint32_t directory = 0;
  std::vector<TargetId> next(manifest_.target_count(), kNone);
  for (auto target = static_cast<TargetId>(manifest_.target_count()); target-- > 0;) {
    if (!present_.is_looked(target)) continue;
    const StepId producer = manifest_.producer(target);
    if (producer != kNone && manifest_.is_phony(producer) && !manifest_.all_inputs(producer).empty())
      continue;
    if (!present_.is_trusted(target) && ++fresh > kFreshMax) return false;
    const std::string_view path = manifest_.path(target);
    const std::size_t slash = path.rfind('/');
    const std::string_view parent = slash == path.npos ? std::string_view() : path.substr(0, slash);
    // Most are in that of the one before.
    if (first.empty() || directories[directory] != parent) directory = directories.number(parent);
    if (directory == first.size()) first.push_back(kNone);
    next[target] = std::exchange(first[directory], target);
  }
  for (const TargetId begin : first)
    for (TargetId target = begin; target != kNone; target = next[target]) {
      const SealedKind kind = !present_.is_trusted(target)   ? SealedKind::fresh
                              : present_[target] == kMissing ? SealedKind::missing
                                                             : SealedKind::there;
      seal.add(manifest_.path(target), kind, present_.print(target));
    }
  return true;
}

void Build::interrupt() {
  is_stopped_ = true;
  processes_.signal_all(StopSignals::received());
}

Result<BuildOutcome> Build::make(std::span<const TargetId> roots) {
  roots_.assign(roots.begin(), roots.end());
  needs_whole_ = true;
  different_.clear();
  finished_ = 0;
  pool_running_.assign(manifest_.pools().size(), 0);
  if (auto planned = plan_anew(); !planned) return tl::unexpected(planned.error());
  if (options_.is_dry) {
    bool any = false;
    for (const StepId step : plan_.order()) {
      const State state = plan_.state(step);
      if (manifest_.is_phony(step) || !plan_.may_run(step) ||
          (state != State::due && state != State::waiting))
        continue;
      any = true;
      listener_.on_start(step, counts());
      ++finished_;
      listener_.on_finish(step, counts(), 0, "");
    }
    return any ? BuildOutcome::done : BuildOutcome::nothing_to_do;
  }
  return work_off();
}

Result<BuildOutcome> Build::work_off() {
  bool is_interrupted = false;
  auto give_up = std::chrono::steady_clock::time_point::max();
  for (;;) {
    const int patience = hear_changes();
    if (needs_plan_ && !is_stopped_) {
      if (auto planned = plan_anew(); !planned) {
        trouble_ = std::move(planned);
        is_stopped_ = true;
      }
    }
    cancel_touched();
    while (!is_stopped_ && !needs_plan_ && patience < 0 && start_some()) continue;
    if (needs_plan_ && !is_stopped_) continue;
    if (processes_.running() == 0 && (patience < 0 || is_stopped_ || ready_.empty())) break;
    int timeout = listener_.on_tick(counts());
    if (patience >= 0 && (timeout < 0 || timeout > patience)) timeout = patience;
    const bool asks = options_.load_max > 0 || options_.memory_min_bytes != 0;
    if (asks && !ready_.empty() && (timeout < 0 || timeout > kLoadPauseMs)) timeout = kLoadPauseMs;
    if (is_interrupted) timeout = 200;
    auto ended =
        processes_.wait(timeout, waits_for_token_ && !is_stopped_ && !ready_.empty() ? jobserver_->fd() : -1,
                        changes_ == nullptr || is_stopped_ ? -1 : changes_->fd());
    if (StopSignals::received() != 0 && !is_interrupted) {
      is_interrupted = true;
      give_up = std::chrono::steady_clock::now() + kPatience;
      interrupt();
    }
    if (std::chrono::steady_clock::now() > give_up) processes_.signal_all(SIGKILL);
    if (!ended) continue;
    if (auto finished = finish(std::move(*ended)); !finished) {
      trouble_ = std::move(finished);
      is_stopped_ = true;
    }
  }
  present_.settle();
  log_.flush();
  if (StopSignals::received() != 0) is_interrupted = true;
  if (!trouble_) return tl::unexpected(trouble_.error());
  if (failures_ != 0 && !is_interrupted) return BuildOutcome::failed;
  if (is_interrupted || is_stopped_) return BuildOutcome::interrupted;
  return finished_ == 0 ? BuildOutcome::nothing_to_do : BuildOutcome::done;
}

}  // namespace larder::build
