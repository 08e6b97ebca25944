#include "build/present.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/clock.hpp"
#include "build/for_all.hpp"

namespace larder::build {
namespace {

constexpr std::size_t kManyFiles = 512;
constexpr std::size_t kAtOnce = 128;
constexpr std::size_t kSomeFiles = 4096;         // whose digests are held together
constexpr std::int64_t kSettledNs = 20'000'000;  // many ticks of the clock that files are stamped with

constexpr std::chrono::milliseconds kTick{
    5};  // no clock that files are stamped with is slower, but coarse ones
constexpr int kTicks = 3;

}  // namespace

bool Present::is_output(TargetId target) const noexcept {
  const StepId producer = manifest_.producer(target);
  return producer != kNone && !manifest_.is_phony(producer);
}

void Present::make_room() {
  const std::size_t count = manifest_.target_count();
  if (now_.size() < count) now_.resize(count, kNone);
}

void Present::set(TargetId target, ContentId content) {
  make_room();
  now_[target] = content;
}

Imprint Present::print(TargetId target) const noexcept {
  if (now_[target] == kMissing) return {};
  if (const auto own = prints_.find(target); own != prints_.end()) return own->second;
  const History::Known* const known = history_.known(target);
  return known == nullptr ? Imprint{} : known->print;
}

Fingerprint Present::whole_print(TargetId target) const noexcept {
  const Seen seen = look_at(path(target));
  return imprint(seen.print) == print(target) ? seen.print : Fingerprint{};
}

void Present::take(TargetId target, const Digested& digested) {
  if (digested.seen.kind == Kind::missing) {
    now_[target] = kMissing;
    prints_.erase(target);
    return;
  }
  now_[target] = history_.content(target, digested.digest);
  const Fingerprint& print = digested.seen.print;
  if (digested.is_settled) {
    history_.trust(now_[target], imprint(print));
    prints_.erase(target);
    return;
  }
  prints_[target] = imprint(print);
  if (digested.seen.kind == Kind::file)
    unsettled_.push_back({target, std::max(print.changed_ns, print.modified_ns)});
}

void Present::want(TargetId target) {
  make_room();
  if (now_[target] != kNone) return;
  now_[target] = kMissing;  // so that none comes twice
  prints_.erase(target);
  wanted_.push_back(target);
}

void Present::look(std::span<const TargetId> targets) {
  for (const TargetId target : targets) want(target);
  look_at_wanted();
}

void Present::digest_all(std::span<const TargetId> targets) {
  std::vector<Digested> digests;
  while (!targets.empty()) {
    const auto some = targets.first(std::min(targets.size(), kSomeFiles));
    digests.assign(some.size(), {});
    for_all(some.size(), kAtOnce, kManyFiles,
            [&](std::size_t i) { digests[i] = digest(path(some[i]), is_output(some[i])); });
    for (std::size_t i = 0; i < some.size(); ++i) take(some[i], digests[i]);
    targets = targets.subspan(some.size());
  }
}

void Present::look_at_wanted() {
  std::vector<TargetId> unknown;
  std::swap(unknown, wanted_);
  for_all(unknown.size(), kAtOnce, kManyFiles, [&](std::size_t i) {
    const TargetId target = unknown[i];
    const Seen seen = look_at(path(target));
    const History::Known* known = history_.known(target);
    if (seen.kind == Kind::missing) {
      now_[target] = kMissing;
    } else if (known != nullptr && known->print == imprint(seen.print)) {
      now_[target] = known->content;
    } else {
      now_[target] = kNone;
    }
  });
  std::erase_if(unknown, [&](TargetId target) { return now_[target] != kNone; });
  digest_all(unknown);
}

ContentId Present::look_again(TargetId target) {
  make_room();
  take(target, digest(path(target), is_output(target)));
  return now_[target];
}

bool Present::is_trusted(TargetId target) const noexcept {
  if (now_[target] == kMissing) return true;
  const History::Known* const known = history_.known(target);
  return known != nullptr && known->content == now_[target] && !prints_.contains(target);
}

bool Present::is_untouched(TargetId target) const noexcept {
  const Seen seen = look_at(path(target));
  if (seen.kind == Kind::missing) return now_[target] == kMissing;
  return now_[target] != kMissing && imprint(seen.print) == print(target);
}

void Present::settle(std::span<const TargetId> fresh) {
  std::vector<Digested> digests;
  while (!fresh.empty()) {
    const auto some = fresh.first(std::min(fresh.size(), kSomeFiles));
    digests.assign(some.size(), {});
    for_all(some.size(), kAtOnce, kManyFiles,
            [&](std::size_t i) { digests[i] = digest(path(some[i]), is_output(some[i])); });
    for (std::size_t i = 0; i < some.size(); ++i) {
      const Digested& now = digests[i];
      const TargetId target = some[i];
      if (!now.is_settled || now_[target] >= kMissing) continue;
      // What another program wrote meanwhile is for the next build to see.
      if (history_[now_[target]].digest != now.digest) continue;
      history_.trust(now_[target], imprint(now.seen.print));
      prints_.erase(target);
    }
    fresh = fresh.subspan(some.size());
  }
}

void Present::settle() {
  std::vector<TargetId> fresh;
  for (const Fresh& one : unsettled_) fresh.push_back(one.target);
  unsettled_.clear();
  settle_at_ = kUnsettledMany;
  std::sort(fresh.begin(), fresh.end());
  fresh.erase(std::unique(fresh.begin(), fresh.end()), fresh.end());
  settle(fresh);
}

void Present::settle_rest() {
  for (int i = 0; i < kTicks; ++i) {
    std::vector<TargetId> fresh;
    for (const auto& [target, print] : prints_)
      if (is_looked(target)) fresh.push_back(target);
    if (fresh.empty()) return;
    if (i != 0) std::this_thread::sleep_for(kTick);
    std::sort(fresh.begin(), fresh.end());
    settle(fresh);
  }
}

void Present::settle_many() {
  if (unsettled_.size() < settle_at_) return;
  std::vector<TargetId> old;
  const std::int64_t now_ns = file_clock_ns();
  std::erase_if(unsettled_, [&](const Fresh& one) {
    // Coarse clocks are left to the end.
    if (one.latest_ns >= now_ns - kSettledNs || one.latest_ns % kSecondNs == 0) return false;
    old.push_back(one.target);
    return true;
  });
  settle_at_ = 2 * unsettled_.size() + kUnsettledMany;
  std::sort(old.begin(), old.end());
  old.erase(std::unique(old.begin(), old.end()), old.end());
  settle(old);
}

}  // namespace larder::build
