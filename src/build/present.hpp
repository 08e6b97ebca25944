// What targets are at present: their contents, looked up by fingerprint where that is safe and digested where
// not. Used by one thread; looking at many targets uses more underneath.
#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include "build/history.hpp"

namespace larder::build {

// There is nothing by that name.
inline constexpr ContentId kMissing = kNone - 1;

class Present {
 public:
  Present(Manifest& manifest, History& history) noexcept : manifest_(manifest), history_(history) {}

  // Looks at those that were not looked at yet. O(files), in parallel when there are many.
  void look(std::span<const TargetId> targets);
  // The same in two steps. In between what is wanted counts as missing.
  void want(TargetId target);
  void look_at_wanted();
  // As if it had not been looked at: the next look() goes by its fingerprint.
  void forget(TargetId target) noexcept {
    if (target < now_.size()) now_[target] = kNone;
  }
  // Looks anew, whatever is known: after a command that may have written it.
  ContentId look_again(TargetId target);
  bool is_looked(TargetId target) const noexcept { return target < now_.size() && now_[target] != kNone; }
  // kMissing, or the content. PRECONDITION: is_looked.
  ContentId operator[](TargetId target) const noexcept { return now_[target]; }
  // Whether what a run was found to read is still as it was; that it was there, or not, counts as well.
  // PRECONDITION: its target is_looked.
  bool is_as(ContentId before) const noexcept {
    const Content& content = history_[before];
    const ContentId now = now_[content.target];
    if (content.digest == kSomethingThere) return now != kMissing;
    return content.digest == kNotThere ? now == kMissing : now == before;
  }
  // As it was when it was looked at, or when it was found to be the same later; all zero of what is missing.
  Imprint print(TargetId target) const noexcept;
  // Looks again: the fingerprint itself, all zero when it is another by now.
  Fingerprint whole_print(TargetId target) const noexcept;
  // Whether its fingerprint stands for its content, or it is missing. PRECONDITION: is_looked.
  bool is_trusted(TargetId target) const noexcept;
  // For aliases, which are no files.
  void set(TargetId target, ContentId content);
  // Whether the file is as it was when it was looked at; only its owner, mode or links may have changed
  // since.
  bool is_untouched(TargetId target) const noexcept;
  // Digests again what was too fresh for its fingerprint to be trusted, and trusts it where that works. The
  // same when much of it waits, of what can be trusted by now.
  void settle();
  void settle_many();
  // The same of all that is not trusted yet, and waits some ticks of the clock for it.
  void settle_rest();

 private:
  static constexpr std::size_t kUnsettledMany = 1024;
  void make_room();
  bool is_output(TargetId target) const noexcept;
  void take(TargetId target, const Digested& digested);
  void digest_all(std::span<const TargetId> targets);
  void settle(std::span<const TargetId> fresh);
  const char* path(TargetId target) const noexcept { return manifest_.path(target).data(); }

  Manifest& manifest_;
  History& history_;
  std::vector<ContentId> now_;
  std::unordered_map<TargetId, Imprint> prints_;  // those that stand for no content; others the history has
  std::vector<TargetId> wanted_;
  struct Fresh {
    TargetId target;
    std::int64_t latest_ns;
  };
  std::vector<Fresh> unsettled_;
  std::size_t settle_at_ = kUnsettledMany;
};

}  // namespace larder::build
