// A program that uses Vulkan in every way that a layer could spoil, and knows nothing of larder. What it
// prints is the same each time: with the layer and without, cold and warm. Arguments: a file with SPIR-V, a
// file for what its own cache holds, and letters, one after the other:
//   n ten pipelines without a cache         d runs one and prints what it writes
//   t eight threads that create some        c a cache of its own, read from its file and written to it
//   e such a cache that it synchronizes     m two caches, one merged into the other
//   g a graphics pipeline                   f pipelines that tell whether they were found
//   a callbacks for its memory              i two instances with a device each
//   k a child that starts afresh            b with VK_KHR_pipeline_binary
//   s destroys its device as it exits       x ends without destroying anything
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vulkan/vulkan_core.h>

enum { kPlace = 305419896, kRuns = 8, kThreads = 8 };

static uint32_t* words;
static size_t words_size;
static const char* cache_path;
static const char* letters;

struct host {
  VkInstance instance;
  VkPhysicalDevice physical;
  VkDevice device;
  VkDescriptorSetLayout set_layout;
  VkPipelineLayout layout;
  uint32_t family;
};

static void need(VkResult result, const char* what) {
  if (result == VK_SUCCESS) return;
  printf("%s: %d\n", what, (int)result);
  fflush(stdout);
  _exit(1);
}

static int wants(char letter) {
  return strchr(letters, letter) != NULL;
}

static struct host begin(void) {
  struct host host;
  memset(&host, 0, sizeof host);
  const VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                         .pApplicationName = "user",
                                         .apiVersion = VK_API_VERSION_1_3};
  const VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                     .pApplicationInfo = &application};
  const VkResult created = vkCreateInstance(&info, NULL, &host.instance);
  if (created == VK_ERROR_INCOMPATIBLE_DRIVER) exit(77);
  need(created, "instance");
  uint32_t count = 1;
  const VkResult found = vkEnumeratePhysicalDevices(host.instance, &count, &host.physical);
  if (found < 0 || count == 0) exit(77);
  VkQueueFamilyProperties families[8];
  uint32_t families_count = 8;
  vkGetPhysicalDeviceQueueFamilyProperties(host.physical, &families_count, families);
  while (host.family < families_count && (families[host.family].queueFlags & VK_QUEUE_COMPUTE_BIT) == 0)
    ++host.family;
  const float priority = 1;
  const VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                         .queueFamilyIndex = host.family,
                                         .queueCount = 1,
                                         .pQueuePriorities = &priority};
  const char* extension = "VK_KHR_pipeline_binary";
  const VkPhysicalDeviceVulkan13Features features = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES,
      .pipelineCreationCacheControl = VK_TRUE};
  const VkDeviceCreateInfo device = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                     .pNext = wants('e') ? &features : NULL,
                                     .queueCreateInfoCount = 1,
                                     .pQueueCreateInfos = &queue,
                                     .enabledExtensionCount = wants('b') ? 1u : 0u,
                                     .ppEnabledExtensionNames = &extension};
  need(vkCreateDevice(host.physical, &device, NULL, &host.device), "device");
  const VkDescriptorSetLayoutBinding binding = {.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                                .descriptorCount = 1,
                                                .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT};
  const VkDescriptorSetLayoutCreateInfo set = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO, .bindingCount = 1, .pBindings = &binding};
  need(vkCreateDescriptorSetLayout(host.device, &set, NULL, &host.set_layout), "set layout");
  const VkPipelineLayoutCreateInfo layout = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                             .setLayoutCount = 1,
                                             .pSetLayouts = &host.set_layout};
  need(vkCreatePipelineLayout(host.device, &layout, NULL, &host.layout), "layout");
  // By each of the two ways to a function.
  if (vkGetDeviceProcAddr(host.device, "vkCreateComputePipelines") == NULL ||
      vkGetInstanceProcAddr(host.instance, "vkCreateComputePipelines") == NULL ||
      vkGetInstanceProcAddr(NULL, "vkCreateInstance") == NULL)
    printf("a function is missing\n");
  if (vkGetDeviceProcAddr(host.device, "vkCreateRayTracingPipelinesKHR") != NULL ||
      vkGetDeviceProcAddr(host.device, "vkNoSuchFunction") != NULL)
    printf("a function too many\n");
  return host;
}

static void end(const struct host* host) {
  vkDestroyPipelineLayout(host->device, host->layout, NULL);
  vkDestroyDescriptorSetLayout(host->device, host->set_layout, NULL);
  vkDestroyDevice(host->device, NULL);
  vkDestroyInstance(host->instance, NULL);
}

