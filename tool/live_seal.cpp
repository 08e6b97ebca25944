// A watch that begins from the seal that the last one, or a build, left, and leaves one when it ends.
#include "build/text_file.hpp"

#include "tool/build_seal.hpp"
#include "tool/live_build.hpp"

namespace larder::tool {

// Watches and looks at everything that the seal speaks of. Nothing where it is of no use: then all that is
// known of a seal is forgotten, and the build begins without one.
void LiveBuild::look_at_seal() {
  auto seal = build::read_text_file(build::seal_path(file_));
  if (!seal) return;
  auto watches = build::Watches::open();
  if (!watches) return;
  const std::string directory(build::kLogDirectory);
  lock_ = std::make_unique<build::BuildLock>();
  const auto taken = lock_->take(directory);
  // What a killed build left running may yet write.
  if (taken && *taken && !build::Leftovers(directory).any()) {
    sealed_text_ = std::move(*seal);
    sealed_as_ = asked_of(call_, look_at_log(file_));
    since_ = build::look_at_seal(sealed_text_, sealed_as_, kSealGroupsMax,
                                 [&](std::string_view path) { (*watches)->add_directory(path); });
  }
  if (!since_ || !(*watches)->trouble().empty()) {
    forget_seal();
    lock_.reset();  // of another directory where there is a builddir
    return;
  }
  if (options_.explains)
    console_.err(std::string("larder explain: it begins from a seal") +
                 (since_->holds() ? "\n" : ", but for files that may be others\n"));
  watches_ = std::move(*watches);
  if (door_ != nullptr) door_->also_hear(watches_->fd());
}

void LiveBuild::say_ready() {
  is_ready_ = true;
  console_.out("larder: watching " + std::to_string(watches_->directories()) + " directories\n");
  (void)console_.flush();
}

void LiveBuild::forget_seal() {
  since_.reset();
  sealed_text_ = {};
}

// As Build::make_since. PRECONDITION: since_.
Result<std::optional<build::BuildOutcome>> LiveBuild::make_since(const std::vector<build::TargetId>& targets,
                                                                 build::TargetId self) {
  watches_->collect();
  const auto adopted = work_->adopt(targets, since_->files);
  if (!adopted) return tl::unexpected(adopted.error());
  if (!*adopted) return std::optional<build::BuildOutcome>();
  auto outcome = work_->make_since(since_->files, self, take());
  if (!outcome || !*outcome) return outcome;
  ingredients_->also_named(since_->variables);
  programs_.insert(since_->programs.begin(), since_->programs.end());
  if (since_->holds()) sealed_log_ = sealed_as_.log;
  return outcome;
}

// For the next watch, or build. What a change was heard for that was not acted upon is another then than the
// seal says. PRECONDITION: the last build came to its end.
void LiveBuild::leave_seal() {
  const bool is_well =
      outcome_ && (*outcome_ == build::BuildOutcome::nothing_to_do || *outcome_ == build::BuildOutcome::done);
  if (!is_well || has_new_manifest_ || session_->log->print() == sealed_log_) return;
  build::BuildLock lock;
  const auto taken = lock.take(build::log_directory(*session_->manifest));
  if (!taken || !*taken || session_->log->mark() != log_mark_) return;
  if (has_other_programs() || !work_->can_be_sealed()) return;
  write_seal(call_, *session_, *work_, ingredients_->named(), programs_);
}

}  // namespace larder::tool
