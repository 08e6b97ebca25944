// `larder build --check`: every step runs once more, and what comes out other than before of the same is
// told.
#include <algorithm>

#include "build/build.hpp"

namespace larder::build {

void Build::compare(StepId step, const Run& before) {
  const auto now = history_.run(manifest_.outputs(step)[0]);
  const auto are_equal = [](std::span<const ContentId> one, std::span<const ContentId> other) {
    return std::equal(one.begin(), one.end(), other.begin(), other.end());
  };
  if (!now || now->command != before.command || !are_equal(now->inputs, before.inputs) ||
      !are_equal(now->discovered, before.discovered) || now->outputs.size() != before.outputs.size())
    return;
  for (std::size_t i = 0; i < now->outputs.size(); ++i) {
    if (now->outputs[i] != before.outputs[i])
      unstable_->push_back({manifest_.outputs(step)[i], before.outputs[i], now->outputs[i]});
  }
}

Result<BuildOutcome> Build::check(std::vector<Unstable>& unstable) {
  for (const StepId step : plan_.order()) plan_.set_state(step, State::unwanted);
  plan_.force();
  attempts_.clear();
  unstable_ = &unstable;
  const std::vector<TargetId> roots = roots_;
  auto outcome = make(roots);
  unstable_ = nullptr;
  return outcome;
}

}  // namespace larder::build
