#include "layers/vulkan/device_pipelines.hpp"

#include "larder/driver_identity.hpp"
#include "program/ending.hpp"
#include "program/guest.hpp"

namespace larder::vulkan {
namespace {

// Of a cache's flags those that leave it one that may be added to.
constexpr VkPipelineCacheCreateFlags kMayBeAddedTo = VK_PIPELINE_CACHE_CREATE_EXTERNALLY_SYNCHRONIZED_BIT;

constexpr int kLookShare = 8;

Nanoseconds now() noexcept {
  return std::chrono::steady_clock::now().time_since_epoch();
}

}  // namespace

void DevicePipelines::stand_aside(std::string_view why) noexcept {
  if (is_aside_.exchange(true, std::memory_order_acq_rel)) return;
  guest::report("vulkan", name(Outcome::bypassed), {}, why);
}

VkPipelineCache DevicePipelines::create(BytesView data) const noexcept {
  VkPipelineCacheCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO;
  info.initialDataSize = data.size();
  info.pInitialData = data.empty() ? nullptr : data.data();
  VkPipelineCache cache = VK_NULL_HANDLE;
  return functions_.create(device_, &info, nullptr, &cache) == VK_SUCCESS ? cache : VK_NULL_HANDLE;
}

std::size_t DevicePipelines::size_of(VkPipelineCache cache) const noexcept {
  std::size_t size = 0;
  return functions_.get_data(device_, cache, &size, nullptr) == VK_SUCCESS ? size : 0;
}

Bytes DevicePipelines::data_of(VkPipelineCache cache) const {
  std::size_t size = size_of(cache);
  if (size == 0 || size > kPipelineBytesMax) return {};
  std::string data(size, '\0');
  if (functions_.get_data(device_, cache, &size, data.data()) != VK_SUCCESS) return {};
  data.resize(size);
  return Bytes(std::move(data));
}

VkPipelineCache DevicePipelines::ours() noexcept {
  if (is_aside()) return VK_NULL_HANDLE;
  if (const VkPipelineCache cache = ours_.load(std::memory_order_acquire)) return cache;
  if (guest::is_ending()) return VK_NULL_HANDLE;  // I3
  const MutexLock lock(opening_);
  if (is_aside()) return VK_NULL_HANDLE;
  if (const VkPipelineCache cache = ours_.load(std::memory_order_relaxed)) return cache;
  try {
    return open();
  } catch (...) {  // larder does without; the program does not hear of it
    stand_aside("memory is short");
    return VK_NULL_HANDLE;
  }
}

VkPipelineCache DevicePipelines::open() {
  const auto none = [&](std::string_view why) {
    stand_aside(why);
    return VkPipelineCache{VK_NULL_HANDLE};
  };
  Cache* const kept = guest::open_cache();
  if (kept == nullptr) return none("the store cannot be used");
  facts_.driver_build = library_identity(driver_function_);
  pipelines_.emplace(*kept, facts_, program_);
  if (const std::string why = pipelines_->verdict(); !why.empty()) return none(why);
  auto loaded = pipelines_->load();
  VkPipelineCache cache = create(loaded.bytes.view());
  if (cache == VK_NULL_HANDLE && loaded.is_there()) {
    pipelines_->refuse();
    loaded = {};
    cache = create({});
  }
  if (cache == VK_NULL_HANDLE) return none("its driver makes no pipeline cache");
  was_loaded_ = loaded.is_there();
  cold_ = loaded.cold;
  if (was_loaded_) guest::report("vulkan", name(loaded.outcome), loaded.cost, {});
  add_source(cache);
  ours_.store(cache, std::memory_order_release);
  return cache;
}

void DevicePipelines::add_source(VkPipelineCache cache) {
  Source source;
  source.size_seen = size_of(cache);
  const MutexLock lock(sources_mutex_);
  sources_.insert_or_assign(cache, source);
}

void DevicePipelines::add(VkPipelineCache theirs, VkPipelineCacheCreateFlags flags) noexcept {
  if ((flags & ~kMayBeAddedTo) != 0) return;
  const VkPipelineCache mine = ours();
  if (mine == VK_NULL_HANDLE) return;
  // Failing, it leaves theirs a cache as they asked for one.
  if (was_loaded_) functions_.merge(device_, theirs, 1, &mine);
  try {
    add_source(theirs);
  } catch (...) {  // then nothing of it is kept
  }
}

void DevicePipelines::created(VkPipelineCache used, std::uint32_t count, Nanoseconds took,
                              bool may_look) noexcept {
  if (is_aside()) return;
  {
    const MutexLock lock(sources_mutex_);
    const auto found = sources_.find(used);
    if (found == sources_.end()) return;
    Source& source = found->second;
    source.created += count;
    source.took += took;
    if (!may_look || source.took - source.took_seen < kLookShare * source.look_took) return;  // I4
  }
  look(used);
}

void DevicePipelines::remove(VkPipelineCache theirs) noexcept {
  look(theirs);
  const MutexLock lock(sources_mutex_);
  sources_.erase(theirs);
}

void DevicePipelines::end() noexcept {
  const VkPipelineCache mine = ours_.load(std::memory_order_acquire);
  if (mine == VK_NULL_HANDLE) return;
  look(mine);
  if (!guest::is_ending()) functions_.destroy(device_, mine, nullptr);
}

void DevicePipelines::look(VkPipelineCache cache) noexcept {
  if (is_aside() || guest::is_ending() || is_looking_.exchange(true, std::memory_order_acquire)) return;
  try {
    Source source;
    {
      const MutexLock lock(sources_mutex_);
      const auto found = sources_.find(cache);
      if (found != sources_.end()) source = found->second;
    }
    if (source.created > source.created_seen) look_now(cache, source);
  } catch (...) {  // what is new is lost; the program does not hear of it
  }
  is_looking_.store(false, std::memory_order_release);
}

void DevicePipelines::look_now(VkPipelineCache cache, const Source& source) {
  const bool is_ours = cache == ours_.load(std::memory_order_relaxed);
  const Nanoseconds began = now();
  const std::size_t size = size_of(cache);
  if (is_ours && size <= kPipelineHeaderSize) {
    stand_aside("its driver's pipeline caches hold a header and nothing else");
    return;
  }
  const bool has_grown = size > source.size_seen;
  if (has_grown) keep(cache, source);
  {
    const MutexLock lock(sources_mutex_);
    const auto found = sources_.find(cache);
    if (found == sources_.end()) return;
    found->second.size_seen = size;
    found->second.created_seen = source.created;
    found->second.took_seen = source.took;
    found->second.look_took = now() - began;
    if (has_grown) found->second.took_kept = source.took;
    found->second.has_grown = source.has_grown || has_grown;
  }
  if (!is_ours || !was_loaded_ || has_judged_ || has_grown || source.has_grown) return;
  if (source.created < kPipelinesToTell) return;
  has_judged_ = true;
  pipelines_->judge(why_no_gain(cold_, {source.created, source.took}));
}

void DevicePipelines::keep(VkPipelineCache cache, const Source& source) {
  std::optional<PipelineTimes> cold;
  if (!was_loaded_) cold = PipelineTimes{source.created, source.took};
  const bool is_kept = pipelines_->merge(source.took - source.took_kept, cold, [&](BytesView kept) {
    Bytes sum_data;
    VkPipelineCache sum = create(kept);                            // I1
    if (sum == VK_NULL_HANDLE && !kept.empty()) sum = create({});  // refused: ours alone
    if (sum == VK_NULL_HANDLE) return sum_data;
    if (functions_.merge(device_, sum, 1, &cache) == VK_SUCCESS) {
      try {
        sum_data = data_of(sum);
      } catch (...) {  // nothing to keep
      }
    }
    functions_.destroy(device_, sum, nullptr);
    return sum_data;
  });
  if (!is_kept) return;  // others have kept it all, or it cannot be kept
  if (!has_told_.exchange(true)) guest::report("vulkan", name(Outcome::made), source.took, {});
  guest::take_notes();
}

}  // namespace larder::vulkan
