// Who a device is, as far as the host's version of Vulkan lets anybody ask. Any thread.
#pragma once

#include "layers/vulkan/hosts.hpp"

namespace larder::vulkan {

PipelineDevice facts_of(VkPhysicalDevice device, const HostInstance& instance);

// The program that this process runs, for that instance.
PipelineProgram program_of(const HostInstance& instance);

}  // namespace larder::vulkan
