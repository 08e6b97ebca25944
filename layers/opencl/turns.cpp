#include "layers/opencl/turns.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <new>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/fork.hpp"
#include "base/mutex.hpp"
#include "program/ending.hpp"
#include "program/guest.hpp"
#include "program/opencl/driver.hpp"

namespace larder::layer {
namespace {

// The driver whose cache turns are about (docs/gpu.md).
constexpr std::string_view kDriver = "Portable Computing Language";

// What handles stand for. Those that the host releases stay until there are too many or the driver gives the
// same handle out again, when it is told anew.
struct TurnsTable {
  Mutex mutex;
  struct KnownKernel {
    Key key;
    std::vector<std::uint64_t> shapes;  // launched by this process
  };
  struct KnownProgram {
    Key created;
    Key built;
  };
  std::unordered_map<cl_program, KnownProgram> programs GUARDED_BY(mutex);
  std::unordered_map<cl_kernel, KnownKernel> kernels GUARDED_BY(mutex);
  std::set<Key> had GUARDED_BY(mutex);  // turns that this process had, or found to be over
};
constexpr std::size_t kHandlesMax = 16384;
constexpr std::size_t kShapesMax = 64;

const cl_icd_dispatch* next_of_turns = nullptr;
// A driver's callback may ask for more while its thread has a turn: that is not waited for.
constinit thread_local bool has_turn = false;

TurnsTable& turns_table() {
  static auto* const all = new TurnsTable;
  return *all;
}
void hold_turns() noexcept NO_THREAD_SAFETY_ANALYSIS {
  turns_table().mutex.lock();
}
void let_turns_go() noexcept NO_THREAD_SAFETY_ANALYSIS {
  turns_table().mutex.unlock();
}

template <typename Work>
void with_turns(Work work) noexcept {
  try {
    TurnsTable& all = turns_table();
    const MutexLock lock(all.mutex);
    work(all);
  } catch (...) {  // no memory: less is known
  }
}

// What a program is, for turns; nothing for one that they are not told of.
std::optional<TurnsTable::KnownProgram> known(cl_program program) noexcept {
  std::optional<TurnsTable::KnownProgram> one;
  with_turns([&](TurnsTable& all) NO_THREAD_SAFETY_ANALYSIS {
    const auto found = all.programs.find(program);
    if (found != all.programs.end()) one = found->second;
  });
  return one;
}

const FileTurns* turns() noexcept {
  static const FileTurns* const all = []() -> const FileTurns* {
    const char* const directory = std::getenv("LARDER_OPENCL_TURNS");
    if (directory == nullptr || directory[0] != '/' || !guest::is_enabled()) return nullptr;
    return new (std::nothrow) FileTurns({.driver_directory = directory});
  }();
  return all;
}

bool may_wait() noexcept {
  return turns() != nullptr && !has_turn && !guest::is_ending();
}

template <typename Map>
void bound(Map& map) {
  if (map.size() >= kHandlesMax) map.clear();
}

std::string name_of(cl_device_id device) {
  std::array<char, 256> name{};
  next_of_turns->clGetDeviceInfo(device, CL_DEVICE_NAME, name.size() - 1, name.data(), nullptr);
  return name.data();
}

bool is_of_driver(cl_context context) {
  std::array<cl_device_id, 64> devices{};
  std::array<char, 256> name{};
  cl_platform_id platform = nullptr;
  std::size_t size = 0;
  return next_of_turns->clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof devices, devices.data(),
                                         &size) == CL_SUCCESS &&
         size >= sizeof(cl_device_id) &&
         next_of_turns->clGetDeviceInfo(devices[0], CL_DEVICE_PLATFORM, sizeof(cl_platform_id), &platform,
                                        nullptr) == CL_SUCCESS &&
         next_of_turns->clGetPlatformInfo(platform, CL_PLATFORM_NAME, name.size() - 1, name.data(),
                                          nullptr) == CL_SUCCESS &&
         opencl::driver_of(name.data()).platform == kDriver;
}

void add(Recipe& recipe, std::string_view name, const Key& key) {
  recipe.add(name, std::as_bytes(std::span(&key, 1)));
}

// Devices that the host names; none stands for all that the program has.
void add_devices(Recipe& recipe, std::span<const cl_device_id> devices, std::string_view all) {
  for (const cl_device_id each : devices) recipe.add("device", name_of(each));
  if (devices.empty()) recipe.add("devices", all);
}

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) noexcept {
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;
  return std::rotl((hash ^ value) * kOdd, 29);
}

}  // namespace

