// A Vulkan driver that compiles nothing and keeps what it would have compiled in its pipeline caches: the
// software drivers have nothing to keep there. It knows compute and graphics pipelines, and no more of Vulkan
// than creating them takes. It notes in the file KEEPING_DRIVER_LOG, a line each, which pipelines it made and
// which it found, and every rule of Vulkan that is broken. KEEPING_DRIVER says how else it behaves: `useless`
// (data is a header), `refuses` (no cache takes data), `slow` (what is found takes long, what is
// made takes no time).
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <vulkan/vk_icd.h>
#include <vulkan/vulkan_core.h>

#define SHOWN __attribute__((visibility("default")))

enum { kHeader = 32, kCode = 24, kVendor = 0x1ADE, kDevice = 0x0001 };
static const uint8_t kUuid[VK_UUID_SIZE] = "keeping-driver-";

struct record {
  uint64_t hash;
  char code[kCode];
};
struct cache {
  pthread_mutex_t mutex;
  atomic_int users;
  VkPipelineCacheCreateFlags flags;
  size_t count;
  size_t room;
  struct record* records;
  const VkAllocationCallbacks* allocator;
};
struct handle {
  VK_LOADER_DATA loader;
  const VkAllocationCallbacks* allocator;
};
struct device {
  struct handle base;
  atomic_int objects;
};
struct module {
  uint64_t hash;
};

static struct handle the_physical_device;

static void note(const char* format, ...) {
  const char* path = getenv("KEEPING_DRIVER_LOG");
  if (path == NULL) return;
  char line[256];
  va_list words;
  va_start(words, format);
  int size = vsnprintf(line, sizeof line - 1, format, words);
  va_end(words);
  line[size++] = '\n';
  int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0 || write(fd, line, (size_t)size) != size) abort();
  close(fd);
}

static int behaves(const char* how) {
  const char* said = getenv("KEEPING_DRIVER");
  return said != NULL && strcmp(said, how) == 0;
}

static void* allocate(const VkAllocationCallbacks* by, size_t size) {
  void* room = by == NULL ? malloc(size)
                          : by->pfnAllocation(by->pUserData, size, 16, VK_SYSTEM_ALLOCATION_SCOPE_OBJECT);
  if (room == NULL) abort();
  memset(room, 0, size);
  return room;
}
// With which callbacks an object was made: with these it must go.
static void release(const VkAllocationCallbacks* made, const VkAllocationCallbacks* by, void* room) {
  if (made != by) note("violated: destroyed with other callbacks than created");
  if (by == NULL) {
    free(room);
  } else {
    by->pfnFree(by->pUserData, room);
  }
}

// Instances and devices.

