// Steps that need not run because a Cache holds what their commands made of the same: how a build asks for it
// before a command starts, and has it kept after one ended.
#include <algorithm>

#include "build/build.hpp"

namespace larder::build {

void Build::explain_restoring(StepId step, std::string_view what, const std::string& why) {
  if (!options_.explains || why.empty()) return;
  std::string text(manifest_.path(manifest_.outputs(step)[0]));
  listener_.on_explain(text.append(what) + why);
}

// False: its command must run, and asked_ holds the step.
bool Build::restore(StepId step) {
  // Most that cannot be restored shows at once; why is for those who ask.
  const bool can_trace = is_traced(step);
  if (!can_trace && !options_.explains && manifest_.plain_value(step, "depfile").empty()) {
    asked_.emplace(step, nullptr);
    return false;
  }
  const std::string command = manifest_.value(step, "command");
  Job job = describe(step, command);
  auto asked = std::make_shared<Restorer::Asked>();
  asked->step = step;
  asked->command = command;
  asked->depfile = job.depfile;
  asked->response = job.response;
  asked->can_trace = can_trace;
  asked->targets = job.targets;
  asked->inputs = job.inputs;
  asked->declared = job.declared;
  asked->keeps_depfile = !job.depfile.empty() && (options_.keeps_depfiles || !manifest_.is_set(step, "deps"));
  asked_[step] = asked;
  restorer_->ask(*asked);
  explain_restoring(step, " cannot be restored: ", asked->why_not);
  if (!asked->why_not.empty()) return false;
  for (const TargetId output : manifest_.outputs(step))
    if (!make_parents(std::string(manifest_.path(output)))) return false;
  if (!make_parents(job.depfile)) return false;

  const auto before = history_.run(manifest_.outputs(step)[0]);
  std::vector<ContentId> old_outputs;
  if (before) old_outputs.assign(before->outputs.begin(), before->outputs.end());
  const std::uint64_t expected = before ? before->duration_ms : 0;
  Restorer::Restored restored;
  std::string why;
  if (!restorer_->restore(*asked, restored, why)) {
    explain_restoring(step, " is not restored: ", why);
    return false;
  }
  asked_.erase(step);
  explain_restoring(step, " is restored: ", "its command has made it of the same before");
  record(job, restored.discovered, restored.outputs, restored.duration_ms);
  left_ms_ -= std::min(left_ms_, expected);
  ++finished_;
  if (ran_.size() <= step) ran_.resize(manifest_.step_count());
  ran_[step] = true;
  listener_.on_restore(step, counts(), restored.said);
  plan_.set_state(step, State::done);
  note_made(step);
  if (plan_.is_kept() && !plan_.take_discovered(step)) needs_whole_ = true;
  tell_outputs(step, old_outputs);
  remove_dropped_outputs(step, old_outputs);
  look_at_parents(step);
  settle_step(step);
  log_.flush();
  return true;
}

void Build::keep_product(const Job& job, const std::vector<TargetId>& discovered,
                         const std::vector<ContentId>& outputs, std::string_view output) {
  if (restorer_ == nullptr || job.asked == nullptr || !job.asked->why_not.empty()) return;
  if (!job.why_not_kept.empty()) return explain_restoring(job.step, " is not kept: ", job.why_not_kept);
  if (job.asked->is_traced && !job.report)
    return explain_restoring(job.step, " is not kept: ", "its command was not traced");
  const auto run = history_.run(manifest_.outputs(job.step)[0]);
  explain_restoring(
      job.step, " is not kept: ",
      restorer_->keep(*job.asked, {discovered, outputs, output, run ? run->duration_ms : 0, job.started_ns,
                                   job.has_depfile, job.ghosts, job.looked, job.marks, job.program}));
}

}  // namespace larder::build