bool takes_turns() noexcept {
  return turns() != nullptr;
}

void set_turns_driver(const cl_icd_dispatch& next) noexcept {
  next_of_turns = &next;
}

void know_program(cl_program program, cl_context context, std::string_view kind, std::string_view content) {
  if (turns() == nullptr || !is_of_driver(context)) return;
  at_fork(7, {hold_turns, let_turns_go, let_turns_go});
  Recipe recipe("opencl-turn");
  recipe.add(kind, content);
  const Key key = recipe.key();
  with_turns([&](TurnsTable& all) NO_THREAD_SAFETY_ANALYSIS {
    bound(all.programs);
    all.programs[program] = {key, key};
  });
}

void forget_turns(cl_program program) noexcept {
  if (turns() == nullptr) return;
  with_turns([&](TurnsTable& all) NO_THREAD_SAFETY_ANALYSIS { all.programs.erase(program); });
}

ProgramTurn::~ProgramTurn() {
  if (!has_begun_) return;
  has_turn = false;
  turn_.finish();
  with_turns([&](TurnsTable& all) NO_THREAD_SAFETY_ANALYSIS {
    bound(all.had);
    all.had.insert(key_);
  });
}

void ProgramTurn::begin() noexcept {
  if (!is_known_ || !may_wait()) return;
  bool was_had = false;
  with_turns([&](TurnsTable& all) NO_THREAD_SAFETY_ANALYSIS { was_had = all.had.contains(key_); });
  if (was_had) return;
  turn_ = turns()->take(key_);
  has_begun_ = has_turn = true;
}

void ProgramTurn::build(cl_program program, std::span<const cl_device_id> devices,
                        const char* options) noexcept {
  compile(program, devices, options, {}, nullptr);
}

void ProgramTurn::compile(cl_program program, std::span<const cl_device_id> devices, const char* options,
                          std::span<const cl_program> headers, const char** names) noexcept try {
  if (turns() == nullptr) return;
  const auto of = known(program);
  if (!of) return;
  Recipe recipe("opencl-turn");
  add(recipe, "program", of->created);
  for (std::size_t i = 0; names != nullptr && i < headers.size(); ++i) {
    const auto header = known(headers[i]);
    if (header && names[i] != nullptr) add(recipe, names[i], header->created);
  }
  recipe.add("options", options == nullptr ? std::string_view() : options);
  add_devices(recipe, devices, names == nullptr ? "all" : "all, compiled");
  key_ = recipe.key();
  is_known_ = true;
  with_turns([&](TurnsTable& all) NO_THREAD_SAFETY_ANALYSIS {
    const auto found = all.programs.find(program);
    if (found != all.programs.end()) found->second.built = key_;
  });
} catch (...) {  // without a turn
}

void ProgramTurn::link(cl_context context, std::span<const cl_device_id> devices, const char* options,
                       std::span<const cl_program> parts) noexcept try {
  if (turns() == nullptr || !is_of_driver(context)) return;
  if (parts.empty()) return;
  Recipe recipe("opencl-turn");
  for (const cl_program each : parts) {
    const auto part = known(each);
    if (!part) return;
    add(recipe, "part", part->built);
  }
  recipe.add("link-options", options == nullptr ? std::string_view() : options);
  add_devices(recipe, devices, "all, linked");
  key_ = recipe.key();
  is_known_ = true;
} catch (...) {  // without a turn
}

void ProgramTurn::linked(cl_program program) noexcept {
  if (!is_known_ || program == nullptr) return forget_turns(program);
  with_turns([&](TurnsTable& all) NO_THREAD_SAFETY_ANALYSIS {
    bound(all.programs);
    all.programs[program] = {key_, key_};
  });
}

