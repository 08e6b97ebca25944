// A layer for Vulkan's loader, put there by `larder run --vulkan-layer` or, where it is installed, by
// LARDER_VULKAN_LAYER=1. Programs that create pipelines without a cache get larder's, those that have caches
// of their own get what larder has merged into them; whatever else a program does goes to what lies beneath
// as if there were no layer. With LARDER_DISABLE=1, or a driver that is left alone, so do pipelines.
#include <vulkan/vk_layer.h>

#include <cstring>
#include <string_view>

#include "layers/vulkan/facts.hpp"
#include "program/ending.hpp"
#include "program/guarded.hpp"
#include "program/guest.hpp"

namespace larder::vulkan {
namespace {

// The link that the loader has put for this layer into what an instance or a device is created from.
template <typename Info>
Info* link_in(const void* next, VkStructureType type) noexcept {
  for (auto* each = static_cast<const VkBaseInStructure*>(next); each != nullptr; each = each->pNext) {
    if (each->sType != type) continue;
    auto* const info = reinterpret_cast<Info*>(const_cast<VkBaseInStructure*>(each));
    if (info->function == VK_LAYER_LINK_INFO) return info;
  }
  return nullptr;
}

template <typename Function>
void find(Function& function, PFN_vkGetInstanceProcAddr next, VkInstance instance, const char* name) {
  function = reinterpret_cast<Function>(next(instance, name));
}
template <typename Function>
void find(Function& function, PFN_vkGetDeviceProcAddr next, VkDevice device, const char* name) {
  function = reinterpret_cast<Function>(next(device, name));
}

VKAPI_ATTR VkResult VKAPI_CALL create_instance(const VkInstanceCreateInfo* info,
                                               const VkAllocationCallbacks* allocator, VkInstance* to) {
  auto* const link =
      link_in<VkLayerInstanceCreateInfo>(info->pNext, VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO);
  if (link == nullptr || link->u.pLayerInfo == nullptr) return VK_ERROR_INITIALIZATION_FAILED;
  const auto next = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
  PFN_vkCreateInstance create = nullptr;
  find(create, next, VK_NULL_HANDLE, "vkCreateInstance");
  if (create == nullptr) return VK_ERROR_INITIALIZATION_FAILED;
  std::shared_ptr<HostInstance> host;
  guarded([&] {
    host = std::make_shared<HostInstance>();
    if (info->pApplicationInfo == nullptr) return;
    const VkApplicationInfo& said = *info->pApplicationInfo;
    if (said.apiVersion != 0) host->version = said.apiVersion;
    if (said.pApplicationName != nullptr) host->application = said.pApplicationName;
    if (said.pEngineName != nullptr) host->engine = said.pEngineName;
  });
  // Without it no call of the host's could be passed on.
  if (host == nullptr) return VK_ERROR_OUT_OF_HOST_MEMORY;
  link->u.pLayerInfo = link->u.pLayerInfo->pNext;
  const VkResult result = create(info, allocator, to);
  if (result != VK_SUCCESS) return result;
  host->handle = *to;
  host->next = next;
  find(host->destroy, next, *to, "vkDestroyInstance");
  bool is_known = false;
  guarded([&] {
    add_instance(dispatch_of(*to), host);
    is_known = true;
  });
  if (is_known) return result;
  if (host->destroy != nullptr) host->destroy(*to, allocator);
  *to = VK_NULL_HANDLE;
  return VK_ERROR_OUT_OF_HOST_MEMORY;
}

VKAPI_ATTR void VKAPI_CALL destroy_instance(VkInstance instance, const VkAllocationCallbacks* allocator) {
  if (instance == VK_NULL_HANDLE) return;
  const auto host = remove_instance(dispatch_of(instance));
  if (host != nullptr && host->destroy != nullptr) host->destroy(instance, allocator);
}

// A program that takes pipelines apart itself may not have a cache in the same call.
bool keeps_binaries(const VkDeviceCreateInfo& info) noexcept {
  for (std::uint32_t i = 0; i < info.enabledExtensionCount; ++i) {
    if (std::strcmp(info.ppEnabledExtensionNames[i], "VK_KHR_pipeline_binary") == 0) return true;
  }
  return false;
}

void fill(HostDevice& host, VkDevice device) {
  const auto next = host.next;
  find(host.destroy, next, device, "vkDestroyDevice");
  find(host.cache_functions.create, next, device, "vkCreatePipelineCache");
  find(host.cache_functions.destroy, next, device, "vkDestroyPipelineCache");
  find(host.cache_functions.get_data, next, device, "vkGetPipelineCacheData");
  find(host.cache_functions.merge, next, device, "vkMergePipelineCaches");
  find(host.create_graphics, next, device, "vkCreateGraphicsPipelines");
  find(host.create_compute, next, device, "vkCreateComputePipelines");
  find(host.create_ray_tracing, next, device, "vkCreateRayTracingPipelinesKHR");
  find(host.create_ray_tracing_nv, next, device, "vkCreateRayTracingPipelinesNV");
}

VKAPI_ATTR VkResult VKAPI_CALL create_device(VkPhysicalDevice physical, const VkDeviceCreateInfo* info,
                                             const VkAllocationCallbacks* allocator, VkDevice* to) {
  auto* const link =
      link_in<VkLayerDeviceCreateInfo>(info->pNext, VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO);
  const auto instance = find_instance(dispatch_of(physical));
  if (link == nullptr || link->u.pLayerInfo == nullptr || instance == nullptr)
    return VK_ERROR_INITIALIZATION_FAILED;
  const VkLayerDeviceLink* const mine = link->u.pLayerInfo;
  PFN_vkCreateDevice create = nullptr;
  find(create, mine->pfnNextGetInstanceProcAddr, instance->handle, "vkCreateDevice");
  if (create == nullptr) return VK_ERROR_INITIALIZATION_FAILED;
  std::shared_ptr<HostDevice> host;
  PipelineDevice facts;
  PipelineProgram program;
  std::string_view why_not;
  guarded([&] {
    host = std::make_shared<HostDevice>();
    if (!guest::is_enabled()) return;
    facts = facts_of(physical, *instance);
    program = program_of(*instance);
    why_not = why_left_alone(facts.name);
    if (keeps_binaries(*info)) why_not = "the program keeps its pipelines' binaries itself";
  });
  if (host == nullptr) return VK_ERROR_OUT_OF_HOST_MEMORY;
  host->next = mine->pfnNextGetDeviceProcAddr;
  link->u.pLayerInfo = mine->pNext;
  const VkResult result = create(physical, info, allocator, to);
  if (result != VK_SUCCESS) return result;
  fill(*host, *to);
  if (guest::is_enabled() && !why_not.empty()) guest::report("vulkan", name(Outcome::bypassed), {}, why_not);
  bool is_known = false;
  guarded([&] {
    if (!guest::is_enabled()) why_not = "larder is switched off";
    const CacheFunctions& f = host->cache_functions;
    if (f.create == nullptr || f.destroy == nullptr || f.get_data == nullptr || f.merge == nullptr)
      why_not = "its driver has no pipeline caches";
    host->pipelines =
        std::make_unique<DevicePipelines>(*to, f, std::move(facts), std::move(program),
                                          reinterpret_cast<const void*>(host->create_compute), why_not);
    add_device(dispatch_of(*to), host);
    is_known = true;
  });
  if (is_known) return result;
  if (host->destroy != nullptr) host->destroy(*to, allocator);
  *to = VK_NULL_HANDLE;
  return VK_ERROR_OUT_OF_HOST_MEMORY;
}

VKAPI_ATTR void VKAPI_CALL destroy_device(VkDevice device, const VkAllocationCallbacks* allocator) {
  if (device == VK_NULL_HANDLE) return;
  const auto host = remove_device(dispatch_of(device));
  if (host == nullptr || host->destroy == nullptr) return;
  host->pipelines->end();
  host->destroy(device, allocator);
}

VKAPI_ATTR VkResult VKAPI_CALL create_cache(VkDevice device, const VkPipelineCacheCreateInfo* info,
                                            const VkAllocationCallbacks* allocator, VkPipelineCache* to) {
  const auto host = find_device(dispatch_of(device));
  if (host == nullptr) return VK_ERROR_INITIALIZATION_FAILED;
  const VkResult result = host->cache_functions.create(device, info, allocator, to);
  if (result == VK_SUCCESS) host->pipelines->add(*to, info->flags);
  return result;
}

VKAPI_ATTR void VKAPI_CALL destroy_cache(VkDevice device, VkPipelineCache cache,
                                         const VkAllocationCallbacks* allocator) {
  const auto host = find_device(dispatch_of(device));
  if (host == nullptr) return;
  if (cache != VK_NULL_HANDLE) host->pipelines->remove(cache);
  host->cache_functions.destroy(device, cache, allocator);
}

// A program that gave no cache is not told that its cache was hit.
template <typename CreateInfo>
void hide_hits(std::uint32_t count, const CreateInfo* infos) noexcept {
  constexpr VkPipelineCreationFeedbackFlags kHit =
      VK_PIPELINE_CREATION_FEEDBACK_APPLICATION_PIPELINE_CACHE_HIT_BIT;
  for (std::uint32_t i = 0; i < count; ++i) {
    for (auto* each = static_cast<const VkBaseInStructure*>(infos[i].pNext); each != nullptr;
         each = each->pNext) {
      if (each->sType != VK_STRUCTURE_TYPE_PIPELINE_CREATION_FEEDBACK_CREATE_INFO) continue;
      const auto& feedback = *reinterpret_cast<const VkPipelineCreationFeedbackCreateInfo*>(each);
      feedback.pPipelineCreationFeedback->flags &= ~kHit;
      for (std::uint32_t stage = 0; stage < feedback.pipelineStageCreationFeedbackCount; ++stage)
        feedback.pPipelineStageCreationFeedbacks[stage].flags &= ~kHit;
    }
  }
}

// Creates pipelines by `create`, with larder's cache where the program has given none.
template <typename CreateInfo, typename Create>
VkResult create_pipelines(HostDevice& host, VkPipelineCache cache, std::uint32_t count,
                          const CreateInfo* infos, Create create) {
  const VkPipelineCache used = cache == VK_NULL_HANDLE ? host.pipelines->ours() : cache;
  const auto began = std::chrono::steady_clock::now();
  const VkResult result = create(used);
  const Nanoseconds took = std::chrono::steady_clock::now() - began;
  if (used == VK_NULL_HANDLE) return result;
  // What is put off is still being written to, and may still be adding to the program's cache.
  const bool is_over = result != VK_OPERATION_DEFERRED_KHR;
  if (used != cache && is_over) hide_hits(count, infos);
  host.pipelines->created(used, count, took, used != cache || is_over);
  return result;
}

VKAPI_ATTR VkResult VKAPI_CALL create_graphics(VkDevice device, VkPipelineCache cache, std::uint32_t count,
                                               const VkGraphicsPipelineCreateInfo* infos,
                                               const VkAllocationCallbacks* allocator, VkPipeline* to) {
  const auto host = find_device(dispatch_of(device));
  if (host == nullptr) return VK_ERROR_INITIALIZATION_FAILED;
  return create_pipelines(*host, cache, count, infos, [&](VkPipelineCache used) {
    return host->create_graphics(device, used, count, infos, allocator, to);
  });
}

VKAPI_ATTR VkResult VKAPI_CALL create_compute(VkDevice device, VkPipelineCache cache, std::uint32_t count,
                                              const VkComputePipelineCreateInfo* infos,
                                              const VkAllocationCallbacks* allocator, VkPipeline* to) {
  const auto host = find_device(dispatch_of(device));
  if (host == nullptr) return VK_ERROR_INITIALIZATION_FAILED;
  return create_pipelines(*host, cache, count, infos, [&](VkPipelineCache used) {
    return host->create_compute(device, used, count, infos, allocator, to);
  });
}

VKAPI_ATTR VkResult VKAPI_CALL create_ray_tracing(VkDevice device, VkDeferredOperationKHR operation,
                                                  VkPipelineCache cache, std::uint32_t count,
                                                  const VkRayTracingPipelineCreateInfoKHR* infos,
                                                  const VkAllocationCallbacks* allocator, VkPipeline* to) {
  const auto host = find_device(dispatch_of(device));
  if (host == nullptr) return VK_ERROR_INITIALIZATION_FAILED;
  return create_pipelines(*host, cache, count, infos, [&](VkPipelineCache used) {
    return host->create_ray_tracing(device, operation, used, count, infos, allocator, to);
  });
}

VKAPI_ATTR VkResult VKAPI_CALL create_ray_tracing_nv(VkDevice device, VkPipelineCache cache,
                                                     std::uint32_t count,
                                                     const VkRayTracingPipelineCreateInfoNV* infos,
                                                     const VkAllocationCallbacks* allocator, VkPipeline* to) {
  const auto host = find_device(dispatch_of(device));
  if (host == nullptr) return VK_ERROR_INITIALIZATION_FAILED;
  return create_pipelines(*host, cache, count, infos, [&](VkPipelineCache used) {
    return host->create_ray_tracing_nv(device, used, count, infos, allocator, to);
  });
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL instance_function(VkInstance instance, const char* name);
VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL device_function(VkDevice device, const char* name);

enum class Of { nothing, instance, device, pipelines };
struct Own {
  std::string_view name;
  PFN_vkVoidFunction function = nullptr;
  Of of = Of::nothing;  // what it is a function of; of pipelines: needed while larder does not stand aside
};

template <typename Function>
Own own(std::string_view name, Function function, Of of) noexcept {
  return {name, reinterpret_cast<PFN_vkVoidFunction>(function), of};
}

Own find_own(std::string_view name) noexcept {
  static const Own kAll[] = {
      own("vkCreateInstance", create_instance, Of::nothing),
      own("vkGetInstanceProcAddr", instance_function, Of::nothing),
      own("vkDestroyInstance", destroy_instance, Of::instance),
      own("vkCreateDevice", create_device, Of::instance),
      own("vkGetDeviceProcAddr", device_function, Of::device),
      own("vkDestroyDevice", destroy_device, Of::device),
      own("vkCreatePipelineCache", create_cache, Of::pipelines),
      own("vkDestroyPipelineCache", destroy_cache, Of::pipelines),
      own("vkCreateGraphicsPipelines", create_graphics, Of::pipelines),
      own("vkCreateComputePipelines", create_compute, Of::pipelines),
      own("vkCreateRayTracingPipelinesKHR", create_ray_tracing, Of::pipelines),
      own("vkCreateRayTracingPipelinesNV", create_ray_tracing_nv, Of::pipelines),
  };
  for (const Own& each : kAll) {
    if (each.name == name) return each;
  }
  return {};
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL instance_function(VkInstance instance, const char* name) {
  const Own own = find_own(name);
  if (own.function != nullptr && own.of == Of::nothing) return own.function;
  if (instance == VK_NULL_HANDLE) return nullptr;
  const auto host = find_instance(dispatch_of(instance));
  if (host == nullptr) return nullptr;
  const PFN_vkVoidFunction next = host->next(instance, name);
  // What lies beneath does not have, the layer does not have either.
  return next == nullptr || own.function == nullptr ? next : own.function;
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL device_function(VkDevice device, const char* name) {
  const auto host = find_device(dispatch_of(device));
  if (host == nullptr) return nullptr;
  const PFN_vkVoidFunction next = host->next(device, name);
  const Own own = find_own(name);
  if (next == nullptr || own.function == nullptr) return next;
  if (own.of == Of::device) return own.function;
  return own.of == Of::pipelines && !host->pipelines->is_aside() ? own.function : next;
}

}  // namespace
}  // namespace larder::vulkan

extern "C" VK_LAYER_EXPORT VKAPI_ATTR VkResult VKAPI_CALL
vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface* with) {
  constexpr std::uint32_t kVersion = 2;
  if (with == nullptr || with->sType != LAYER_NEGOTIATE_INTERFACE_STRUCT ||
      with->loaderLayerInterfaceVersion < kVersion) {
    return VK_ERROR_INITIALIZATION_FAILED;
  }
  static const bool is_watched = [] {
    larder::guest::watch_end();
    return true;
  }();
  static_cast<void>(is_watched);
  with->loaderLayerInterfaceVersion = kVersion;
  with->pfnGetInstanceProcAddr = larder::vulkan::instance_function;
  with->pfnGetDeviceProcAddr = larder::vulkan::device_function;
  with->pfnGetPhysicalDeviceProcAddr = nullptr;
  return VK_SUCCESS;
}
