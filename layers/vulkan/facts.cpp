#include "layers/vulkan/facts.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <span>

#include "base/hex.hpp"

namespace larder::vulkan {
namespace {

// A text in an array of Vulkan's, ended by a zero or by the array.
template <std::size_t kSize>
std::string text_of(const char (&text)[kSize]) {
  return {text, std::find(text, text + kSize, '\0')};
}

// Without the patch, which promises nothing.
std::uint32_t version_of(std::uint32_t version) noexcept {
  return VK_MAKE_API_VERSION(0, VK_API_VERSION_MAJOR(version), VK_API_VERSION_MINOR(version), 0);
}

}  // namespace

PipelineDevice facts_of(VkPhysicalDevice device, const HostInstance& instance) {
  PipelineDevice facts;
  const auto get = reinterpret_cast<PFN_vkGetPhysicalDeviceProperties>(
      instance.next(instance.handle, "vkGetPhysicalDeviceProperties"));
  if (get == nullptr) return facts;
  VkPhysicalDeviceProperties properties{};
  get(device, &properties);
  facts.vendor = properties.vendorID;
  facts.device = properties.deviceID;
  facts.driver_version = properties.driverVersion;
  std::copy_n(properties.pipelineCacheUUID, facts.cache_uuid.size(), facts.cache_uuid.begin());
  facts.name = text_of(properties.deviceName);
  facts.is_processor = properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;

  // Of a device nothing may be asked that its instance is too old for.
  const std::uint32_t version = std::min(version_of(instance.version), version_of(properties.apiVersion));
  const auto get_more = reinterpret_cast<PFN_vkGetPhysicalDeviceProperties2>(
      version < VK_API_VERSION_1_1 ? nullptr
                                   : instance.next(instance.handle, "vkGetPhysicalDeviceProperties2"));
  if (get_more == nullptr) return facts;
  VkPhysicalDeviceDriverProperties driver{};
  driver.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES;
  VkPhysicalDeviceIDProperties ids{};
  ids.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES;
  if (version >= VK_API_VERSION_1_2) ids.pNext = &driver;
  VkPhysicalDeviceProperties2 more{};
  more.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
  more.pNext = &ids;
  get_more(device, &more);
  facts.driver_uuid = to_hex(std::as_bytes(std::span(ids.driverUUID)));
  facts.driver_name = text_of(driver.driverName);
  facts.driver_info = text_of(driver.driverInfo);
  return facts;
}

PipelineProgram program_of(const HostInstance& instance) {
  std::array<char, 4096> path{};
  const ssize_t size = ::readlink("/proc/self/exe", path.data(), path.size());
  const std::string_view executable(path.data(), size < 0 ? 0 : static_cast<std::size_t>(size));
  return {std::string(executable.substr(executable.rfind('/') + 1)), instance.application, instance.engine};
}

}  // namespace larder::vulkan
