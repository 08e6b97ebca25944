#include "build/plan.hpp"

#include <algorithm>

#include "build/dyndep.hpp"
#include "build/stand_in.hpp"
#include "build/text_file.hpp"

namespace larder::build {

void Plan::append_discovered(StepId step, std::vector<TargetId>& targets) const {
  const auto learned = learned_.find(step);
  if (learned != learned_.end()) {
    targets.insert(targets.end(), learned->second.begin(), learned->second.end());
    return;
  }
  if (const auto run = history_.run(manifest_.outputs(step)[0]))
    for (const ContentId content : run->discovered) targets.push_back(history_[content].target);
}

Result<void> Plan::name_cycle(std::span<const StepId> open, StepId again) const {
  const auto first = std::find(open.begin(), open.end(), again);
  std::string path;
  for (auto step = first; step != open.end(); ++step)
    path += std::string(manifest_.path(manifest_.outputs(*step)[0])) + " -> ";
  path += manifest_.path(manifest_.outputs(again)[0]);
  return fail(Code::invalid_argument, "these steps need each other: " + path);
}

// Depth first, without the machine's stack: chains may be a million steps long.
Result<void> Plan::reach(std::span<const TargetId> roots) {
  enum : std::uint8_t { unseen, open, closed };
  std::vector<std::uint8_t> marks(manifest_.step_count(), unseen);
  struct Visit {
    StepId step;
    std::uint32_t next;        // of its inputs, then of what was discovered
    std::uint32_t discovered;  // where that begins in `found`
  };
  std::vector<Visit> visits;
  std::vector<TargetId> found;  // discovered targets of open steps, as a stack
  std::vector<TargetId> more;   // validations to come
  order_.clear();
  const auto enter = [&](StepId step) {
    marks[step] = open;
    visits.push_back({step, 0, static_cast<std::uint32_t>(found.size())});
    append_discovered(step, found);
  };
  const auto visit = [&](TargetId root) -> Result<void> {
    const StepId first = manifest_.producer(root);
    if (first == kNone || marks[first] != unseen) return {};
    enter(first);
    while (!visits.empty()) {
      Visit& at = visits.back();
      const auto inputs = manifest_.all_inputs(at.step);
      const std::size_t count = inputs.size() + (found.size() - at.discovered);
      if (at.next == count) {
        marks[at.step] = closed;
        order_.push_back(at.step);
        const auto validations = manifest_.validations(at.step);
        more.insert(more.end(), validations.begin(), validations.end());
        found.resize(at.discovered);
        visits.pop_back();
        continue;
      }
      const std::uint32_t i = at.next++;
      const bool is_declared = i < inputs.size();
      const TargetId input = is_declared ? inputs[i] : found[at.discovered + i - inputs.size()];
      const StepId producer = manifest_.producer(input);
      if (producer == kNone || marks[producer] == closed) continue;
      if (marks[producer] == unseen) {
        enter(producer);
      } else if (is_declared) {
        std::vector<StepId> path;
        for (const Visit& one : visits) path.push_back(one.step);
        return name_cycle(path, producer);
      }
      // A cycle through what was discovered some time is no cycle: the step forgets it by running.
    }
    return {};
  };
  for (const TargetId root : roots)
    if (auto reached = visit(root); !reached) return reached;
  while (!more.empty()) {
    const TargetId root = more.back();
    more.pop_back();
    if (auto reached = visit(root); !reached) return reached;
  }
  return {};
}

void Plan::look_at_all() {
  for (const StepId step : order_) {
    const bool is_phony = manifest_.is_phony(step);
    for (const TargetId target : manifest_.all_inputs(step)) {
      const StepId producer = manifest_.producer(target);
      if (producer == kNone || !manifest_.is_phony(producer)) present_.want(target);
    }
    if (is_phony) continue;
    for (const TargetId target : manifest_.outputs(step)) present_.want(target);
    scratch_.clear();
    append_discovered(step, scratch_);
    for (const TargetId target : scratch_) present_.want(target);
    if (const auto run = history_.run(manifest_.outputs(step)[0]))
      for (const ContentId content : run->inputs.subspan(run->declared))
        present_.want(history_[content].target);
  }
  present_.look_at_wanted();
}

bool Plan::is_open(TargetId target) const noexcept {
  const StepId producer = manifest_.producer(target);
  return producer != kNone && is_open_state(states_[producer]);
}

Digest Plan::command_digest(StepId step, std::string_view command) const {
  std::string response;
  if (manifest_.step(step).rule != nullptr && manifest_.is_set(step, "rspfile"))
    response = manifest_.value(step, "rspfile_content");
  return ingredients_.command(command, response);
}

bool Plan::is_alias_taken(StepId step) const noexcept {
  const auto outputs = manifest_.outputs(step);
  return std::any_of(outputs.begin(), outputs.end(),
                     [&](TargetId output) { return manifest_.is_used(output); });
}

void Plan::set_alias(StepId step) {
  if (!manifest_.all_inputs(step).empty() && !is_alias_taken(step)) return;
  const auto inputs = manifest_.inputs(step);
  std::string digests;
  bool is_known = true;
  for (const TargetId input : inputs) {
    const ContentId content = present_.is_looked(input) ? taken(input) : kMissing;
    if (content == kMissing) {
      is_known = false;
      break;
    }
    const Digest& digest = history_[content].digest;
    digests.append(reinterpret_cast<const char*>(&digest), sizeof digest);
  }
  const bool has_inputs = !manifest_.all_inputs(step).empty();
  for (const TargetId output : manifest_.outputs(step)) {
    if (!has_inputs) {
      // Nothing makes it: it is there, or whoever takes it runs each time.
      present_.look_again(output);
    } else if (!is_known) {
      present_.set(output, kMissing);
    } else {
      present_.set(output, history_.content(output, format::checksum(as_bytes(digests))));
    }
  }
}

Verdict Plan::judge(StepId step) {
  if (is_part_ && !touched_[step]) return {};
  if (manifest_.is_phony(step)) {
    set_alias(step);
    if (is_part_) touch_behind(step);
    return {};
  }
  return judge_with(step, false);
}

// As ninja has it: a step that makes the manifest is not run for its command's sake, and where nobody
// recorded a run, outputs that are younger than the inputs count as made by one. What another of them just
// wrote counts by its time, too: so CMake says that a list of files is another.
Verdict Plan::judge_generator(StepId step, const Run* run) {
  const auto inputs = manifest_.inputs(step);
  const auto outputs = manifest_.outputs(step);
  for (const TargetId output : outputs)
    if (present_[output] == kMissing) return {Cause::output_missing, output, kNone, kNone};
  if (run != nullptr && run->declared == inputs.size()) {
    bool is_same = true;
    for (std::size_t i = 0; i < inputs.size() && is_same; ++i)
      is_same = run->inputs[i] == present_[inputs[i]] && !rewritten_.contains(inputs[i]);
    if (is_same) return {};
  }
  std::int64_t oldest = INT64_MAX;
  for (const TargetId output : outputs) oldest = std::min(oldest, present_.whole_print(output).modified_ns);
  for (const TargetId input : inputs) {
    if (present_[input] == kMissing) return {Cause::always, input, kNone, kNone};
    if (present_.whole_print(input).modified_ns > oldest)
      return {Cause::input_changed, input, kNone, present_[input]};
  }
  std::vector<ContentId> ins;
  std::vector<ContentId> outs;
  for (const TargetId input : inputs) ins.push_back(present_[input]);
  for (const TargetId output : outputs) outs.push_back(present_[output]);
  Run adopted;
  adopted.inputs = ins;
  adopted.declared = static_cast<std::uint32_t>(ins.size());
  adopted.outputs = outs;
  adopted.is_generator = true;
  history_.keep(outputs[0], adopted);
  return {};
}

ContentId Plan::taken(TargetId input) {
  return taken_content(manifest_, history_, present_, input);
}

Verdict Plan::judge_with(StepId step, bool some_are_open) {
  const Verdict verdict = judge_by_content(step, some_are_open);
  if (verdict.must_run() || !is_forced_ || manifest_.is_set(step, "generator")) return verdict;
  return {Cause::checked, kNone, kNone, kNone};
}

Verdict Plan::judge_by_content(StepId step, bool some_are_open) {
  const auto inputs = manifest_.inputs(step);
  const auto outputs = manifest_.outputs(step);
  const auto run = history_.run(outputs[0]);
  if (manifest_.is_set(step, "generator")) {
    if (some_are_open) return {};
    return judge_generator(step, run ? &*run : nullptr);
  }
  for (const TargetId output : outputs)
    if (present_[output] == kMissing) return {Cause::output_missing, output, kNone, kNone};
  if (!run) return {Cause::never_made, outputs[0], kNone, kNone};
  if (run->outputs.size() != outputs.size()) return {Cause::inputs_changed, outputs[0], kNone, kNone};
  const std::string command = manifest_.value(step, "command");
  if (run->command != command_digest(step, command))
    return {Cause::command_changed, outputs[0], kNone, kNone};
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (present_[outputs[i]] != run->outputs[i])
      return {Cause::output_changed, outputs[i], run->outputs[i], present_[outputs[i]]};
  if (run->declared != inputs.size()) return {Cause::inputs_changed, outputs[0], kNone, kNone};
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (some_are_open && is_open(inputs[i])) {
      if (history_[run->inputs[i]].target != inputs[i])
        return {Cause::inputs_changed, inputs[i], kNone, kNone};
      continue;
    }
    const ContentId now = taken(inputs[i]);
    if (now == kMissing) return {Cause::always, inputs[i], kNone, kNone};
    if (now == run->inputs[i]) continue;
    if (history_[run->inputs[i]].target != inputs[i]) return {Cause::inputs_changed, inputs[i], kNone, kNone};
    return {Cause::input_changed, inputs[i], run->inputs[i], now};
  }
  scratch_.clear();
  ingredients_.append_programs(command, scratch_);
  const auto programs = run->inputs.subspan(run->declared);
  if (programs.size() != scratch_.size()) return {Cause::inputs_changed, outputs[0], kNone, kNone};
  present_.look(scratch_);
  for (std::size_t i = 0; i < programs.size(); ++i)
    if (present_[scratch_[i]] != programs[i])
      return {Cause::input_changed, scratch_[i], programs[i], present_[scratch_[i]]};
  for (const ContentId before : run->discovered) {
    const TargetId target = history_[before].target;
    if (some_are_open && is_open(target)) continue;
    if (!present_.is_looked(target)) present_.look(std::span(&target, 1));
    if (!present_.is_as(before)) return {Cause::input_changed, target, before, present_[target]};
  }
  return {};
}