static VkResult VKAPI_CALL enumerate_instance_extensions(const char* layer, uint32_t* count,
                                                         VkExtensionProperties* to) {
  (void)layer;
  (void)to;
  *count = 0;
  return VK_SUCCESS;
}
static VkResult VKAPI_CALL create_instance(const VkInstanceCreateInfo* info, const VkAllocationCallbacks* by,
                                           VkInstance* to) {
  (void)info;
  struct handle* made = allocate(by, sizeof *made);
  made->allocator = by;
  set_loader_magic_value(made);
  *to = (VkInstance)(void*)made;
  return VK_SUCCESS;
}
static void VKAPI_CALL destroy_instance(VkInstance instance, const VkAllocationCallbacks* by) {
  struct handle* made = (struct handle*)(void*)instance;
  if (made != NULL) release(made->allocator, by, made);
}
static VkResult VKAPI_CALL enumerate_devices(VkInstance instance, uint32_t* count, VkPhysicalDevice* to) {
  (void)instance;
  // One for each instance: the loader writes into it.
  if (to == NULL) {
    *count = 1;
    return VK_SUCCESS;
  }
  if (*count == 0) return VK_INCOMPLETE;
  *count = 1;
  set_loader_magic_value(&the_physical_device);
  *to = (VkPhysicalDevice)(void*)&the_physical_device;
  return VK_SUCCESS;
}
static void VKAPI_CALL get_properties(VkPhysicalDevice device, VkPhysicalDeviceProperties* to) {
  (void)device;
  memset(to, 0, sizeof *to);
  to->apiVersion = VK_API_VERSION_1_3;
  to->driverVersion = 7;
  to->vendorID = kVendor;
  to->deviceID = kDevice;
  to->deviceType = VK_PHYSICAL_DEVICE_TYPE_OTHER;
  strcpy(to->deviceName, "keeping driver");
  memcpy(to->pipelineCacheUUID, kUuid, sizeof kUuid);
  memset(&to->limits, 0x10, sizeof to->limits);  // large numbers: nothing is near them
}
static void VKAPI_CALL get_properties2(VkPhysicalDevice device, VkPhysicalDeviceProperties2* to) {
  get_properties(device, &to->properties);
  for (VkBaseOutStructure* each = to->pNext; each != NULL; each = each->pNext) {
    if (each->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES)
      strcpy(((VkPhysicalDeviceDriverProperties*)each)->driverName, "keeping");
    if (each->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES) {
      VkPhysicalDeviceVulkan12Properties* more = (VkPhysicalDeviceVulkan12Properties*)each;
      more->maxPerStageDescriptorUpdateAfterBindStorageBuffers = 1 << 20;
      more->maxDescriptorSetUpdateAfterBindStorageBuffers = 1 << 20;
    }
  }
}
static void VKAPI_CALL get_features(VkPhysicalDevice device, VkPhysicalDeviceFeatures* to) {
  (void)device;
  memset(to, 0, sizeof *to);
}
static void VKAPI_CALL get_features2(VkPhysicalDevice device, VkPhysicalDeviceFeatures2* to) {
  get_features(device, &to->features);
  for (VkBaseOutStructure* each = to->pNext; each != NULL; each = each->pNext) {
    if (each->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES)
      ((VkPhysicalDeviceVulkan13Features*)each)->pipelineCreationCacheControl = VK_TRUE;
  }
}
static void VKAPI_CALL get_queues(VkPhysicalDevice device, uint32_t* count, VkQueueFamilyProperties* to) {
  (void)device;
  if (to != NULL && *count > 0) {
    memset(to, 0, sizeof *to);
    to->queueFlags = VK_QUEUE_COMPUTE_BIT | VK_QUEUE_GRAPHICS_BIT;
    to->queueCount = 1;
  }
  *count = 1;
}
static void VKAPI_CALL get_memory(VkPhysicalDevice device, VkPhysicalDeviceMemoryProperties* to) {
  (void)device;
  memset(to, 0, sizeof *to);
}
static void VKAPI_CALL get_format(VkPhysicalDevice device, VkFormat format, VkFormatProperties* to) {
  (void)device;
  (void)format;
  memset(to, 0, sizeof *to);
}
// The loader takes no driver without these two.
static VkResult VKAPI_CALL get_image_format(VkPhysicalDevice device, VkFormat format, VkImageType type,
                                            VkImageTiling tiling, VkImageUsageFlags usage,
                                            VkImageCreateFlags flags, VkImageFormatProperties* to) {
  (void)device;
  (void)format;
  (void)type;
  (void)tiling;
  (void)usage;
  (void)flags;
  memset(to, 0, sizeof *to);
  return VK_ERROR_FORMAT_NOT_SUPPORTED;
}
static void VKAPI_CALL get_sparse_format(VkPhysicalDevice device, VkFormat format, VkImageType type,
                                         VkSampleCountFlagBits samples, VkImageUsageFlags usage,
                                         VkImageTiling tiling, uint32_t* count,
                                         VkSparseImageFormatProperties* to) {
  (void)device;
  (void)format;
  (void)type;
  (void)samples;
  (void)usage;
  (void)tiling;
  (void)to;
  *count = 0;
}
static VkResult VKAPI_CALL enumerate_device_extensions(VkPhysicalDevice device, const char* layer,
                                                       uint32_t* count, VkExtensionProperties* to) {
  static const char* const kNames[] = {"VK_EXT_pipeline_creation_cache_control", "VK_KHR_pipeline_binary"};
  (void)device;
  (void)layer;
  if (to == NULL) {
    *count = 2;
    return VK_SUCCESS;
  }
  const uint32_t given = *count < 2 ? *count : 2;
  for (uint32_t i = 0; i < given; ++i) {
    memset(&to[i], 0, sizeof to[i]);
    strcpy(to[i].extensionName, kNames[i]);
    to[i].specVersion = 1;
  }
  *count = given;
  return given < 2 ? VK_INCOMPLETE : VK_SUCCESS;
}
static VkResult VKAPI_CALL create_device(VkPhysicalDevice physical, const VkDeviceCreateInfo* info,
                                         const VkAllocationCallbacks* by, VkDevice* to) {
  (void)physical;
  (void)info;
  struct device* made = allocate(by, sizeof *made);
  made->base.allocator = by;
  set_loader_magic_value(made);
  *to = (VkDevice)(void*)made;
  return VK_SUCCESS;
}
static void VKAPI_CALL destroy_device(VkDevice device, const VkAllocationCallbacks* by) {
  struct device* made = (struct device*)(void*)device;
  if (made == NULL) return;
  if (made->objects != 0) note("left: %d", (int)made->objects);
  release(made->base.allocator, by, made);
}
static void VKAPI_CALL get_queue(VkDevice device, uint32_t family, uint32_t index, VkQueue* to) {
  (void)family;
  (void)index;
  *to = (VkQueue)(void*)device;
}
static void count_object(VkDevice device, int by) {
  ((struct device*)(void*)device)->objects += by;
}

