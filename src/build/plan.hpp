// The plan of a build: which steps the wanted targets need, in which order, and which of them must run, by
// content. A plan is made anew whenever more becomes known of the graph while it is worked off; what is done
// stays done. Used by one thread.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "build/ingredients.hpp"
#include "build/present.hpp"
#include "larder/result.hpp"

namespace larder::build {

enum class State : std::uint8_t {
  unwanted,  // nothing asks for it
  clean,     // its outputs are what its command would make; or an alias whose inputs are there
  waiting,   // something before it is not done, and only then it can be told whether it must run
  due,       // it must run, whatever comes of what is before it
  running,
  done,  // it ran, or was cut off: everything before it came out the same
  failed,
};
// Whether a step in it is known to be as it should be.
constexpr bool is_made(State state) noexcept {
  return state == State::clean || state == State::done;
}
// Whether something is still to be done for it, or failed to be.
constexpr bool is_open_state(State state) noexcept {
  return state == State::waiting || state == State::due || state == State::running || state == State::failed;
}

enum class Cause : std::uint8_t {
  none,
  never_made,
  command_changed,
  inputs_changed,  // the list, not what is in them
  input_changed,
  output_missing,
  output_changed,
  always,   // it takes something that nobody can say the content of
  checked,  // nothing decisive is another; it runs to show that
};

// Why a step must run.
struct Verdict {
  Cause cause = Cause::none;
  TargetId target = kNone;  // the input or output
  ContentId before = kNone;
  ContentId after = kNone;
  bool must_run() const noexcept { return cause != Cause::none; }
};

class Plan {
 public:
  Plan(Manifest& manifest, History& history, Present& present, Ingredients& ingredients) noexcept
      : manifest_(manifest), history_(history), present_(present), ingredients_(ingredients) {}

  // Works out what `roots` need. Loads dyndep files that are there already. Errors: a cycle, named by its
  // path; a source that is missing; a bad dyndep file.
  Result<void> make(std::span<const TargetId> roots);

  State state(StepId step) const noexcept { return states_[step]; }
  void set_state(StepId step, State state) noexcept {
    states_[step] = state;
    if ((state == State::done || state == State::running) && step < touched_.size()) touched_[step] = false;
  }
  // Wanted steps, every one behind those that it needs.
  std::span<const StepId> order() const noexcept { return order_; }
  // How many steps before it are not done.
  std::uint32_t& blocked(StepId step) noexcept { return blocked_[step]; }
  // Steps that wait for this one, one as often as it takes its outputs.
  std::span<const StepId> followers(StepId step) const noexcept {
    return {followers_.data() + first_follower_[step], follower_count_[step]};
  }
  // Whether it may come to run, as far as is known.
  bool may_run(StepId step) const noexcept { return may_run_[step]; }
  // Milliseconds from its start to the end of the last step behind it, by what earlier runs took.
  std::uint32_t urgency(StepId step) const noexcept { return urgency_[step]; }

  // Whether a step whose inputs are all done must run. Of an alias: none, and its content is known from then
  // on.
  Verdict judge(StepId step);
  std::string explain(StepId step, const Verdict& verdict) const;

  // What a step's last run, or its depfile just now, named besides its inputs.
  void learn(StepId step, std::vector<TargetId> discovered) { learned_[step] = std::move(discovered); }
  void unlearn(StepId step) { learned_.erase(step); }
  void append_discovered(StepId step, std::vector<TargetId>& targets) const;
  // Takes what a dyndep file says. The plan must be made anew afterwards.
  Result<void> load_dyndep(TargetId file);
  // Of a step whose command is that text.
  Digest command_digest(StepId step, std::string_view command) const;

  // A step that makes the manifest wrote it anew, be it the same: it has something to say by that.
  void note_rewritten(TargetId target) { rewritten_.insert(target); }

  // From now on every step that is wanted must run, but for those that make manifests.
  void force() noexcept { is_forced_ = true; }

  // For a process that builds again and again (plan_part.cpp): after keep(), make_part() plans only what was
  // touched since and what is behind that, and judges only what something decisive changed for.
  void keep();
  bool is_kept() const noexcept { return !places_.empty(); }
  // Something that decides the step is another, or it was not finished.
  void touch(StepId step);
  void touch_consumers(TargetId target);
  // Touches whoever takes an output that is not as its consumers last heard.
  void touch_behind(StepId step);
  // O(what is touched and behind it). False: only make() can tell.
  Result<bool> make_part();
  // As make() and keep(), where every step that is wanted is known to be as it should be with the contents
  // that Present has. False: it does not have all of them, or the graph is not all in the manifest.
  Result<bool> adopt(std::span<const TargetId> roots);
  // What a step was just found to read. False: only make() can tell what comes before what now.
  bool take_discovered(StepId step);
  // Since it began to run, or was done.
  bool is_touched(StepId step) const noexcept { return step < touched_.size() && touched_[step]; }
  bool any_touched() const noexcept {
    return std::find(touched_.begin(), touched_.end(), true) != touched_.end();
  }
  // Before make(), when some that are done were touched.
  void reopen_touched();
  bool is_wanted(StepId step) const noexcept { return step < places_.size() && places_[step] != kNone; }
  // A dyndep file that was read is another now: the manifest must be read again.
  bool needs_manifest() const noexcept { return needs_manifest_; }

 private:
  Result<void> reach(std::span<const TargetId> roots);
  Result<void> name_cycle(std::span<const StepId> open, StepId again) const;
  void look_at_all();
  tl::unexpected<Error> nothing_makes(TargetId input, StepId step) const;
  Result<bool> decide();
  std::uint32_t urgency_of(StepId step) const;
  Verdict judge_generator(StepId step, const Run* run);
  Verdict judge_with(StepId step, bool some_are_open);
  Verdict judge_by_content(StepId step, bool some_are_open);
  bool is_open(TargetId target) const noexcept;
  void set_alias(StepId step);
  ContentId taken(TargetId input);
  bool is_alias_taken(StepId step) const noexcept;
  void connect();
  std::vector<StepId> touched_and_behind();
  Result<void> judge_part(StepId step);
  template <typename Visit>
  void each_consumer(TargetId target, const Visit& visit) const;

  Manifest& manifest_;
  History& history_;
  Present& present_;
  Ingredients& ingredients_;
  std::vector<State> states_;
  std::vector<StepId> order_;
  std::vector<bool> may_run_;
  std::unordered_set<TargetId> rewritten_;
  std::vector<std::uint32_t> blocked_;
  std::vector<std::uint32_t> first_follower_;
  std::vector<std::uint32_t> follower_count_;
  std::vector<StepId> followers_;
  std::vector<std::uint32_t> urgency_;
  std::unordered_map<StepId, std::vector<TargetId>> learned_;
  std::vector<TargetId> roots_;
  std::vector<TargetId> scratch_;

  bool is_part_ = false;  // the present plan is one of make_part()
  bool needs_manifest_ = false;
  bool is_forced_ = false;
  std::vector<std::uint32_t> places_;  // by step: in the order of all that is wanted; kNone: it is not
  std::vector<bool> touched_;          // by step
  std::vector<StepId> touched_list_;
  std::vector<ContentId> heard_;  // by target: the content that its consumers were touched for
  // Steps by what they take, as a list behind each target; what was discovered since stands in more_.
  std::vector<std::uint32_t> first_consumer_;
  std::vector<StepId> consumers_;
  std::unordered_map<TargetId, std::vector<StepId>> more_consumers_;
  std::vector<std::uint32_t> reached_;  // by step: in which part
  std::uint32_t part_ = 0;
};

}  // namespace larder::build