tl::unexpected<Error> Plan::nothing_makes(TargetId input, StepId step) const {
  return fail(Code::not_found, std::string(manifest_.path(input)) + ", needed by " +
                                   std::string(manifest_.path(manifest_.outputs(step)[0])) +
                                   ", is missing and no step makes it");
}

// In order, so that everything before a step is decided before it. True: a dyndep file was loaded, and the
// plan must be made anew.
Result<bool> Plan::decide() {
  bool has_loaded = false;
  std::vector<TargetId> discovered;
  for (const StepId step : order_) {
    State& state = states_[step];
    if (state == State::running || state == State::done || state == State::failed) continue;
    bool is_blocked = false;
    bool may_run = false;
    const auto look_before = [&](TargetId input, bool is_content) {
      const StepId producer = manifest_.producer(input);
      if (producer == kNone || producer == step || !is_open_state(states_[producer])) return;
      is_blocked = true;
      if (is_content && (may_run_[producer] || states_[producer] == State::running)) may_run = true;
    };
    for (const TargetId input : manifest_.inputs(step)) look_before(input, true);
    for (const TargetId input : manifest_.order_only(step)) look_before(input, false);
    const StepShape& facts = manifest_.step(step);
    if (facts.dyndep != kNone && !facts.is_dyndep_loaded && !is_open(facts.dyndep)) {
      if (auto loaded = load_dyndep(facts.dyndep); !loaded) return tl::unexpected(loaded.error());
      has_loaded = true;
      continue;
    }
    if (manifest_.is_phony(step)) {
      for (const TargetId input : manifest_.all_inputs(step)) {
        if (manifest_.producer(input) == kNone && present_.is_looked(input) && present_[input] == kMissing)
          return nothing_makes(input, step);
      }
      state = is_blocked ? State::waiting : State::clean;
      may_run_[step] = may_run;
      if (!is_blocked) set_alias(step);
      continue;
    }
    for (const TargetId input : manifest_.all_inputs(step)) {
      if (manifest_.producer(input) != kNone || present_[input] != kMissing) continue;
      return nothing_makes(input, step);
    }
    discovered.clear();
    append_discovered(step, discovered);
    for (const TargetId input : discovered) look_before(input, true);
    const bool is_unknown = facts.dyndep != kNone && !facts.is_dyndep_loaded;
    const Verdict verdict = judge_with(step, is_blocked || is_unknown);
    state = verdict.must_run() ? State::due : is_blocked || is_unknown ? State::waiting : State::clean;
    may_run_[step] = state == State::due || may_run || is_unknown;
  }
  return has_loaded;
}

