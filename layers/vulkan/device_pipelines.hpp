// The pipeline caches of one device of the host's: larder's own, which serves where the program gives none,
// and the program's, which are given what larder has and whose additions are kept. Any thread.
//
//   I1  Nothing is merged into a cache that another thread may be using: larder's own is filled before it is
//   seen, a program's before the program gets it, and what is to be kept is put together in a cache made for
//   that moment.
//   I2  A program's cache is read on the thread, and during the call, in which the program uses it itself:
//   so one that it synchronizes itself stays so.
//   I3  The driver is asked for nothing by larder when the process ends.
//   I4  Looking for what is new, and keeping it, takes an eighth of the time that creating pipelines takes.
//   Programs may end at any time without a word, so it is not put off any longer.
#pragma once

#include <atomic>
#include <map>
#include <optional>
#include <string_view>

#include <vulkan/vulkan_core.h>

#include "base/mutex.hpp"
#include "program/pipelines.hpp"

namespace larder::vulkan {

// What of the driver larder itself calls.
struct CacheFunctions {
  PFN_vkCreatePipelineCache create = nullptr;
  PFN_vkDestroyPipelineCache destroy = nullptr;
  PFN_vkGetPipelineCacheData get_data = nullptr;
  PFN_vkMergePipelineCaches merge = nullptr;
};

class DevicePipelines {
 public:
  // `why_not`: larder stands aside from the beginning; empty: it does not.
  DevicePipelines(VkDevice device, const CacheFunctions& functions, PipelineDevice facts,
                  PipelineProgram program, const void* driver_function, std::string_view why_not)
      : device_(device),
        functions_(functions),
        facts_(std::move(facts)),
        program_(std::move(program)),
        driver_function_(driver_function),
        is_aside_(!why_not.empty()) {}

  bool is_aside() const noexcept { return is_aside_.load(std::memory_order_acquire); }

  // What is to be used where the program gives none; VK_NULL_HANDLE when larder stands aside. The first call
  // reads the store.
  VkPipelineCache ours() noexcept;
  // A cache that the program has just created and does not have yet.
  void add(VkPipelineCache theirs, VkPipelineCacheCreateFlags flags) noexcept;
  // `count` pipelines were created with `used`, on this thread, in `took`. False: they may still be on their
  // way on others, so `used` is not to be read now.
  void created(VkPipelineCache used, std::uint32_t count, Nanoseconds took, bool may_look) noexcept;
  // The program is about to destroy it.
  void remove(VkPipelineCache theirs) noexcept;
  // The program is about to destroy the device.
  void end() noexcept;

  // Around a fork.
  void lock() noexcept NO_THREAD_SAFETY_ANALYSIS { opening_.lock(); }
  void unlock() noexcept NO_THREAD_SAFETY_ANALYSIS { opening_.unlock(); }

 private:
  // What was created with one cache.
  struct Source {
    std::size_t size_seen = 0;  // of its data, when it was last looked at
    std::uint64_t created = 0;
    std::uint64_t created_seen = 0;
    Nanoseconds took{0};
    Nanoseconds took_seen{0};
    Nanoseconds took_kept{0};  // as much of it as is in what is kept
    Nanoseconds look_took{0};
    bool has_grown = false;
  };

  VkPipelineCache open() REQUIRES(opening_);
  void stand_aside(std::string_view why) noexcept;
  VkPipelineCache create(BytesView data) const noexcept;
  std::size_t size_of(VkPipelineCache cache) const noexcept;
  // Empty when there is none.
  Bytes data_of(VkPipelineCache cache) const;
  void add_source(VkPipelineCache cache);
  // Keeps what `cache` has more than when it was last looked at.
  void look(VkPipelineCache cache) noexcept;
  void look_now(VkPipelineCache cache, const Source& source);
  void keep(VkPipelineCache cache, const Source& source);

  const VkDevice device_;
  const CacheFunctions functions_;
  PipelineDevice facts_;
  const PipelineProgram program_;
  const void* const driver_function_;

  std::atomic<bool> is_aside_;
  std::atomic<bool> is_looking_{false};
  std::atomic<bool> has_told_{false};  // that something was kept
  std::atomic<VkPipelineCache> ours_{VK_NULL_HANDLE};

  Mutex opening_;  // held while the store is read
  // Set before `ours_` is seen.
  std::optional<Pipelines> pipelines_;
  bool was_loaded_ = false;
  bool has_judged_ = false;  // by who is looking
  PipelineTimes cold_;

  Mutex sources_mutex_;
  std::map<VkPipelineCache, Source> sources_ GUARDED_BY(sources_mutex_);
};

}  // namespace larder::vulkan