static VkShaderModule module_of(const struct host* host, uint32_t factor) {
  uint32_t* copy = malloc(words_size);
  memcpy(copy, words, words_size);
  for (size_t i = 0; i < words_size / 4; ++i) {
    if (copy[i] == kPlace) copy[i] = factor;
  }
  const VkShaderModuleCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = words_size, .pCode = copy};
  VkShaderModule module;
  need(vkCreateShaderModule(host->device, &info, NULL, &module), "module");
  free(copy);
  return module;
}

static VkPipeline pipeline_of(const struct host* host, VkPipelineCache cache, uint32_t factor,
                              const void* next, const VkAllocationCallbacks* callbacks) {
  const VkShaderModule module = module_of(host, factor);
  const VkComputePipelineCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
      .pNext = next,
      .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                .module = module,
                .pName = "main"},
      .layout = host->layout};
  VkPipeline pipeline;
  need(vkCreateComputePipelines(host->device, cache, 1, &info, callbacks, &pipeline), "pipeline");
  vkDestroyShaderModule(host->device, module, NULL);
  return pipeline;
}

static void create_some(const struct host* host, VkPipelineCache cache, uint32_t first, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i)
    vkDestroyPipeline(host->device, pipeline_of(host, cache, first + i, NULL, NULL), NULL);
}

static void run(const struct host* host) {
  VkPhysicalDeviceMemoryProperties memory;
  vkGetPhysicalDeviceMemoryProperties(host->physical, &memory);
  const VkBufferCreateInfo buffer_info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                          .size = kRuns * 4,
                                          .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT};
  VkBuffer buffer;
  need(vkCreateBuffer(host->device, &buffer_info, NULL, &buffer), "buffer");
  VkMemoryRequirements requirements;
  vkGetBufferMemoryRequirements(host->device, buffer, &requirements);
  const VkMemoryPropertyFlags wanted =
      VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  uint32_t type = 0;
  while ((requirements.memoryTypeBits >> type & 1) == 0 ||
         (memory.memoryTypes[type].propertyFlags & wanted) != wanted)
    ++type;
  const VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                         .allocationSize = requirements.size,
                                         .memoryTypeIndex = type};
  VkDeviceMemory room;
  need(vkAllocateMemory(host->device, &allocate, NULL, &room), "memory");
  need(vkBindBufferMemory(host->device, buffer, room, 0), "bind");
  const VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1};
  const VkDescriptorPoolCreateInfo pool_info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                                .maxSets = 1,
                                                .poolSizeCount = 1,
                                                .pPoolSizes = &size};
  VkDescriptorPool pool;
  need(vkCreateDescriptorPool(host->device, &pool_info, NULL, &pool), "pool");
  const VkDescriptorSetAllocateInfo set_info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                                .descriptorPool = pool,
                                                .descriptorSetCount = 1,
                                                .pSetLayouts = &host->set_layout};
  VkDescriptorSet set;
  need(vkAllocateDescriptorSets(host->device, &set_info, &set), "set");
  const VkDescriptorBufferInfo whole = {buffer, 0, VK_WHOLE_SIZE};
  const VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                      .dstSet = set,
                                      .descriptorCount = 1,
                                      .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                      .pBufferInfo = &whole};
  vkUpdateDescriptorSets(host->device, 1, &write, 0, NULL);
  const VkCommandPoolCreateInfo commands_info = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                                 .queueFamilyIndex = host->family};
  VkCommandPool commands;
  need(vkCreateCommandPool(host->device, &commands_info, NULL, &commands), "command pool");
  const VkCommandBufferAllocateInfo command_info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                                    .commandPool = commands,
                                                    .commandBufferCount = 1};
  VkCommandBuffer command;
  need(vkAllocateCommandBuffers(host->device, &command_info, &command), "command buffer");
  const VkPipeline pipeline = pipeline_of(host, VK_NULL_HANDLE, 7, NULL, NULL);
  const VkCommandBufferBeginInfo once = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  need(vkBeginCommandBuffer(command, &once), "begin");
  vkCmdBindPipeline(command, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
  vkCmdBindDescriptorSets(command, VK_PIPELINE_BIND_POINT_COMPUTE, host->layout, 0, 1, &set, 0, NULL);
  vkCmdDispatch(command, kRuns / 4, 1, 1);
  need(vkEndCommandBuffer(command), "end");
  VkQueue queue;
  vkGetDeviceQueue(host->device, host->family, 0, &queue);
  const VkSubmitInfo submit = {
      .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &command};
  need(vkQueueSubmit(queue, 1, &submit, VK_NULL_HANDLE), "submit");
  need(vkQueueWaitIdle(queue), "wait");
  const uint32_t* values;
  need(vkMapMemory(host->device, room, 0, VK_WHOLE_SIZE, 0, (void**)&values), "map");
  printf("d:");
  for (int i = 0; i < kRuns; ++i) printf(" %u", values[i]);
  printf("\n");
  vkUnmapMemory(host->device, room);
  vkDestroyPipeline(host->device, pipeline, NULL);
  vkDestroyCommandPool(host->device, commands, NULL);
  vkDestroyDescriptorPool(host->device, pool, NULL);
  vkDestroyBuffer(host->device, buffer, NULL);
  vkFreeMemory(host->device, room, NULL);
}