void Plan::connect() {
  const std::size_t count = manifest_.step_count();
  blocked_.assign(count, 0);
  first_follower_.assign(count + 1, 0);
  follower_count_.assign(count, 0);
  followers_.clear();
  urgency_.assign(count, 0);
  std::vector<TargetId> discovered;
  std::vector<std::uint32_t> place(count);
  for (std::size_t i = 0; i < order_.size(); ++i) place[order_[i]] = static_cast<std::uint32_t>(i);
  const auto each_edge = [&](const auto& on_edge) {
    for (const StepId step : order_) {
      if (states_[step] != State::waiting && states_[step] != State::due) continue;
      const auto look_before = [&](TargetId input, bool is_declared) {
        const StepId producer = manifest_.producer(input);
        if (producer == kNone || !is_open_state(states_[producer])) return;
        // What was discovered and comes later in the order is a cycle of old times.
        if (!is_declared && place[producer] >= place[step]) return;
        on_edge(producer, step);
      };
      for (const TargetId input : manifest_.all_inputs(step)) look_before(input, true);
      if (manifest_.is_phony(step)) continue;
      discovered.clear();
      append_discovered(step, discovered);
      for (const TargetId input : discovered) look_before(input, false);
    }
  };
  each_edge([&](StepId producer, StepId) {
    ++first_follower_[producer + 1];
    ++follower_count_[producer];
  });
  for (std::size_t i = 1; i <= count; ++i) first_follower_[i] += first_follower_[i - 1];
  followers_.resize(first_follower_[count]);
  std::vector<std::uint32_t> next(first_follower_.begin(), first_follower_.end() - 1);
  each_edge([&](StepId producer, StepId step) {
    followers_[next[producer]++] = step;
    ++blocked_[step];
  });
  for (auto step = order_.rbegin(); step != order_.rend(); ++step) {
    if (!is_open_state(states_[*step])) continue;
    urgency_[*step] = urgency_of(*step);
  }
}

