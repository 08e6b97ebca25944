// A build that has from a seal what nearly everything is. Only files that may be others are looked at, and
// only what is behind those that are is planned: as a watch does it (plan_part.cpp), which has stayed awake.
//
// I1  Whatever decides a wanted step stands in the seal, or this build knows nothing (adopt() says so).
// I2  What a file is taken for is what its content was when the seal was written: by the history, which is as
//     it was then, or for what was too fresh by what the step that made it recorded.
#include <algorithm>

#include "build/build.hpp"

namespace larder::build {
namespace {

// What the last run of the step that makes `target` made it; kNone when nobody recorded that.
ContentId recorded_output(const Manifest& manifest, const History& history, TargetId target) {
  const StepId producer = manifest.producer(target);
  if (producer == kNone || manifest.is_phony(producer)) return kNone;
  const auto run = history.run(manifest.outputs(producer)[0]);
  if (!run || run->is_generator) return kNone;
  for (const ContentId content : run->outputs)
    if (history[content].target == target) return content;
  return kNone;
}

// The numbers of paths as a seal has them: by directory, each with those of the manifest in their order. So
// one is often as far behind the last as that one was behind the one before, and no table need be asked.
class Numbers {
 public:
  explicit Numbers(const Manifest& manifest) noexcept : manifest_(manifest) {}
  TargetId find(std::string_view path) {
    const std::uint64_t guess = std::uint64_t{last_} + step_;
    const TargetId target =
        guess < manifest_.target_count() && manifest_.path(static_cast<TargetId>(guess)) == path
            ? static_cast<TargetId>(guess)
            : manifest_.find(path);
    step_ = target > last_ ? target - last_ : 1;
    last_ = target;
    return target;
  }

 private:
  const Manifest& manifest_;
  TargetId last_ = 0;
  TargetId step_ = 1;
};

}  // namespace

bool Build::take_sealed(std::span<const SealedFiles> files) {
  Numbers numbers(manifest_);
  for (const SealedFiles& group : files) {
    if (group.kind == SealedKind::manifest) continue;
    bool is_good = true;
    group.each([&](std::string_view path) {
      const TargetId target = numbers.find(path);
      if (target == kNone) return;  // nothing that is wanted can name it
      if (group.kind == SealedKind::missing) {
        present_.set(target, kMissing);
      } else if (group.kind == SealedKind::fresh) {
        const ContentId content = recorded_output(manifest_, history_, target);
        present_.set(target, content == kNone ? kMissing : content);
        if (content == kNone) unknown_.push_back(target);
      } else {
        const History::Known* const known = history_.known(target);
        is_good = is_good && known != nullptr;
        if (known != nullptr) present_.set(target, known->content);
      }
    });
    if (!is_good) return false;
  }
  return true;
}

Result<bool> Build::adopt(std::span<const TargetId> roots, std::span<const SealedFiles> files) {
  roots_.assign(roots.begin(), roots.end());
  unknown_.clear();
  if (!take_sealed(files)) return false;
  return plan_.adopt(roots_);
}

Result<std::optional<BuildOutcome>> Build::make_since(std::span<const SealedFiles> files, TargetId self,
                                                      Touched touched) {
  const std::optional<BuildOutcome> cannot;
  Numbers numbers(manifest_);
  for (const SealedFiles& group : files) {
    if (group.kind == SealedKind::manifest || group.is_same) continue;
    group.each([&](std::string_view path) {
      if (const TargetId target = numbers.find(path); target != kNone) touched.targets.push_back(target);
    });
  }
  different_.clear();
  finished_ = 0;
  pool_running_.assign(manifest_.pools().size(), 0);
  heed(touched);
  for (const TargetId target : unknown_) {
    const StepId producer = manifest_.producer(target);
    if (producer != kNone) plan_.touch(producer);
    plan_.touch_consumers(target);
    needs_plan_ = true;
  }
  if (!needs_plan_) {
    present_.settle();
    log_.flush();
    return std::optional(BuildOutcome::nothing_to_do);
  }
  needs_whole_ = false;
  if (auto planned = plan_anew(); !planned) return tl::unexpected(planned.error());
  const StepId maker = self == kNone ? kNone : manifest_.producer(self);
  const auto order = plan_.order();
  if (maker != kNone && std::find(order.begin(), order.end(), maker) != order.end()) return cannot;
  const auto outcome = work_off();
  if (!outcome) return tl::unexpected(outcome.error());
  return std::optional(*outcome);
}

}  // namespace larder::build