static const struct host* shared;
static void* create_on_thread(void* number) {
  create_some(shared, VK_NULL_HANDLE, 100 + 4 * *(uint32_t*)number, 6);  // some of them are its neighbour's
  return NULL;
}
static void use_threads(const struct host* host) {
  pthread_t threads[kThreads];
  uint32_t numbers[kThreads];
  shared = host;
  for (uint32_t i = 0; i < kThreads; ++i) {
    numbers[i] = i;
    if (pthread_create(&threads[i], NULL, create_on_thread, &numbers[i]) != 0) abort();
  }
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  printf("t: done\n");
}

// What its file says is given to the cache, and what the cache says is written there.
static void use_own(const struct host* host, VkPipelineCacheCreateFlags flags, char letter, uint32_t first) {
  char* before = NULL;
  size_t before_size = 0;
  FILE* file = fopen(cache_path, "rb");
  if (file != NULL) {
    before = malloc(1 << 20);
    before_size = fread(before, 1, 1 << 20, file);
    fclose(file);
  }
  const VkPipelineCacheCreateInfo info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO,
                                          .flags = flags,
                                          .initialDataSize = before_size,
                                          .pInitialData = before};
  VkPipelineCache cache;
  need(vkCreatePipelineCache(host->device, &info, NULL, &cache), "cache");
  free(before);
  create_some(host, cache, first, 3);
  size_t size = 0;
  need(vkGetPipelineCacheData(host->device, cache, &size, NULL), "size of data");
  unsigned char* data = malloc(size);
  need(vkGetPipelineCacheData(host->device, cache, &size, data), "data");
  VkPhysicalDeviceProperties properties;
  vkGetPhysicalDeviceProperties(host->physical, &properties);
  const uint32_t expected[4] = {32, VK_PIPELINE_CACHE_HEADER_VERSION_ONE, properties.vendorID,
                                properties.deviceID};
  const int good = size >= 32 && memcmp(data, expected, 16) == 0 &&
                   memcmp(data + 16, properties.pipelineCacheUUID, VK_UUID_SIZE) == 0;
  printf("%c: its data begins %s\n", letter, good ? "as it must" : "wrong");
  file = fopen(cache_path, "wb");
  if (file == NULL || fwrite(data, 1, size, file) != size || fclose(file) != 0) abort();
  free(data);
  vkDestroyPipelineCache(host->device, cache, NULL);
  vkDestroyPipelineCache(host->device, VK_NULL_HANDLE, NULL);
}

static void use_two(const struct host* host) {
  const VkPipelineCacheCreateInfo info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO};
  VkPipelineCache caches[2];
  need(vkCreatePipelineCache(host->device, &info, NULL, &caches[0]), "first cache");
  need(vkCreatePipelineCache(host->device, &info, NULL, &caches[1]), "second cache");
  create_some(host, caches[0], 300, 2);
  create_some(host, caches[1], 302, 2);
  need(vkMergePipelineCaches(host->device, caches[0], 1, &caches[1]), "merge");
  create_some(host, caches[0], 302, 2);
  vkDestroyPipelineCache(host->device, caches[0], NULL);
  vkDestroyPipelineCache(host->device, caches[1], NULL);
  printf("m: done\n");
}

static void use_graphics(const struct host* host) {
  const VkShaderModule module = module_of(host, 400);
  const VkPipelineShaderStageCreateInfo stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                                                 .stage = VK_SHADER_STAGE_VERTEX_BIT,
                                                 .module = module,
                                                 .pName = "main"};
  const VkGraphicsPipelineCreateInfo info = {.sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO,
                                             .stageCount = 1,
                                             .pStages = &stage,
                                             .layout = host->layout};
  VkPipeline pipeline;
  need(vkCreateGraphicsPipelines(host->device, VK_NULL_HANDLE, 1, &info, NULL, &pipeline),
       "graphics pipeline");
  vkDestroyPipeline(host->device, pipeline, NULL);
  vkDestroyShaderModule(host->device, module, NULL);
  printf("g: done\n");
}

