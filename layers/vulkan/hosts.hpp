// The instances and devices of the host. A handle is known by the loader's dispatch table, to which it begins
// with a pointer: those of an instance's physical devices are the instance's, a device's are its own. Any
// thread; the lock is held for looking things up, and never while a driver is called.
#pragma once

#include <memory>
#include <string>

#include <vulkan/vulkan_core.h>

#include "layers/vulkan/device_pipelines.hpp"

namespace larder::vulkan {

struct HostInstance {
  VkInstance handle = VK_NULL_HANDLE;
  PFN_vkGetInstanceProcAddr next = nullptr;
  PFN_vkDestroyInstance destroy = nullptr;
  std::uint32_t version = VK_API_VERSION_1_0;  // that the host asked for
  std::string application;
  std::string engine;
};

struct HostDevice {
  PFN_vkGetDeviceProcAddr next = nullptr;
  PFN_vkDestroyDevice destroy = nullptr;
  CacheFunctions cache_functions;
  PFN_vkCreateGraphicsPipelines create_graphics = nullptr;
  PFN_vkCreateComputePipelines create_compute = nullptr;
  PFN_vkCreateRayTracingPipelinesKHR create_ray_tracing = nullptr;  // null: not enabled
  PFN_vkCreateRayTracingPipelinesNV create_ray_tracing_nv = nullptr;
  std::unique_ptr<DevicePipelines> pipelines;
};

template <typename Handle>
const void* dispatch_of(Handle handle) noexcept {
  return *reinterpret_cast<const void* const*>(handle);
}

// Null: unknown.
std::shared_ptr<HostInstance> find_instance(const void* dispatch) noexcept;
std::shared_ptr<HostDevice> find_device(const void* dispatch) noexcept;
void add_instance(const void* dispatch, std::shared_ptr<HostInstance> instance);
void add_device(const void* dispatch, std::shared_ptr<HostDevice> device);
// What was known; null: nothing.
std::shared_ptr<HostInstance> remove_instance(const void* dispatch) noexcept;
std::shared_ptr<HostDevice> remove_device(const void* dispatch) noexcept;

}  // namespace larder::vulkan
