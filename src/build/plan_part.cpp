// A plan that is kept while its process goes on: after a change only what was touched and what is behind it
// is planned, in the order that was found once, and only what something decisive changed for is judged.
//
// I1  An untouched step that was clean or done is so still: of everything that decides it, nobody was heard
// to
//     differ (heard_) since.
// I2  Every step behind a touched one is in the part, so that it waits until it is known whether it was
// meant.
#include <algorithm>

#include "build/plan.hpp"

namespace larder::build {

template <typename Visit>
void Plan::each_consumer(TargetId target, const Visit& visit) const {
  if (target + 1 < first_consumer_.size())
    for (std::uint32_t i = first_consumer_[target]; i < first_consumer_[target + 1]; ++i)
      visit(consumers_[i]);
  if (const auto more = more_consumers_.find(target); more != more_consumers_.end())
    for (const StepId step : more->second) visit(step);
}

void Plan::keep() {
  const std::size_t steps = manifest_.step_count();
  places_.assign(steps, kNone);
  touched_.resize(steps, false);
  reached_.resize(steps, 0);
  first_follower_.resize(steps + 1, 0);
  follower_count_.resize(steps, 0);
  blocked_.resize(steps, 0);
  urgency_.resize(steps, 0);
  for (std::size_t i = 0; i < order_.size(); ++i) places_[order_[i]] = static_cast<std::uint32_t>(i);
  more_consumers_.clear();
  const auto each_edge = [&](const auto& on_edge) {
    std::vector<TargetId> taken;
    for (const StepId step : order_) {
      const auto inputs = manifest_.all_inputs(step);
      taken.assign(inputs.begin(), inputs.end());
      if (!manifest_.is_phony(step)) {
        append_discovered(step, taken);
        if (const auto run = history_.run(manifest_.outputs(step)[0]))
          for (const ContentId program : run->inputs.subspan(run->declared))
            taken.push_back(history_[program].target);
      }
      for (const TargetId target : taken) on_edge(target, step);
    }
  };
  const std::size_t targets = manifest_.target_count();
  first_consumer_.assign(targets + 1, 0);
  each_edge([&](TargetId target, StepId) { ++first_consumer_[target + 1]; });
  for (std::size_t i = 1; i <= targets; ++i) first_consumer_[i] += first_consumer_[i - 1];
  consumers_.resize(first_consumer_[targets]);
  std::vector<std::uint32_t> next(first_consumer_.begin(), first_consumer_.end() - 1);
  each_edge([&](TargetId target, StepId step) { consumers_[next[target]++] = step; });
  const std::size_t heard = heard_.size();
  heard_.resize(targets, kNone);
  for (std::size_t target = heard; target < targets; ++target)
    if (present_.is_looked(static_cast<TargetId>(target)))
      heard_[target] = taken(static_cast<TargetId>(target));
}

Result<bool> Plan::adopt(std::span<const TargetId> roots) {
  states_.assign(manifest_.step_count(), State::unwanted);
  may_run_.assign(manifest_.step_count(), false);
  is_part_ = false;
  if (auto reached = reach(roots); !reached) return tl::unexpected(reached.error());
  const auto is_looked = [&](TargetId target) { return present_.is_looked(target); };
  const auto was_looked = [&](ContentId content) { return is_looked(history_[content].target); };
  for (const StepId step : order_) {
    if (manifest_.step(step).dyndep != kNone) return false;
    const auto inputs = manifest_.all_inputs(step);
    const auto outputs = manifest_.outputs(step);
    states_[step] = State::clean;
    if (manifest_.is_phony(step)) {
      if (!inputs.empty()) set_alias(step);
      if (inputs.empty() && !std::all_of(outputs.begin(), outputs.end(), is_looked)) return false;
      continue;
    }
    const auto run = history_.run(outputs[0]);
    if (!run || !std::all_of(outputs.begin(), outputs.end(), is_looked) ||
        !std::all_of(run->inputs.begin(), run->inputs.end(), was_looked) ||
        !std::all_of(run->discovered.begin(), run->discovered.end(), was_looked))
      return false;
    for (const TargetId input : inputs)
      if (manifest_.producer(input) == kNone && !is_looked(input)) return false;
  }
  keep();
  return true;
}

void Plan::touch(StepId step) {
  if (!is_wanted(step) || touched_[step]) return;
  touched_[step] = true;
  touched_list_.push_back(step);
}

void Plan::touch_consumers(TargetId target) {
  const bool is_missing = present_.is_looked(target) && present_[target] == kMissing;
  each_consumer(target, [&](StepId step) {
    const StepShape& facts = manifest_.step(step);
    if (facts.dyndep == target && facts.is_dyndep_loaded) needs_manifest_ = true;
    // Nobody asks for the content of an alias that nobody takes.
    if (manifest_.is_phony(step) && !is_missing && !is_alias_taken(step)) return;
    touch(step);
  });
}

void Plan::touch_behind(StepId step) {
  for (const TargetId output : manifest_.outputs(step)) {
    if (output >= heard_.size()) heard_.resize(manifest_.target_count(), kNone);
    const ContentId now = present_.is_looked(output) ? taken(output) : kNone;
    if (heard_[output] == now) continue;
    heard_[output] = now;
    touch_consumers(output);
  }
}

void Plan::reopen_touched() {
  for (StepId step = 0; step < touched_.size(); ++step)
    if (touched_[step] && states_[step] == State::done) states_[step] = State::unwanted;
}

std::vector<StepId> Plan::touched_and_behind() {
  ++part_;
  std::vector<StepId> reached;
  const auto reach = [&](StepId step) {
    if (!is_wanted(step) || reached_[step] == part_) return;
    reached_[step] = part_;
    reached.push_back(step);
  };
  for (const StepId step : order_) {
    const State state = states_[step];
    follower_count_[step] = blocked_[step] = 0;
    if (is_made(state)) continue;
    // What was not judged yet by a plan of the whole is judged now.
    if (state == State::due || state == State::unwanted || (state == State::waiting && !is_part_))
      touched_[step] = true;
    reach(step);
  }
  for (const StepId step : touched_list_)
    if (touched_[step]) reach(step);
  touched_list_.clear();
  for (std::size_t i = 0; i < reached.size(); ++i)
    for (const TargetId output : manifest_.outputs(reached[i])) each_consumer(output, reach);
  std::sort(reached.begin(), reached.end(), [&](StepId a, StepId b) { return places_[a] < places_[b]; });
  return reached;
}

Result<void> Plan::judge_part(StepId step) {
  const bool is_blocked = blocked_[step] != 0;
  const bool is_touched = touched_[step];
  if (is_touched) {
    for (const TargetId input : manifest_.all_inputs(step)) {
      if (manifest_.producer(input) != kNone || present_[input] != kMissing) continue;
      return fail(Code::not_found, std::string(manifest_.path(input)) + ", needed by " +
                                       std::string(manifest_.path(manifest_.outputs(step)[0])) +
                                       ", is missing and no step makes it");
    }
  }
  Verdict verdict;
  if (is_touched && !manifest_.is_phony(step)) verdict = judge_with(step, is_blocked);
  if (is_touched && !is_blocked && manifest_.is_phony(step)) {
    set_alias(step);
    touch_behind(step);
  }
  states_[step] = verdict.must_run() ? State::due : is_blocked ? State::waiting : State::clean;
  if (verdict.must_run()) may_run_[step] = true;
  if (states_[step] == State::clean) touched_[step] = false;
  return {};
}

Result<bool> Plan::make_part() {
  std::vector<StepId> part = touched_and_behind();
  order_ = std::move(part);
  is_part_ = true;
  followers_.clear();
  for (const StepId step : order_) {
    const State state = states_[step];
    may_run_[step] = state == State::running;
    urgency_[step] = 0;
    if (state != State::running && state != State::failed) states_[step] = State::unwanted;
  }
  for (const StepId step : order_) {
    const StepShape& facts = manifest_.step(step);
    if (facts.dyndep != kNone && !facts.is_dyndep_loaded) return false;
    if (states_[step] == State::unwanted)
      if (auto judged = judge_part(step); !judged) return tl::unexpected(judged.error());
    if (!is_open_state(states_[step])) continue;
    first_follower_[step] = static_cast<std::uint32_t>(followers_.size());
    for (const TargetId output : manifest_.outputs(step)) {
      each_consumer(output, [&](StepId follower) {
        // What was discovered and comes earlier in the order is a cycle of old times.
        if (places_[follower] <= places_[step]) return;
        followers_.push_back(follower);
        ++blocked_[follower];
        if (may_run_[step]) may_run_[follower] = true;
      });
    }
    follower_count_[step] = static_cast<std::uint32_t>(followers_.size()) - first_follower_[step];
  }
  for (auto step = order_.rbegin(); step != order_.rend(); ++step) {
    if (!is_open_state(states_[*step])) continue;
    urgency_[*step] = urgency_of(*step);
  }
  return true;
}

bool Plan::take_discovered(StepId step) {
  bool can_tell = true;
  std::vector<TargetId> taken;
  append_discovered(step, taken);
  if (const auto run = history_.run(manifest_.outputs(step)[0]))
    for (const ContentId program : run->inputs.subspan(run->declared))
      taken.push_back(history_[program].target);
  for (const TargetId target : taken) {
    bool is_known = false;
    if (target + 1 < first_consumer_.size()) {
      const auto begin = consumers_.begin() + first_consumer_[target];
      const auto end = consumers_.begin() + first_consumer_[target + 1];
      const auto found =
          std::lower_bound(begin, end, step, [&](StepId a, StepId b) { return places_[a] < places_[b]; });
      is_known = found != end && *found == step;
    }
    if (!is_known) {
      auto& more = more_consumers_[target];
      if (std::find(more.begin(), more.end(), step) == more.end()) more.push_back(step);
    }
    const StepId producer = manifest_.producer(target);
    if (producer == kNone || producer == step) continue;
    if (!is_wanted(producer) || places_[producer] >= places_[step]) can_tell = false;
  }
  return can_tell;
}

}  // namespace larder::build