// Modules and layouts.

static VkResult VKAPI_CALL create_module(VkDevice device, const VkShaderModuleCreateInfo* info,
                                         const VkAllocationCallbacks* by, VkShaderModule* to) {
  (void)by;
  struct module* made = calloc(1, sizeof *made);
  made->hash = 14695981039346656037u;
  for (size_t i = 0; i < info->codeSize / 4; ++i) made->hash = (made->hash ^ info->pCode[i]) * 1099511628211u;
  count_object(device, 1);
  *to = (VkShaderModule)(uintptr_t)made;
  return VK_SUCCESS;
}
static void VKAPI_CALL destroy_module(VkDevice device, VkShaderModule module,
                                      const VkAllocationCallbacks* by) {
  (void)by;
  if (module != VK_NULL_HANDLE) count_object(device, -1);
  free((void*)(uintptr_t)module);
}
static VkResult VKAPI_CALL create_set_layout(VkDevice device, const VkDescriptorSetLayoutCreateInfo* info,
                                             const VkAllocationCallbacks* by, VkDescriptorSetLayout* to) {
  (void)info;
  (void)by;
  count_object(device, 1);
  *to = (VkDescriptorSetLayout)(uintptr_t)malloc(1);
  return VK_SUCCESS;
}
static void VKAPI_CALL destroy_set_layout(VkDevice device, VkDescriptorSetLayout layout,
                                          const VkAllocationCallbacks* by) {
  (void)by;
  if (layout != VK_NULL_HANDLE) count_object(device, -1);
  free((void*)(uintptr_t)layout);
}
static VkResult VKAPI_CALL create_layout(VkDevice device, const VkPipelineLayoutCreateInfo* info,
                                         const VkAllocationCallbacks* by, VkPipelineLayout* to) {
  (void)info;
  (void)by;
  count_object(device, 1);
  *to = (VkPipelineLayout)(uintptr_t)malloc(1);
  return VK_SUCCESS;
}
static void VKAPI_CALL destroy_layout(VkDevice device, VkPipelineLayout layout,
                                      const VkAllocationCallbacks* by) {
  (void)by;
  if (layout != VK_NULL_HANDLE) count_object(device, -1);
  free((void*)(uintptr_t)layout);
}

