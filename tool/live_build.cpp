#include "tool/live_build.hpp"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "tool/build_options.hpp"
#include "tool/build_seal.hpp"

namespace larder::tool {
namespace {

constexpr std::size_t kFailureMax = 64 * 1024;  // bytes of what failing commands said that are kept
constexpr std::size_t kToldMax = 100'000;       // records of the log above what counts of it
constexpr std::string_view kWaits = "larder: waiting for a change\n";

// What validates a step is wanted with it, and comes before nothing.
bool has_validations(const build::Manifest& manifest) {
  for (build::StepId step = 0; step < manifest.step_count(); ++step)
    if (manifest.step(step).validations != 0) return true;
  return false;
}

}  // namespace

LiveBuild::LiveBuild(Call& call, LiveListener& listener)
    : call_(call), console_(call.console()), listener_(listener) {}

int LiveBuild::patience_ms() {
  tend_door();
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
  has_started_ = true;
  if (client_ != nullptr) client_->report()->on_start(step, counts);
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
  if (client_ != nullptr) client_->report()->on_finish(step, counts, code, output);
}

void LiveBuild::on_cancel(build::StepId step) {
  report_->on_cancel(step);
  if (client_ != nullptr) client_->report()->on_cancel(step);
}

int LiveBuild::on_tick(const Counts& counts) {
  tend_door();
  int patience = report_->on_tick(counts);
  const auto no_longer_than = [&](int other) {
    if (other >= 0 && (patience < 0 || patience > other)) patience = other;
  };
  if (client_ != nullptr) no_longer_than(client_->report()->on_tick(counts));
  if (door_ != nullptr) no_longer_than(door_->patience_ms());
  return patience;
}

void LiveBuild::on_explain(const std::string& text) {
  if (own_options_.explains) report_->on_explain(text);
  if (client_ != nullptr && client_->request().explains) client_->report()->on_explain(text);
}

void LiveBuild::on_warning(const std::string& what) {
  report_->on_warning(what);
  if (client_ != nullptr) client_->report()->on_warning(what);
}

void LiveBuild::tell_trouble(std::string what) {
  if (what == trouble_) return;
  trouble_ = std::move(what);
  listener_.on_trouble(trouble_);
}

// At the beginning as `larder build` has it; later what was good goes on being watched.
LiveBuild::Opened LiveBuild::open_badly(const std::string& what, int& code) {
  lock_.reset();
  if (!is_ready_) {
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
  outcome_ = outcome ? std::optional(*outcome) : std::nullopt;
  for (const auto& [word, path] : ingredients_->found()) programs_.emplace(word, path);
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
    programs_.clear();
    outcome_.reset();
    if (client_ != nullptr) client_->end_report();
    work_.reset();
    if (!since_) watches_.reset();
    ingredients_.reset();
    report_.reset();
    session_ = std::move(fresh);
    if (since_ && build::log_directory(*session_->manifest) != build::kLogDirectory) {
      forget_seal();  // the manifest has a builddir by now, and a lock of its own there
      lock_.reset();
    }
    if (lock_ == nullptr) {
      bool has_waited = false;
      if (const auto refused = take_lock(has_waited)) {
        code = *refused;
        return Opened::stopped;
      }
      if (has_waited) continue;  // whoever had it may have made the manifest anew
    }
    if (since_ && !is_still_as_sealed(*session_, sealed_as_, *since_)) forget_seal();
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
    if (client_ != nullptr) client_->begin_report(manifest, std::min(options_.jobs, default_build_jobs()));
    work_ = std::make_unique<build::Build>(manifest, *session_->history, *session_->log, *ingredients_,
                                           *signals_, options_, jobserver_.get(), *this);
    work_->give_commands(lock_->commands());
    if (!since_) {
      auto watches = build::Watches::open();
      if (!watches) {
        code = refuse_build(console_, watches.error().what);
        return Opened::stopped;
      }
      watches_ = std::move(*watches);
      if (door_ != nullptr) door_->also_hear(watches_->fd());
    }
    watched_ = manifest.target_count();
    watches_->give(manifest);
    watches_->add(0);
    if (!since_) (void)watches_->take();  // nothing was looked at yet, but for the manifest
    if (!session_->is_as_read()) {
      forget_seal();
      continue;
    }
    work_->hear(*this);
    bool was_made = false;
    if (!since_) {
      if (const Opened made = build_manifest(was_made, code); made != Opened::well) return made;
      if (was_made) continue;
    }
    auto targets = choose_targets(manifest, call_.values("TARGET"));
    if (!targets) return open_badly(targets.error().what, code);
    const unsigned removed = since_ ? 0 : work_->remove_stale();
    if (removed != 0 && !call_.has("--quiet"))
      console_.out("larder: removed " + std::to_string(removed) + " outputs that no step makes any more\n");
    find_products(*targets);
    // Kept up to date like all else: when it comes out different, everything begins anew.
    const build::TargetId self = manifest.find(file_);
    if (self != build::kNone && manifest.producer(self) != build::kNone) targets->push_back(self);
    std::optional<Result<build::BuildOutcome>> made;
    if (since_) {
      const auto since = make_since(*targets, self);
      forget_seal();
      if (!since || !*since) continue;  // as if there had been no seal
      made = **since;
    } else {
      made = work_->make(*targets);
    }
    const Result<build::BuildOutcome>& outcome = *made;
    end_build(outcome);
    if (has_new_manifest_ || work_->needs_manifest()) continue;
    if (build::StopSignals::received() != 0) return Opened::stopped;
    if (!outcome && !is_ready_) {
      code = kError;
      return Opened::stopped;
    }
    tell_products(true);
    is_first_ = false;
    return Opened::well;
  }
}

// Until something is to be done.
bool LiveBuild::wait() {
  for (;;) {
    tend_door();
    watches_->collect();
    const int patience = watches_->patience_ms(false);
    if (build::StopSignals::received() != 0) return false;
    if (patience == 0 || (door_ != nullptr && door_->has_request())) return true;
    std::array<pollfd, 2> polled = {pollfd{fd(), POLLIN, 0}, pollfd{listener_.fd(), POLLIN, 0}};
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
  build::Touched touched = take();
  touched.asked = client_ != nullptr;
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

void LiveBuild::open_door() {
  self_ = describe_self();
  std::string why;
  // Under a jobserver it would build with tokens that are its caller's alone.
  if (jobserver_ == nullptr) door_ = WatchDoor::open(file_, why);
  if (door_ == nullptr && options_.explains && !why.empty())
    console_.err("larder explain: nobody can have this watch build: " + why + '\n');
}

void LiveBuild::tend_door() {
  if (door_ == nullptr) return;
  door_->tend();
  if (client_ != nullptr && WatchDoor::is_gone(*client_)) let_client_go();
}

// What it was served with goes with it.
void LiveBuild::let_client_go() {
  if (client_ == nullptr) return;
  options_ = own_options_;
  WatchClient& client = *std::exchange(client_, nullptr);
  door_->let_go(client);
}

// Why a client had better build for itself; empty: it would do as we do.
std::string LiveBuild::why_not(const WatchRequest& request) const {
  if (request.self != self_) return "it is another program, or runs with other rights or another umask";
  if (request.surroundings != ingredients_->surroundings()) return "its environment or directory is another";
  const std::string variable = other_variable(request, ingredients_->named());
  if (!variable.empty()) return "commands name the variable " + variable + ", which is another there";
  return {};
}

bool LiveBuild::has_other_programs() const {
  return std::any_of(programs_.begin(), programs_.end(),
                     [](const auto& one) { return build::find_program(one.first) != one.second; });
}

void LiveBuild::take_flags(const WatchRequest& request) {
  if (request.jobs) options_.jobs = *request.jobs;
  // Whoever of the two goes further: what is left undone for the one would be left so for the other.
  const unsigned failures_max = request.failures_max.value_or(1);
  if (failures_max == 0 || (options_.failures_max != 0 && failures_max > options_.failures_max))
    options_.failures_max = failures_max;
  if (request.load_max) options_.load_max = *request.load_max;
  if (request.memory_min_bytes) options_.memory_min_bytes = *request.memory_min_bytes;
  options_.explains = options_.explains || request.explains;
}

void LiveBuild::serve(Opened& opened, int& code) {
  client_ = &door_->next();
  const WatchRequest request = client_->request();
  const auto decline = [&](const std::string& why) {
    if (client_ != nullptr) client_->decline(why);
    let_client_go();
  };
  if (opened != Opened::well) return decline("it cannot read the manifest");
  if (const std::string why = why_not(request); !why.empty()) return decline(why);
  watches_->collect();  // I1
  take_flags(request);
  client_->begin_report(*session_->manifest, std::min(options_.jobs, default_build_jobs()));
  has_started_ = false;
  if (has_other_programs() || !make_again(code)) opened = open(code);
  if (client_ == nullptr) return;
  if (opened != Opened::well || code != kDone || build::StopSignals::received() != 0)
    return decline("it came to no end");
  answer(request);
  let_client_go();
}

// PRECONDITION: all that is wanted was built, or tried.
void LiveBuild::answer(const WatchRequest& request) {
  // Commands that are new may name more.
  if (const std::string why = why_not(request); !why.empty()) return client_->decline(why);
  if (!outcome_) return client_->decline("it cannot plan the build");
  using build::BuildOutcome;
  const BuildOutcome well = has_started_ ? BuildOutcome::done : BuildOutcome::nothing_to_do;
  if (request.targets == call_.values("TARGET")) {
    if (!work_->has_unfinished()) return client_->done(well);
    if (*outcome_ == BuildOutcome::failed) return client_->done(BuildOutcome::failed);
    return client_->decline("it came to no end");
  }
  const build::Manifest& manifest = *session_->manifest;
  const bool has_all = !work_->has_unfinished();
  const auto targets = choose_targets(manifest, request.targets);
  if (!targets) return client_->decline("it knows no such target");
  for (const build::TargetId target : *targets)
    if (!work_->is_wanted(target))
      return client_->decline("it does not keep " + std::string(manifest.path(target)) + " up to date");
  if (!has_all && has_validations(manifest)) return client_->decline("it has not made all that it watches");
  const bool is_made = std::all_of(targets->begin(), targets->end(), [&](build::TargetId target) {
    const build::StepId producer = manifest.producer(target);
    return producer == build::kNone ? work_->present()[target] != build::kMissing : work_->is_made(producer);
  });
  if (is_made) return client_->done(well);
  if (work_->has_failed(*targets)) return client_->done(BuildOutcome::failed);
  client_->decline("it stopped at the failure of something else");
}

int LiveBuild::run() {
  if (const auto refused = read_build_options(call_, options_, jobserver_)) return *refused;
  if (const auto refused = enter_build_directory(call_)) return *refused;
  file_ = call_.has("--file") ? std::string(call_.value("--file")) : "build.ninja";
  build::make_canonical(file_);
  build::StopSignals signals;
  signals_ = &signals;
  own_options_ = options_;
  open_door();
  int code = kDone;
  look_at_seal();
  if (since_ && since_->holds() && !listener_.wants_all()) say_ready();
  Opened opened = open(code);
  if (opened == Opened::stopped && !is_ready_)
    return build::StopSignals::received() != 0 ? kInterrupted : code;
  if (!is_ready_) say_ready();
  while (opened != Opened::stopped && wait()) {
    if (door_ != nullptr && door_->has_request()) {
      serve(opened, code);
      if (opened == Opened::stopped || code != kDone) break;
      continue;
    }
    if (opened == Opened::well && make_again(code)) {
      if (code != kDone) break;
      continue;
    }
    // Something was touched that may have mended the manifest; or it is another.
    if (opened == Opened::badly) (void)watches_->take();
    opened = open(code);
    if (opened == Opened::stopped) break;
  }
  if (opened == Opened::well) leave_seal();
  return build::StopSignals::received() != 0 ? kDone : code;
}

}  // namespace larder::tool