static void use_feedback(const struct host* host) {
  VkPipelineCreationFeedback feedback = {0};
  const VkPipelineCreationFeedbackCreateInfo told = {
      .sType = VK_STRUCTURE_TYPE_PIPELINE_CREATION_FEEDBACK_CREATE_INFO,
      .pPipelineCreationFeedback = &feedback};
  vkDestroyPipeline(host->device, pipeline_of(host, VK_NULL_HANDLE, 500, &told, NULL), NULL);
  vkDestroyPipeline(host->device, pipeline_of(host, VK_NULL_HANDLE, 500, &told, NULL), NULL);
  printf("f: %s\n", (feedback.flags & VK_PIPELINE_CREATION_FEEDBACK_APPLICATION_PIPELINE_CACHE_HIT_BIT) != 0
                        ? "found in a cache that it did not give"
                        : "no cache, no hit");
}

static int blocks;
static VKAPI_ATTR void* VKAPI_CALL allocate(void* user, size_t size, size_t alignment,
                                            VkSystemAllocationScope scope) {
  (void)user;
  (void)scope;
  void* room = NULL;
  if (posix_memalign(&room, alignment < sizeof(void*) ? sizeof(void*) : alignment, size) != 0) return NULL;
  ++blocks;
  return room;
}
static VKAPI_ATTR void* VKAPI_CALL reallocate(void* user, void* old, size_t size, size_t alignment,
                                              VkSystemAllocationScope scope) {
  (void)user;
  (void)alignment;
  (void)scope;
  if (old == NULL) ++blocks;
  return realloc(old, size);
}
static VKAPI_ATTR void VKAPI_CALL release(void* user, void* room) {
  (void)user;
  if (room != NULL) --blocks;
  free(room);
}
static void use_callbacks(const struct host* host) {
  const VkAllocationCallbacks callbacks = {
      .pfnAllocation = allocate, .pfnReallocation = reallocate, .pfnFree = release};
  const VkPipelineCacheCreateInfo info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO};
  VkPipelineCache cache;
  need(vkCreatePipelineCache(host->device, &info, &callbacks, &cache), "cache with callbacks");
  vkDestroyPipeline(host->device, pipeline_of(host, cache, 600, NULL, &callbacks), &callbacks);
  vkDestroyPipeline(host->device, pipeline_of(host, VK_NULL_HANDLE, 601, NULL, &callbacks), &callbacks);
  vkDestroyPipelineCache(host->device, cache, &callbacks);
  printf("a: %d blocks left\n", blocks);
}

static void use_child(void) {
  fflush(stdout);
  const pid_t child = fork();
  if (child < 0) abort();
  if (child == 0) {
    const struct host own = begin();
    create_some(&own, VK_NULL_HANDLE, 700, 2);
    end(&own);
    _exit(5);
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child) abort();
  printf("k: child %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

static struct host last;
static void at_exit(void) {
  end(&last);
  printf("s: destroyed\n");
  fflush(stdout);
}

int main(int count, char** arguments) {
  if (count != 4) return 2;
  cache_path = arguments[2];
  letters = arguments[3];
  FILE* file = fopen(arguments[1], "rb");
  if (file == NULL) return 2;
  words = malloc(1 << 16);
  words_size = fread(words, 1, 1 << 16, file);
  fclose(file);
  if (wants('s')) atexit(at_exit);
  const struct host host = begin();
  for (const char* letter = letters; *letter != '\0'; ++letter) {
    switch (*letter) {
      case 'n':
        create_some(&host, VK_NULL_HANDLE, 1, 10);
        printf("n: done\n");
        break;
      case 'd':
        run(&host);
        break;
      case 't':
        use_threads(&host);
        break;
      case 'c':
        use_own(&host, 0, 'c', 200);
        break;
      case 'e':
        use_own(&host, VK_PIPELINE_CACHE_CREATE_EXTERNALLY_SYNCHRONIZED_BIT, 'e', 210);
        break;
      case 'm':
        use_two(&host);
        break;
      case 'g':
        use_graphics(&host);
        break;
      case 'f':
        use_feedback(&host);
        break;
      case 'a':
        use_callbacks(&host);
        break;
      case 'k':
        use_child();
        break;
      case 'i': {
        const struct host second = begin();
        create_some(&second, VK_NULL_HANDLE, 20, 2);
        create_some(&host, VK_NULL_HANDLE, 20, 3);
        end(&second);
        create_some(&host, VK_NULL_HANDLE, 23, 1);
        printf("i: done\n");
        break;
      }
      default:
        break;
    }
  }
  fflush(stdout);
  if (wants('x')) _exit(0);
  last = host;
  if (!wants('s')) end(&host);
  free(words);
  return 0;
}