// Pipeline caches. Nobody but who merges into one may use it meanwhile, nor any two who use one that its
// program synchronizes.

static void begin_use(struct cache* cache, int alone) {
  const int users = atomic_fetch_add(&cache->users, alone ? 1000 : 1);
  const int own = (cache->flags & VK_PIPELINE_CACHE_CREATE_EXTERNALLY_SYNCHRONIZED_BIT) != 0;
  if (users != 0 && (alone || own || users >= 1000)) note("violated: used by two at once");
}
static void end_use(struct cache* cache, int alone) {
  atomic_fetch_sub(&cache->users, alone ? 1000 : 1);
}
static const struct record* find(struct cache* cache, uint64_t hash) {
  for (size_t i = 0; i < cache->count; ++i) {
    if (cache->records[i].hash == hash) return &cache->records[i];
  }
  return NULL;
}
static void keep(struct cache* cache, const struct record* record) {
  if (find(cache, record->hash) != NULL) return;
  if (cache->count == cache->room) {
    cache->room = cache->room * 2 + 4;
    cache->records = realloc(cache->records, cache->room * sizeof *cache->records);
    if (cache->records == NULL) abort();
  }
  cache->records[cache->count++] = *record;
}
static void write_header(uint8_t* to) {
  const uint32_t words[4] = {kHeader, VK_PIPELINE_CACHE_HEADER_VERSION_ONE, kVendor, kDevice};
  memcpy(to, words, sizeof words);
  memcpy(to + sizeof words, kUuid, sizeof kUuid);
}
static VkResult VKAPI_CALL create_cache(VkDevice device, const VkPipelineCacheCreateInfo* info,
                                        const VkAllocationCallbacks* by, VkPipelineCache* to) {
  if (info->initialDataSize != 0 && behaves("refuses")) {
    note("refused %zu bytes", info->initialDataSize);
    return VK_ERROR_OUT_OF_HOST_MEMORY;
  }
  struct cache* made = allocate(by, sizeof *made);
  pthread_mutex_init(&made->mutex, NULL);
  made->flags = info->flags;
  made->allocator = by;
  if (info->initialDataSize != 0) {
    uint8_t header[kHeader];
    write_header(header);
    const uint8_t* data = info->pInitialData;
    const size_t rest = info->initialDataSize - kHeader;
    if (info->initialDataSize < kHeader || memcmp(header, data, kHeader) != 0 ||
        rest % sizeof(struct record) != 0) {
      note("violated: data of another driver");
    } else {
      for (size_t i = 0; i < rest / sizeof(struct record); ++i) {
        struct record record;
        memcpy(&record, data + kHeader + i * sizeof record, sizeof record);
        keep(made, &record);
      }
      note("took %zu", made->count);
    }
  }
  count_object(device, 1);
  *to = (VkPipelineCache)(uintptr_t)made;
  return VK_SUCCESS;
}
static void VKAPI_CALL destroy_cache(VkDevice device, VkPipelineCache handle,
                                     const VkAllocationCallbacks* by) {
  struct cache* cache = (struct cache*)(uintptr_t)handle;
  if (cache == NULL) return;
  begin_use(cache, 1);
  count_object(device, -1);
  free(cache->records);
  pthread_mutex_destroy(&cache->mutex);
  release(cache->allocator, by, cache);
}
static VkResult VKAPI_CALL get_data(VkDevice device, VkPipelineCache handle, size_t* size, void* to) {
  (void)device;
  struct cache* cache = (struct cache*)(uintptr_t)handle;
  begin_use(cache, 0);
  pthread_mutex_lock(&cache->mutex);
  const size_t count = behaves("useless") ? 0 : cache->count;
  const size_t whole = kHeader + count * sizeof(struct record);
  VkResult result = VK_SUCCESS;
  if (to == NULL) {
    *size = whole;
  } else if (*size < kHeader) {
    *size = 0;
    result = VK_INCOMPLETE;
  } else {
    size_t fit = (*size - kHeader) / sizeof(struct record);
    if (fit > count) fit = count;
    write_header(to);
    if (fit != 0) memcpy((uint8_t*)to + kHeader, cache->records, fit * sizeof(struct record));
    *size = kHeader + fit * sizeof(struct record);
    if (fit < count) result = VK_INCOMPLETE;
  }
  pthread_mutex_unlock(&cache->mutex);
  end_use(cache, 0);
  return result;
}
static VkResult VKAPI_CALL merge(VkDevice device, VkPipelineCache into, uint32_t count,
                                 const VkPipelineCache* from) {
  (void)device;
  struct cache* sum = (struct cache*)(uintptr_t)into;
  begin_use(sum, 1);
  for (uint32_t i = 0; i < count; ++i) {
    struct cache* part = (struct cache*)(uintptr_t)from[i];
    begin_use(part, 0);
    pthread_mutex_lock(&part->mutex);
    for (size_t at = 0; at < part->count; ++at) keep(sum, &part->records[at]);
    pthread_mutex_unlock(&part->mutex);
    end_use(part, 0);
  }
  end_use(sum, 1);
  return VK_SUCCESS;
}

