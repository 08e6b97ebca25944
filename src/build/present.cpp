#include "build/present.hpp"

#include <algorithm>

#include "build/for_all.hpp"

namespace larder::build {
namespace {

constexpr std::size_t kManyFiles = 512;
constexpr std::size_t kAtOnce = 128;

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

const Fingerprint& Present::print(TargetId target) const noexcept {
  static constexpr Fingerprint kNothing{};
  if (now_[target] == kMissing) return kNothing;
  if (const auto own = prints_.find(target); own != prints_.end()) return own->second;
  const History::Known* const known = history_.known(target);
  return known == nullptr ? kNothing : known->print;
}

void Present::take(TargetId target, const Digested& digested) {
  if (digested.seen.kind == Kind::missing) {
    now_[target] = kMissing;
    prints_.erase(target);
    return;
  }
  now_[target] = history_.content(target, digested.digest);
  if (digested.is_settled) {
    history_.trust(now_[target], digested.seen.print);
    prints_.erase(target);
    return;
  }
  prints_[target] = digested.seen.print;
  if (digested.seen.kind == Kind::file) unsettled_.push_back(target);
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

void Present::look_at_wanted() {
  std::vector<TargetId> unknown;
  std::swap(unknown, wanted_);
  for_all(unknown.size(), kAtOnce, kManyFiles, [&](std::size_t i) {
    const TargetId target = unknown[i];
    const Seen seen = look_at(std::string(manifest_.path(target)).c_str());
    const History::Known* known = history_.known(target);
    if (seen.kind == Kind::missing) {
      now_[target] = kMissing;
    } else if (known != nullptr && known->print == seen.print) {
      now_[target] = known->content;
    } else {
      now_[target] = kNone;
    }
  });
  std::erase_if(unknown, [&](TargetId target) { return now_[target] != kNone; });
  if (unknown.empty()) return;
  std::vector<Digested> digests(unknown.size());
  for_all(unknown.size(), kAtOnce, kManyFiles, [&](std::size_t i) {
    digests[i] = digest(std::string(manifest_.path(unknown[i])).c_str(), is_output(unknown[i]));
  });
  for (std::size_t i = 0; i < unknown.size(); ++i) take(unknown[i], digests[i]);
}

ContentId Present::look_again(TargetId target) {
  make_room();
  take(target, digest(std::string(manifest_.path(target)).c_str(), is_output(target)));
  return now_[target];
}

bool Present::is_trusted(TargetId target) const noexcept {
  if (now_[target] == kMissing) return true;
  const History::Known* const known = history_.known(target);
  return known != nullptr && known->content == now_[target] && !prints_.contains(target);
}

bool Present::is_untouched(TargetId target) const noexcept {
  const Seen seen = look_at(std::string(manifest_.path(target)).c_str());
  if (seen.kind == Kind::missing) return now_[target] == kMissing;
  return now_[target] != kMissing && seen.print == print(target);
}

void Present::settle() {
  std::vector<TargetId> fresh;
  std::swap(fresh, unsettled_);
  std::sort(fresh.begin(), fresh.end());
  fresh.erase(std::unique(fresh.begin(), fresh.end()), fresh.end());
  std::vector<Digested> digests(fresh.size());
  for_all(fresh.size(), kAtOnce, kManyFiles, [&](std::size_t i) {
    digests[i] = digest(std::string(manifest_.path(fresh[i])).c_str(), is_output(fresh[i]));
  });
  for (std::size_t i = 0; i < fresh.size(); ++i) {
    const Digested& now = digests[i];
    if (!now.is_settled || now_[fresh[i]] >= kMissing) continue;
    // What another program wrote meanwhile is for the next build to see.
    if (history_[now_[fresh[i]]].digest != now.digest) continue;
    history_.trust(now_[fresh[i]], now.seen.print);
    prints_.erase(fresh[i]);
  }
}

}  // namespace larder::build
