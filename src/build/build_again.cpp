// A build that goes on: what it is told of changes while commands run, and making again what is behind them.
// I1  A command that something it reads changed for while it ran is never recorded: it is touched, so it runs
//     again, whatever it came to.
// I2  What commands leave behind, failed ones too, is looked at when they end. So the kernel's word of it is
// no
//     news later, and no build is the reason of the next.
#include <algorithm>
#include <csignal>

#include "build/build.hpp"

namespace larder::build {
Result<void> Build::plan_roots() {
  if (changes_ == nullptr && !plan_.is_kept()) return plan_.make(roots_);
  if (plan_.is_kept() && !needs_whole_) {
    const Result<bool> made = plan_.make_part();
    if (!made) return tl::unexpected(made.error());
    if (*made) return {};
  }
  needs_whole_ = false;
  plan_.reopen_touched();
  if (auto made = plan_.make(roots_); !made) return made;
  plan_.keep();
  return {};
}

// Looks at what was touched; what differs touches those who take it.
void Build::heed(const Touched& touched) {
  std::vector<TargetId> targets;
  const auto consider_one = [&](TargetId target) {
    if (!present_.is_looked(target)) return;  // nothing wanted takes it
    const StepId producer = manifest_.producer(target);
    if (producer != kNone) {
      if (manifest_.is_phony(producer) && !manifest_.all_inputs(producer).empty()) return;
      // Those are looked at when it ends.
      if (producer < manifest_.step_count() && plan_.state(producer) == State::running) return;
    }
    targets.push_back(target);
  };
  if (touched.everything) {
    for (TargetId target = 0; target < manifest_.target_count(); ++target) consider_one(target);
  } else {
    for (const TargetId target : touched.targets) consider_one(target);
  }
  std::vector<ContentId> before;
  before.reserve(targets.size());
  for (const TargetId target : targets) {
    before.push_back(present_[target]);
    present_.forget(target);
  }
  present_.look(targets);
  const auto now = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const TargetId target = targets[i];
    if (present_[target] == before[i]) continue;
    needs_plan_ = true;
    changed_at_[target] = now;
    const StepId producer = manifest_.producer(target);
    if (producer != kNone && !manifest_.is_phony(producer)) {
      plan_.touch(producer);
    } else {
      plan_.touch_consumers(target);
    }
  }
}

int Build::hear_changes() {
  if (changes_ == nullptr || is_stopped_) return -1;
  const int patience = changes_->patience_ms();
  if (patience != 0) return patience;
  heed(changes_->take());
  if (changes_->has_new_manifest() || plan_.needs_manifest()) is_stopped_ = true;
  return -1;
}

void Build::cancel_touched() {
  if (changes_ == nullptr) return;
  const auto now = std::chrono::steady_clock::now();
  const bool is_late = now > cancel_until_;
  bool any = false;
  for (std::size_t number = 0; number < jobs_.size(); ++number) {
    if (!jobs_[number]) continue;
    Job& job = *jobs_[number];
    if (job.is_cancelled) {
      any = true;
      if (is_late) processes_.signal_one(static_cast<unsigned>(number), SIGKILL);
    } else if (plan_.is_touched(job.step)) {
      any = true;
      job.is_cancelled = true;
      cancel_until_ = now + kPatience;
      processes_.signal_one(static_cast<unsigned>(number), SIGTERM);
    }
  }
  if (!any) cancel_until_ = std::chrono::steady_clock::time_point::max();
}

void Build::drop_superseded(const Job& job, int code) {
  if (code != 0) remove_halves(job);
  if (!job.response.empty() && !options_.keeps_responses) ::unlink(job.response.c_str());
  for (const TargetId output : manifest_.outputs(job.step)) present_.look_again(output);
  plan_.set_state(job.step, State::unwanted);
  needs_plan_ = true;
  listener_.on_cancel(job.step);
}

void Build::tell_outputs(StepId step, std::span<const ContentId> before) {
  for (const TargetId output : manifest_.outputs(step)) {
    if (std::find(before.begin(), before.end(), present_[output]) != before.end()) continue;
    different_.push_back(output);
    if (changes_ != nullptr) changed_at_[output] = std::chrono::steady_clock::now();
  }
  if (plan_.is_kept()) plan_.touch_behind(step);
}

bool Build::has_changed_since(const Job& job, TargetId target) const {
  const auto found = changed_at_.find(target);
  return found != changed_at_.end() && found->second >= job.started;
}

bool Build::has_unfinished() const {
  const auto order = plan_.order();
  return std::any_of(order.begin(), order.end(), [&](StepId step) { return !is_made(step); });
}

bool Build::is_wanted(TargetId target) const {
  const StepId producer = manifest_.producer(target);
  return producer == kNone ? present_.is_looked(target) : plan_.is_wanted(producer);
}

bool Build::has_failed(std::span<const TargetId> targets) const {
  std::unordered_set<StepId> seen;
  std::vector<TargetId> open(targets.begin(), targets.end());
  while (!open.empty()) {
    const StepId step = manifest_.producer(open.back());
    open.pop_back();
    if (step == kNone || is_made(step) || !seen.insert(step).second) continue;
    if (plan_.state(step) == State::failed) return true;
    const auto inputs = manifest_.all_inputs(step);
    open.insert(open.end(), inputs.begin(), inputs.end());
    plan_.append_discovered(step, open);
  }
  return false;
}

bool Build::can_be_sealed() {
  if (!plan_.is_kept() || needs_plan_ || is_stopped_ || plan_.any_touched()) return false;
  for (StepId step = 0; step < manifest_.step_count(); ++step)
    if (plan_.is_wanted(step) && !(is_made(step) && is_as_recorded(step))) return false;
  present_.settle_rest();
  log_.flush();
  return true;
}

Result<BuildOutcome> Build::make_again(const Touched& touched) {
  finished_ = failures_ = 0;
  is_stopped_ = false;
  trouble_ = Result<void>();
  attempts_.clear();
  ran_.clear();
  made_.clear();
  parents_.clear();
  different_.clear();
  changed_at_.clear();
  ingredients_.forget_programs();
  pool_running_.assign(manifest_.pools().size(), 0);
  bool has_unfinished = false;
  for (const StepId step : plan_.order()) {
    const State state = plan_.state(step);
    if (state == State::done) plan_.set_state(step, State::clean);
    if (state == State::done || state == State::clean) continue;
    if (state == State::failed) plan_.set_state(step, State::unwanted);
    has_unfinished = true;
  }
  heed(touched);
  if (touched.asked) {
    for (const StepId step : unrecorded_) plan_.touch(step);
    needs_plan_ = needs_plan_ || !unrecorded_.empty();
  }
  if (changes_->has_new_manifest() || plan_.needs_manifest()) return BuildOutcome::interrupted;
  if (!needs_plan_ && !(has_unfinished && (touched.strangers || touched.asked))) {
    log_.flush();
    return BuildOutcome::nothing_to_do;
  }
  if (auto planned = plan_anew(); !planned) {
    needs_plan_ = false;
    return tl::unexpected(planned.error());
  }
  return work_off();
}

}  // namespace larder::build