// Pipelines.

static void take_time(void) {
  const struct timespec time = {.tv_sec = 0, .tv_nsec = behaves("slow") ? 50000000 : 5000000};
  nanosleep(&time, NULL);
}
static VkResult create_pipeline(VkDevice device, VkPipelineCache handle, VkShaderModule module,
                                const void* next, const VkAllocationCallbacks* by, VkPipeline* to) {
  struct cache* cache = (struct cache*)(uintptr_t)handle;
  struct record record = {((struct module*)(uintptr_t)module)->hash, "made"};
  int is_found = 0;
  if (cache != NULL) {
    begin_use(cache, 0);
    pthread_mutex_lock(&cache->mutex);
    const struct record* found = find(cache, record.hash);
    is_found = found != NULL;
    if (is_found) record = *found;
    pthread_mutex_unlock(&cache->mutex);
  }
  if (behaves("slow") ? is_found : !is_found) take_time();
  note("%s %016llx %.*s",
       is_found        ? "found"
       : cache == NULL ? "uncached"
                       : "compiled",
       (unsigned long long)record.hash, kCode, record.code);
  if (cache != NULL) {
    pthread_mutex_lock(&cache->mutex);
    keep(cache, &record);
    pthread_mutex_unlock(&cache->mutex);
    end_use(cache, 0);
  }
  for (const VkBaseInStructure* each = next; each != NULL; each = each->pNext) {
    if (each->sType != VK_STRUCTURE_TYPE_PIPELINE_CREATION_FEEDBACK_CREATE_INFO) continue;
    const VkPipelineCreationFeedbackCreateInfo* told = (const void*)each;
    told->pPipelineCreationFeedback->duration = 0;
    told->pPipelineCreationFeedback->flags =
        VK_PIPELINE_CREATION_FEEDBACK_VALID_BIT |
        (is_found ? VK_PIPELINE_CREATION_FEEDBACK_APPLICATION_PIPELINE_CACHE_HIT_BIT : 0u);
  }
  count_object(device, 1);
  const VkAllocationCallbacks** made = allocate(by, sizeof *made);
  *made = by;
  *to = (VkPipeline)(uintptr_t)made;
  return VK_SUCCESS;
}
static VkResult VKAPI_CALL create_compute(VkDevice device, VkPipelineCache cache, uint32_t count,
                                          const VkComputePipelineCreateInfo* infos,
                                          const VkAllocationCallbacks* by, VkPipeline* to) {
  for (uint32_t i = 0; i < count; ++i)
    create_pipeline(device, cache, infos[i].stage.module, infos[i].pNext, by, &to[i]);
  return VK_SUCCESS;
}
static VkResult VKAPI_CALL create_graphics(VkDevice device, VkPipelineCache cache, uint32_t count,
                                           const VkGraphicsPipelineCreateInfo* infos,
                                           const VkAllocationCallbacks* by, VkPipeline* to) {
  for (uint32_t i = 0; i < count; ++i)
    create_pipeline(device, cache, infos[i].pStages[0].module, infos[i].pNext, by, &to[i]);
  return VK_SUCCESS;
}
static void VKAPI_CALL destroy_pipeline(VkDevice device, VkPipeline pipeline,
                                        const VkAllocationCallbacks* by) {
  if (pipeline == VK_NULL_HANDLE) return;
  const VkAllocationCallbacks** made = (const VkAllocationCallbacks**)(uintptr_t)pipeline;
  count_object(device, -1);
  release(*made, by, made);
}

