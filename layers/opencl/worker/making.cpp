#include "layers/opencl/worker/making.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <vector>

#include "format/program_wish.hpp"
#include "larder/opencl.hpp"
#include "program/guest.hpp"
#include "program/opencl/functions.hpp"

namespace larder::layer {
namespace {

namespace fs = std::filesystem;

// What larder's own use of OpenCL goes without.
struct Devices {
  decltype(&::clGetPlatformIDs) platforms;
  decltype(&::clGetDeviceIDs) of_platform;
  decltype(&::clCreateContext) create_context;
  decltype(&::clReleaseContext) release_context;
};

const Devices* devices_of_loader() {
  static const std::optional<Devices> all = []() -> std::optional<Devices> {
    if (opencl::loaded_functions() == nullptr) return std::nullopt;
    void* const loader = ::dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (loader == nullptr) return std::nullopt;
    const Devices found{reinterpret_cast<decltype(&::clGetPlatformIDs)>(::dlsym(loader, "clGetPlatformIDs")),
                        reinterpret_cast<decltype(&::clGetDeviceIDs)>(::dlsym(loader, "clGetDeviceIDs")),
                        reinterpret_cast<decltype(&::clCreateContext)>(::dlsym(loader, "clCreateContext")),
                        reinterpret_cast<decltype(&::clReleaseContext)>(::dlsym(loader, "clReleaseContext"))};
    const bool is_whole = found.platforms != nullptr && found.of_platform != nullptr &&
                          found.create_context != nullptr && found.release_context != nullptr;
    return is_whole ? std::optional(found) : std::nullopt;
  }();
  return all ? &*all : nullptr;
}

// A device with a context of its own, for as long as the process lives.
struct Place {
  cl_device_id device = nullptr;
  std::unique_ptr<ProgramCache<OpenclApi>> programs;
};

std::vector<Place> open_places(const Devices& api, std::string_view platform_name, Cache& cache) {
  std::array<cl_platform_id, 64> platforms{};
  std::array<cl_device_id, 64> devices{};
  cl_uint platform_count = 0;
  cl_uint device_count = 0;
  std::vector<Place> places;
  if (api.platforms(platforms.size(), platforms.data(), &platform_count) != CL_SUCCESS) return places;
  for (cl_uint i = 0; i < platform_count && i < platforms.size(); ++i) {
    std::array<char, 256> name{};
    opencl::loaded_functions()->get_platform_info(platforms[i], CL_PLATFORM_NAME, name.size() - 1,
                                                  name.data(), nullptr);
    if (platform_name != name.data()) continue;
    if (api.of_platform(platforms[i], CL_DEVICE_TYPE_ALL, devices.size(), devices.data(), &device_count) !=
        CL_SUCCESS)
      continue;
    for (cl_uint j = 0; j < device_count && j < devices.size(); ++j) {
      const cl_context context = api.create_context(nullptr, 1, &devices[j], nullptr, nullptr, nullptr);
      if (context == nullptr) continue;
      auto opened = OpenclApi::open(context);
      api.release_context(context);
      if (!opened) continue;
      ProgramCacheOptions options{.memory = false};
      options.programs.policy = options.kernels.policy = guest::kPolicy;
      places.push_back(
          {devices[j], std::make_unique<ProgramCache<OpenclApi>>(std::move(*opened), &cache, options)});
    }
  }
  return places;
}

// Stands while a program is being made, and for good where that has ended with a fault, where the driver does
// not take what it has given itself, or where no device of this process is the one that is meant.
Recipe mark_of(std::string_view key) {
  Recipe recipe("opencl-worker-fault");
  recipe.add("key", key);
  return recipe;
}

// False: it is not for this device.
bool make(Cache& cache, const format::ProgramWish& wish, std::string_view key, Place& place) {
  const ProgramInput input{.text = wish.text, .call_options = {.compile = wish.options}};
  if (place.programs->recipe(place.device, input).key().hex() != key) return false;
  const Recipe mark = mark_of(key);
  cache.put(mark, Bytes(std::string("begun")));
  ProgramAnswer how;
  auto made = place.programs->get_or_build({&place.device, 1}, input, &how);
  // By now it is kept, or never will be; what is kept must be of use.
  const bool is_good =
      !made || how.outcome == Outcome::bypassed ||
      (place.programs->get_or_build({&place.device, 1}, input, &how) && how.reason != Reason::refused);
  if (is_good) cache.erase(mark);
  return true;
}

std::vector<fs::path> wishes_in(const std::string& folder) {
  std::vector<fs::path> wishes;
  std::error_code failed;
  for (fs::directory_iterator each(folder, failed), end; !failed && each != end; each.increment(failed)) {
    if (format::is_wish_name(each->path().filename().string())) wishes.push_back(each->path());
  }
  return wishes;
}

Cache* worker_cache(const std::string& folder) {
  // Its locks are its own: nobody waits for what is made when nothing else wants to run.
  static Cache* const cache = [&] {
    Options options;
    options.persistent = true;
    options.memory = false;
    options.write_behind_size = 0;
    options.preload = false;
    options.memory_policy = guest::kPolicy;
    options.runtime_dir = folder;
    auto* const opened = new Cache(Cache::open(options));
    return opened->stats().has_disk ? opened : nullptr;
  }();
  return cache;
}

}  // namespace

bool has_wishes(const std::string& folder) {
  return !wishes_in(folder).empty();
}

bool make_one(const std::string& folder, const std::function<void()>& begin) {
  const std::vector<fs::path> wishes = wishes_in(folder);
  Cache* const cache = worker_cache(folder);
  if (wishes.empty() || cache == nullptr) return false;
  std::ifstream file(wishes.front(), std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (::unlink(wishes.front().c_str()) != 0) return false;  // for ever the same one
  begin();
  const auto wish = format::decode_program_wish(as_bytes(bytes));
  if (!wish) return true;
  std::vector<std::string_view> keys = wish->keys;
  std::erase_if(keys, [&](std::string_view key) { return cache->get(mark_of(key)).has_value(); });
  const Devices* const api = keys.empty() ? nullptr : devices_of_loader();
  if (api == nullptr || ::chdir(std::string(wish->folder).c_str()) != 0) return true;
  static std::string opened;
  static std::vector<Place> places;
  if (opened != wish->platform) {
    opened = wish->platform;
    places = open_places(*api, wish->platform, *cache);
  }
  for (const std::string_view key : keys) {
    const bool is_made = std::any_of(places.begin(), places.end(),
                                     [&](Place& place) { return make(*cache, *wish, key, place); });
    if (!is_made && !places.empty()) cache->put(mark_of(key), Bytes(std::string("no such device")));
  }
  return true;
}

}  // namespace larder::layer