std::uint32_t Plan::urgency_of(StepId step) const {
  std::uint64_t behind = 0;
  for (const StepId follower : followers(step)) behind = std::max<std::uint64_t>(behind, urgency_[follower]);
  const auto run = history_.run(manifest_.outputs(step)[0]);
  behind += manifest_.is_phony(step) ? 0 : run ? run->duration_ms + 1 : 1;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(behind, UINT32_MAX));
}

Result<void> Plan::make(std::span<const TargetId> roots) {
  roots_.assign(roots.begin(), roots.end());
  is_part_ = false;
  for (;;) {
    states_.resize(manifest_.step_count(), State::unwanted);
    for (State& state : states_)
      if (state == State::waiting || state == State::due) state = State::unwanted;
    may_run_.assign(manifest_.step_count(), false);
    if (auto reached = reach(roots_); !reached) return reached;
    look_at_all();
    const Result<bool> decided = decide();
    if (!decided) return tl::unexpected(decided.error());
    if (!*decided) break;
  }
  const bool is_clean =
      std::none_of(order_.begin(), order_.end(), [&](StepId step) { return is_open_state(states_[step]); });
  if (!is_clean) connect();
  return {};
}

Result<void> Plan::load_dyndep(TargetId file) {
  const std::string path(manifest_.path(file));
  const Result<std::string> text = read_text_file(path);
  if (!text) return fail(Code::io, "the dyndep file " + path + " cannot be read: " + text.error().what);
  const auto entries = read_dyndep(path, *text);
  if (!entries) return tl::unexpected(entries.error());
  std::vector<StepId> named;
  for (const DyndepEntry& entry : *entries) {
    const TargetId output = manifest_.find(entry.output);
    const StepId step = output == kNone ? kNone : manifest_.producer(output);
    if (step == kNone || manifest_.step(step).dyndep != file)
      return fail(Code::invalid_argument,
                  path + " speaks of " + entry.output + ", whose step does not name this dyndep file");
    if (std::find(named.begin(), named.end(), step) != named.end())
      return fail(Code::invalid_argument, path + " speaks of " + entry.output + " twice");
    named.push_back(step);
    std::vector<TargetId> inputs;
    std::vector<TargetId> outputs;
    for (const std::string& input : entry.implicit_inputs) inputs.push_back(manifest_.target(input));
    for (const std::string& made : entry.implicit_outputs) outputs.push_back(manifest_.target(made));
    if (auto added = manifest_.add_dyndep(step, inputs, outputs); !added)
      return fail(Code::invalid_argument, path + ": " + added.error().what);
  }
  for (StepId step = 0; step < manifest_.step_count(); ++step) {
    const StepShape& facts = manifest_.step(step);
    if (facts.dyndep == file && !facts.is_dyndep_loaded)
      return fail(Code::invalid_argument, path + " says nothing of " +
                                              std::string(manifest_.path(manifest_.outputs(step)[0])) +
                                              ", whose step names it");
  }
  return {};
}