// What the loader asks for.

static PFN_vkVoidFunction VKAPI_CALL device_function(VkDevice device, const char* name);
static PFN_vkVoidFunction VKAPI_CALL function_of(const char* name) {
#define ONE(is, function) \
  if (strcmp(name, is) == 0) return (PFN_vkVoidFunction)(function)
  ONE("vkEnumerateInstanceExtensionProperties", enumerate_instance_extensions);
  ONE("vkCreateInstance", create_instance);
  ONE("vkDestroyInstance", destroy_instance);
  ONE("vkEnumeratePhysicalDevices", enumerate_devices);
  ONE("vkGetPhysicalDeviceProperties", get_properties);
  ONE("vkGetPhysicalDeviceProperties2", get_properties2);
  ONE("vkGetPhysicalDeviceFeatures", get_features);
  ONE("vkGetPhysicalDeviceFeatures2", get_features2);
  ONE("vkGetPhysicalDeviceQueueFamilyProperties", get_queues);
  ONE("vkGetPhysicalDeviceMemoryProperties", get_memory);
  ONE("vkGetPhysicalDeviceFormatProperties", get_format);
  ONE("vkGetPhysicalDeviceImageFormatProperties", get_image_format);
  ONE("vkGetPhysicalDeviceSparseImageFormatProperties", get_sparse_format);
  ONE("vkEnumerateDeviceExtensionProperties", enumerate_device_extensions);
  ONE("vkCreateDevice", create_device);
  ONE("vkGetDeviceProcAddr", device_function);
  ONE("vkDestroyDevice", destroy_device);
  ONE("vkGetDeviceQueue", get_queue);
  ONE("vkCreateShaderModule", create_module);
  ONE("vkDestroyShaderModule", destroy_module);
  ONE("vkCreateDescriptorSetLayout", create_set_layout);
  ONE("vkDestroyDescriptorSetLayout", destroy_set_layout);
  ONE("vkCreatePipelineLayout", create_layout);
  ONE("vkDestroyPipelineLayout", destroy_layout);
  ONE("vkCreatePipelineCache", create_cache);
  ONE("vkDestroyPipelineCache", destroy_cache);
  ONE("vkGetPipelineCacheData", get_data);
  ONE("vkMergePipelineCaches", merge);
  ONE("vkCreateComputePipelines", create_compute);
  ONE("vkCreateGraphicsPipelines", create_graphics);
  ONE("vkDestroyPipeline", destroy_pipeline);
#undef ONE
  return NULL;
}
static PFN_vkVoidFunction VKAPI_CALL device_function(VkDevice device, const char* name) {
  (void)device;
  return function_of(name);
}

SHOWN PFN_vkVoidFunction VKAPI_CALL vk_icdGetInstanceProcAddr(VkInstance instance, const char* name) {
  (void)instance;
  return function_of(name);
}
SHOWN PFN_vkVoidFunction VKAPI_CALL vk_icdGetPhysicalDeviceProcAddr(VkInstance instance, const char* name) {
  (void)instance;
  (void)name;
  return NULL;  // no functions of physical devices that the loader would not know
}
SHOWN VkResult VKAPI_CALL vk_icdNegotiateLoaderICDInterfaceVersion(uint32_t* version) {
  if (*version > 5) *version = 5;
  return VK_SUCCESS;
}