void ProgramTurn::ask_for_binaries(cl_program program) noexcept try {
  if (turns() == nullptr) return;
  const auto of = known(program);
  is_known_ = of.has_value();
  if (!of) return;
  Recipe recipe("opencl-turn");
  add(recipe, "binaries", of->built);
  key_ = recipe.key();
} catch (...) {  // without a turn
}

void know_kernel(cl_kernel kernel, cl_program program, std::string_view name) noexcept try {
  if (turns() == nullptr) return;
  with_turns([&](TurnsTable& all) NO_THREAD_SAFETY_ANALYSIS { all.kernels.erase(kernel); });
  const auto of = known(program);
  if (!of) return;
  Recipe recipe("opencl-turn");
  add(recipe, "program", of->built);
  recipe.add("kernel", name);
  const Key key = recipe.key();
  with_turns([&](TurnsTable& all) NO_THREAD_SAFETY_ANALYSIS {
    bound(all.kernels);
    all.kernels[kernel] = {key, {}};
  });
} catch (...) {  // its launches take no turns
}

void know_clone(cl_kernel clone, cl_kernel kernel) noexcept {
  if (turns() == nullptr || clone == nullptr) return;
  with_turns([&](TurnsTable& all) NO_THREAD_SAFETY_ANALYSIS {
    bound(all.kernels);
    const auto found = all.kernels.find(kernel);
    if (found == all.kernels.end()) {
      all.kernels.erase(clone);
    } else {
      const TurnsTable::KnownKernel known = found->second;
      all.kernels[clone] = known;
    }
  });
}

// Where the host leaves the local size to the driver, that chooses it by the global one. Drivers make code of
// their own for launches without an offset, and for those of few groups.
std::unique_ptr<FileTurn> turn_of(const Launch& launch) noexcept try {
  if (turns() == nullptr || launch.global == nullptr || launch.dimensions < 1 || launch.dimensions > 3)
    return nullptr;
  std::array<std::uint64_t, 8> shape{};
  std::uint64_t groups_max = 0;
  for (cl_uint i = 0; i < launch.dimensions; ++i) {
    const std::uint64_t local = launch.local == nullptr ? 0 : launch.local[i];
    shape[i] = local == 0 ? launch.global[i] : local;
    groups_max = std::max<std::uint64_t>(groups_max, local == 0 ? 0 : launch.global[i] / local);
    if (launch.offset != nullptr && launch.offset[i] != 0) shape[3] = 1;
  }
  shape[4] = static_cast<std::uint64_t>(std::bit_width(groups_max));
  shape[5] = launch.dimensions;
  shape[6] = launch.local == nullptr ? 1 : 0;
  std::uint64_t hash = reinterpret_cast<std::uintptr_t>(launch.queue);
  for (const std::uint64_t each : shape) hash = mixed(hash, each);
  bool is_news = false;
  Key kernel;
  with_turns([&](TurnsTable& all) NO_THREAD_SAFETY_ANALYSIS {
    const auto found = all.kernels.find(launch.kernel);
    if (found == all.kernels.end() || found->second.shapes.size() >= kShapesMax) return;
    for (const std::uint64_t each : found->second.shapes) {
      if (each == hash) return;
    }
    found->second.shapes.push_back(hash);
    kernel = found->second.key;
    is_news = true;
  });
  if (!is_news || !may_wait()) return nullptr;
  cl_device_id device = nullptr;
  next_of_turns->clGetCommandQueueInfo(launch.queue, CL_QUEUE_DEVICE, sizeof(void*), &device, nullptr);
  Recipe recipe("opencl-turn");
  add(recipe, "kernel", kernel);
  recipe.add("shape", std::as_bytes(std::span(shape)));
  if (device != nullptr) recipe.add("device", name_of(device));
  const Key key = recipe.key();
  bool was_had = false;
  with_turns([&](TurnsTable& all) NO_THREAD_SAFETY_ANALYSIS {
    bound(all.had);
    was_had = !all.had.insert(key).second;
  });
  if (was_had) return nullptr;
  auto turn = std::make_unique<FileTurn>(turns()->take(key));
  return turn->is_held() ? std::move(turn) : nullptr;
} catch (...) {
  return nullptr;
}

}  // namespace larder::layer
