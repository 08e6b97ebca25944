// Victims lets a policy choose, among entries of the index, who leaves. Used by one thread, for one round.
#pragma once

#include <memory>
#include <optional>

#include "format/index.hpp"
#include "policy/kind.hpp"
#include "policy/policy.hpp"

namespace larder {

class Victims {
 public:
  using Id = policy::Id;

  Victims(policy::Kind kind, std::int64_t now_unix_ns);

  // Ids are 0, 1, 2 ... in the order of the calls. Entries unused for longest should come first: policies
  // that keep a list take it as theirs.
  void add(Id id, const format::IndexRecord& record);
  // Who leaves next, until none is left. Asked again it says the same until that one is renewed or removed.
  std::optional<Id> next();
  // It was used meanwhile.
  void renew(Id id, const format::IndexRecord& record);
  void remove(Id id);

 private:
  policy::Tick tick_of(std::int64_t unix_ns) const noexcept;

  std::unique_ptr<policy::Policy> policy_;
  std::int64_t now_unix_ns_;
};

}  // namespace larder
