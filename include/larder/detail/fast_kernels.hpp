// FastKernels is the map in front of a ProgramCache's kernels: from what a submission loop has at hand to the
// place of its kernel. Finding takes no lock and allocates nothing; everything else takes one. Bounded: a
// bucket that is full forgets its oldest. Any thread. Nothing here is to be used directly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "larder/bytes.hpp"
#include "larder/detail/epoch.hpp"
#include "larder/export.h"

namespace larder::detail {

class LARDER_API FastKernels {
 public:
  static constexpr std::size_t kBuckets = 1024;
  static constexpr std::size_t kBucketMax = 4;

  FastKernels();  // throws std::bad_alloc
  ~FastKernels();
  FastKernels(const FastKernels&) = delete;
  FastKernels& operator=(const FastKernels&) = delete;

  // Null when there is none. The caller is pinned for as long as it uses what this returns.
  const void* find(std::uint64_t image, BytesView device, BytesView constants, BytesView name) const noexcept;
  // Takes the place of one with the same key. `owner` calls forget() before it ends. Throws std::bad_alloc.
  void add(const void* owner, std::uint64_t image, BytesView device, BytesView constants, BytesView name,
           std::shared_ptr<const void> place);
  void erase(std::uint64_t image, BytesView device, BytesView constants, BytesView name) noexcept;
  void forget(const void* owner) noexcept;
  std::size_t size() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace larder::detail
