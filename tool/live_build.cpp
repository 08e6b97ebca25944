#include "tool/live_build.hpp"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "tool/build_options.hpp"

namespace larder::tool {
namespace {

constexpr std::size_t kFailureMax = 64 * 1024;  // bytes of what failing commands said that are kept
constexpr std::size_t kToldMax = 100'000;       // records of the log above what counts of it
constexpr std::string_view kWaits = "larder: waiting for a change\n";

}  // namespace

LiveBuild::LiveBuild(Call& call, LiveListener& listener)
    : call_(call), console_(call.console()), listener_(listener) {}

int LiveBuild::patience_ms() {
  watches_->collect();
  return watches_->patience_ms(true);
}

build::Touched LiveBuild::take() {
  build::Touched touched = watches_->take();
  const auto is_of_manifest = [&](build::TargetId target) {
    return target < is_manifest_.size() && is_manifest_[target];
  };
  if (touched.everything || std::any_of(touched.targets.begin(), touched.targets.end(), is_of_manifest))
    has_new_manifest_ = has_new_manifest_ || !session_->is_as_read();
  return touched;
}

void LiveBuild::on_start(build::StepId step, const Counts& counts) {
  std::vector<std::string> outputs;
  for (const build::TargetId output : session_->manifest->outputs(step))
    outputs.emplace_back(session_->manifest->path(output));
  listener_.on_start(outputs);
  report_->on_start(step, counts);
}

void LiveBuild::on_finish(build::StepId step, const Counts& counts, int code, std::string_view output) {
  if (code != 0 && failure_.size() < kFailureMax) {
    failure_ += "FAILED:";
    for (const build::TargetId target : session_->manifest->outputs(step))
      failure_ += ' ' + std::string(session_->manifest->path(target));
    failure_ += '\n' + session_->manifest->value(step, "command") + '\n';
    failure_ += without_colour(output.substr(0, kFailureMax));
  }
  report_->on_finish(step, counts, code, output);
}

void LiveBuild::tell_trouble(std::string what) {
  if (what == trouble_) return;
  trouble_ = std::move(what);
  listener_.on_trouble(trouble_);
}

// At the beginning as `larder build` has it; later what was good goes on being watched.
LiveBuild::Opened LiveBuild::open_badly(const std::string& what, int& code) {
  lock_.reset();
  if (is_first_) {
    code = refuse_build(console_, what);
    return Opened::stopped;
  }
  if (what != trouble_) {
    (void)refuse_build(console_, what);
    console_.err(kWaits);
  }
  tell_trouble(what);
  return Opened::badly;
}

LiveBuild::Opened LiveBuild::build_manifest(bool& was_made, int& code) {
  const build::Manifest& manifest = *session_->manifest;
  was_made = false;
  const build::TargetId self = manifest.find(file_);
  if (self == build::kNone || manifest.producer(self) == build::kNone) return Opened::well;
  const auto outcome = work_->make(std::span(&self, 1));
  report_->end();
  if (build::StopSignals::received() != 0) return Opened::stopped;
  if (!outcome) return open_badly(outcome.error().what, code);
  if (*outcome == build::BuildOutcome::failed) return open_badly(failure_, code);
  was_made = has_new_manifest_ || !session_->is_as_read();
  return Opened::well;
}

void LiveBuild::find_products(const std::vector<build::TargetId>& targets) {
  const build::Manifest& manifest = *session_->manifest;
  products_.clear();
  std::vector<bool> seen(manifest.target_count());
  std::vector<build::TargetId> open(targets.rbegin(), targets.rend());
  while (!open.empty()) {
    const build::TargetId target = open.back();
    open.pop_back();
    if (seen[target]) continue;
    seen[target] = true;
    const build::StepId producer = manifest.producer(target);
    if (producer == build::kNone) continue;
    if (!manifest.is_phony(producer)) {
      products_.push_back(target);
      continue;
    }
    const auto inputs = manifest.all_inputs(producer);
    open.insert(open.end(), inputs.rbegin(), inputs.rend());
  }
  told_.assign(products_.size(), build::kNone);
  if (!listener_.wants_all()) return;
  std::vector<std::string> paths;
  for (const build::TargetId product : products_) paths.emplace_back(manifest.path(product));
  listener_.on_products(paths);
}

void LiveBuild::tell_products(bool is_first_of_session) {
  const build::Manifest& manifest = *session_->manifest;
  std::vector<Product> changed;
  std::vector<std::string> removed;
  std::vector<Product> made;
  std::vector<bool> different;
  if (is_first_) {
    different.resize(manifest.target_count());
    for (const build::TargetId target : work_->different()) different[target] = true;
  }
  for (std::size_t i = 0; i < products_.size(); ++i) {
    const build::TargetId target = products_[i];
    if (!work_->is_made(manifest.producer(target)) || !work_->present().is_looked(target)) continue;
    const build::ContentId now = work_->present()[target];
    if (now == told_[i] || now == build::kMissing) continue;
    told_[i] = now;
    const bool is_told = is_first_of_session && listener_.wants_all();
    if (is_first_ && !different[target] && !is_told) continue;
    const build::Digest digest = (*session_->history)[now].digest;
    std::string path(manifest.path(target));
    if (is_told) made.push_back({path, digest});
    if (is_first_of_session && !is_first_) {
      const auto before = told_before_.find(path);
      if (before != told_before_.end() && before->second == digest) continue;
    }
    if (is_first_ && !different[target]) continue;
    changed.push_back({std::move(path), digest});
  }
  if (is_first_of_session) {
    if (!told_before_.empty())
      for (const build::TargetId target : products_) told_before_.erase(std::string(manifest.path(target)));
    for (const auto& [path, digest] : told_before_) removed.push_back(path);
    std::sort(removed.begin(), removed.end());
    told_before_.clear();
    if (listener_.wants_all()) listener_.on_made(made);
  }
  listener_.on_built(changed, removed);
  (void)console_.flush();
}

void LiveBuild::end_build(const Result<build::BuildOutcome>& outcome) {
  report_->end();
  session_->log->flush();
  log_mark_ = session_->log->mark();
  lock_.reset();
  watches_->collect();
  watches_->forget_strangers();
  const std::size_t targets = session_->manifest->target_count();
  if (targets != watched_) watches_->add(static_cast<build::TargetId>(watched_));
  watched_ = targets;
  if (!watches_->trouble().empty() && !said_trouble_of_watches_) {
    (void)console_.flush();
    console_.err("larder: warning: " + watches_->trouble() + '\n');
    said_trouble_of_watches_ = true;
  }
  if (build::StopSignals::received() != 0 || has_new_manifest_ || work_->needs_manifest()) return;
  if (!outcome) {
    if (outcome.error().what != trouble_) {
      (void)refuse_build(console_, outcome.error().what);
      console_.err(kWaits);
    }
    tell_trouble(outcome.error().what);
  } else if (*outcome == build::BuildOutcome::failed) {
    (void)console_.flush();
    console_.err("larder: stopped: a command failed\n");
    console_.err(kWaits);
    tell_trouble(failure_);
  } else if (!work_->has_unfinished()) {
    tell_trouble({});
  }
}

std::optional<int> LiveBuild::take_lock(bool& was_away) {
  lock_ = std::make_unique<build::BuildLock>();
  const auto code = take_build_lock(console_, *session_->manifest, *signals_, *lock_, was_away);
  if (code) lock_.reset();
  return code;
}

LiveBuild::Opened LiveBuild::open(int& code) {
  for (unsigned reloads = 0;; ++reloads) {
    if (build::StopSignals::received() != 0) return Opened::stopped;
    if (reloads == kReloadsMax)
      return open_badly(file_ + " is another each time it was read, after 100 times", code);
    auto fresh = std::make_unique<BuildSession>();
    fresh->file = file_;
    if (auto read = fresh->read(); !read) return open_badly(read.error().what, code);
    for (std::size_t i = 0; i < products_.size(); ++i)
      if (told_[i] != build::kNone)
        told_before_[std::string(session_->manifest->path(products_[i]))] =
            (*session_->history)[told_[i]].digest;
    products_.clear();
    work_.reset();
    watches_.reset();
    ingredients_.reset();
    report_.reset();
    session_ = std::move(fresh);
    if (lock_ == nullptr) {
      bool has_waited = false;
      if (const auto refused = take_lock(has_waited)) {
        code = *refused;
        return Opened::stopped;
      }
      if (has_waited) continue;  // whoever had it may have made the manifest anew
    }
    session_->open_log(false);
    build::Manifest& manifest = *session_->manifest;
    if (!session_->log->trouble().empty())
      console_.err("larder: warning: what is made will be made again next time: " + session_->log->trouble() +
                   '\n');
    is_manifest_.clear();
    for (const auto& [path, digest] : session_->texts) {
      const build::TargetId target = manifest.target(path);
      if (target >= is_manifest_.size()) is_manifest_.resize(target + 1);
      is_manifest_[target] = true;
    }
    has_new_manifest_ = false;
    failure_.clear();
    ingredients_ = std::make_unique<build::Ingredients>(manifest, call_.values("--env"));
    report_ = std::make_unique<BuildReport>(console_, manifest, build_status_format(),
                                            std::min(options_.jobs, default_build_jobs()),
                                            call_.has("--verbose"), call_.has("--quiet"));
    work_ = std::make_unique<build::Build>(manifest, *session_->history, *session_->log, *ingredients_,
                                           *signals_, options_, jobserver_.get(), *this);
    work_->give_commands(lock_->commands());
    auto watches = build::Watches::open(manifest);
    if (!watches) {
      code = refuse_build(console_, watches.error().what);
      return Opened::stopped;
    }
    watches_ = std::move(*watches);
    watched_ = manifest.target_count();
    watches_->add(0);
    (void)watches_->take();  // nothing was looked at yet, but for the manifest
    if (!session_->is_as_read()) continue;
    work_->hear(*this);
    bool was_made = false;
    if (const Opened made = build_manifest(was_made, code); made != Opened::well) return made;
    if (was_made) continue;
    auto targets = choose_targets(manifest, call_.values("TARGET"));
    if (!targets) return open_badly(targets.error().what, code);
    const unsigned removed = work_->remove_stale();
    if (removed != 0 && !call_.has("--quiet"))
      console_.out("larder: removed " + std::to_string(removed) + " outputs that no step makes any more\n");
    find_products(*targets);
    // Kept up to date like all else: when it comes out different, everything begins anew.
    const build::TargetId self = manifest.find(file_);
    if (self != build::kNone && manifest.producer(self) != build::kNone) targets->push_back(self);
    const auto outcome = work_->make(*targets);
    end_build(outcome);
    if (has_new_manifest_ || work_->needs_manifest()) continue;
    if (build::StopSignals::received() != 0) return Opened::stopped;
    if (!outcome && is_first_) {
      code = kError;
      return Opened::stopped;
    }
    tell_products(true);
    return Opened::well;
  }
}

// Until something is to be done.
bool LiveBuild::wait() {
  for (;;) {
    watches_->collect();
    const int patience = watches_->patience_ms(false);
    if (build::StopSignals::received() != 0) return false;
    if (patience == 0) return true;
    std::array<pollfd, 2> polled = {pollfd{watches_->fd(), POLLIN, 0}, pollfd{listener_.fd(), POLLIN, 0}};
    const timespec timeout{patience / 1000, patience % 1000 * 1'000'000L};
    const int count =
        ::ppoll(polled.data(), polled.size(), patience < 0 ? nullptr : &timeout, &signals_->outer_mask());
    if (count > 0 && polled[1].revents != 0) listener_.on_readable();
  }
}

// False: everything must begin anew.
bool LiveBuild::make_again(int& code) {
  bool was_away = false;
  if (const auto refused = take_lock(was_away)) {
    code = *refused;
    return true;
  }
  if (was_away || session_->log->mark() != log_mark_) return false;
  const auto began = std::chrono::steady_clock::now();
  failure_.clear();
  report_->begin();
  const build::Touched touched = take();
  work_->give_commands(lock_->commands());
  const auto outcome = work_->make_again(touched);
  const bool had_trouble = !trouble_.empty();
  const bool is_idle = outcome && *outcome == build::BuildOutcome::nothing_to_do;
  end_build(outcome);
  if (has_new_manifest_ || work_->needs_manifest()) return false;
  if (build::StopSignals::received() != 0) return true;
  if (!is_idle || had_trouble) tell_products(false);
  if (options_.explains) {
    const auto took =
        std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - began);
    on_explain((touched.everything ? std::string("everything")
                                   : std::to_string(touched.targets.size()) + " touched targets") +
               (is_idle ? ": nothing to do" : ": done") + ", " + std::to_string(took.count()) + " us");
  }
  const build::History& history = *session_->history;
  return history.told() <= 4 * history.live() + kToldMax;
}

int LiveBuild::run() {
  if (const auto refused = read_build_options(call_, options_, jobserver_)) return *refused;
  if (const auto refused = enter_build_directory(call_)) return *refused;
  file_ = call_.has("--file") ? std::string(call_.value("--file")) : "build.ninja";
  build::make_canonical(file_);
  build::StopSignals signals;
  signals_ = &signals;
  int code = kDone;
  Opened opened = open(code);
  if (opened == Opened::stopped) return build::StopSignals::received() != 0 ? kInterrupted : code;
  is_first_ = false;
  console_.out("larder: watching " + std::to_string(watches_->directories()) + " directories\n");
  (void)console_.flush();
  while (wait()) {
    if (opened == Opened::well && make_again(code)) {
      if (code != kDone) break;
      continue;
    }
    // Something was touched that may have mended the manifest; or it is another.
    if (opened == Opened::badly) (void)watches_->take();
    opened = open(code);
    if (opened == Opened::stopped) break;
  }
  return build::StopSignals::received() != 0 ? kDone : code;
}

}  // namespace larder::tool
