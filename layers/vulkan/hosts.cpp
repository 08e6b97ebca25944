#include "layers/vulkan/hosts.hpp"

#include <map>

#include "base/fork.hpp"

namespace larder::vulkan {
namespace {

template <typename Record>
using Known = std::map<const void*, std::shared_ptr<Record>>;

struct Table {
  Mutex mutex;
  Known<HostInstance> instances GUARDED_BY(mutex);
  Known<HostDevice> devices GUARDED_BY(mutex);
};

// Never freed: programs destroy what they have from static objects of their own.
Table& table() {
  static auto* const all = new Table;
  return *all;
}

void before_fork() noexcept NO_THREAD_SAFETY_ANALYSIS {
  table().mutex.lock();
  for (auto& [dispatch, device] : table().devices) device->pipelines->lock();
}
void after_fork() noexcept NO_THREAD_SAFETY_ANALYSIS {
  for (auto& [dispatch, device] : table().devices) device->pipelines->unlock();
  table().mutex.unlock();
}

template <typename Record>
std::shared_ptr<Record> find(const Known<Record>& known, const void* dispatch) {
  const auto found = known.find(dispatch);
  return found == known.end() ? nullptr : found->second;
}
template <typename Record>
std::shared_ptr<Record> take(Known<Record>& known, const void* dispatch) {
  auto node = known.extract(dispatch);
  return node.empty() ? nullptr : std::move(node.mapped());
}

}  // namespace

std::shared_ptr<HostInstance> find_instance(const void* dispatch) noexcept {
  Table& all = table();
  const MutexLock lock(all.mutex);
  return find(all.instances, dispatch);
}

std::shared_ptr<HostDevice> find_device(const void* dispatch) noexcept {
  Table& all = table();
  const MutexLock lock(all.mutex);
  return find(all.devices, dispatch);
}

void add_instance(const void* dispatch, std::shared_ptr<HostInstance> instance) {
  Table& all = table();
  at_fork(7, {before_fork, after_fork, after_fork});
  const MutexLock lock(all.mutex);
  all.instances.insert_or_assign(dispatch, std::move(instance));
}

void add_device(const void* dispatch, std::shared_ptr<HostDevice> device) {
  Table& all = table();
  const MutexLock lock(all.mutex);
  all.devices.insert_or_assign(dispatch, std::move(device));
}

std::shared_ptr<HostInstance> remove_instance(const void* dispatch) noexcept {
  Table& all = table();
  const MutexLock lock(all.mutex);
  return take(all.instances, dispatch);
}

std::shared_ptr<HostDevice> remove_device(const void* dispatch) noexcept {
  Table& all = table();
  const MutexLock lock(all.mutex);
  return take(all.devices, dispatch);
}

}  // namespace larder::vulkan