std::string Plan::explain(StepId step, const Verdict& verdict) const {
  std::string output(manifest_.path(manifest_.outputs(step)[0]));
  const std::string target = verdict.target == kNone ? output : std::string(manifest_.path(verdict.target));
  const auto content = [&](ContentId id) {
    return id == kNone                                          ? std::string("unknown")
           : id == kMissing || history_[id].digest == kNotThere ? std::string("missing")
           : history_[id].digest == kSomethingThere             ? std::string("there")
                                                                : hex(history_[id].digest).substr(0, 12);
  };
  const std::string change = " (" + content(verdict.before) + " -> " + content(verdict.after) + ')';
  switch (verdict.cause) {
    case Cause::none:
      return output + " is as it should be";
    case Cause::never_made:
      return output + " runs: no run of its step is known";
    case Cause::command_changed:
      return output + " runs: its command, or the environment it runs in, is another";
    case Cause::inputs_changed:
      return output + " runs: its inputs or outputs are others, at " + target;
    case Cause::input_changed:
      return output + " runs: " + target + " changed" + change;
    case Cause::output_missing:
      return output + " runs: " + target + " is missing";
    case Cause::output_changed:
      return output + " runs: its output " + target + " was changed" + change;
    case Cause::always:
      return output + " runs: nobody can say what " + target + " is";
    case Cause::checked:
      return output + " runs: to see whether it comes out the same";
  }
  return output;
}

}  // namespace larder::build
