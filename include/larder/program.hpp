// A ProgramCache keeps the GPU programs and kernels of one context: built once, however many threads ask, and
// found again by later contexts and processes through the Cache behind it. One for all APIs: what an API must
// offer is the concept ProgramApi. Any thread may call anything at any time.
//
//   auto programs = larder::ProgramCache<OpenclApi>(std::make_shared<OpenclApi>(context), &cache);
//   auto program = programs.get_or_build({&device, 1}, {.text = source, .call_options = {.compile = "-O2"}});
//   auto kernel = programs.get_kernel(*program, "saxpy");
//
// Three maps: programs (by all that decides them and the devices), kernels (by program and name), and fast
// kernels (by image, constants, device and name) for loops that submit: a hit there hashes only the name and
// the constants. A program that leaves takes its kernels along, and with them their places in the fast map.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "larder/cache.hpp"
#include "larder/detail/fast_kernels.hpp"
#include "larder/detail/program_products.hpp"
#include "larder/memory.hpp"
#include "larder/program_input.hpp"

namespace larder {

// A program as its API knows it, and what the compiler said.
template <typename Handle>
struct BuiltProgram {
  Handle handle{};
  std::string log;
};

// What a GPU API must offer. Handles are plain values; larder releases what build, create_from_binary and
// kernel_of gave it, each once. Functions are called from any thread, also at the same time.
// - kKind: of its recipes. file_reading: what is known of the headers that its compiler looks for on disk.
//   Where it takes sources to lie in a folder, a function source_folder says which one it is.
// - cannot: why it has no way to build from such an input, whatever it says; empty: it has one.
// - identity: what of this device, its driver and its environment decides a product.
// - canonicalise: options in canonical form, and why they forbid keeping.
// - build: compiles and links, from these ingredients alone. A compiler's no is to_error(BuildFailure); out
// of
//   memory is Code::out_of_resources; what may work a moment later is Code::transient.
// - create_from_binary: makes the program from what binary_of gave, one set of artefacts for each device, and
//   leaves it as build would have. Code::refused when the driver does not take them.
// - binary_of: what the driver gives for one device. An error, or no artefacts: the program is not kept.
template <typename Api>
concept ProgramApi = std::is_trivially_copyable_v<typename Api::Device> &&
    std::has_unique_object_representations_v<typename Api::Device> &&
    requires(Api& api, const ProgramIngredients& what, std::span<const typename Api::Device> devices,
             const typename Api::Device& device, const typename Api::Program& program,
             const typename Api::Kernel& kernel, std::span<const Artefacts> binaries, std::string_view text,
             const std::string& name, const ProgramInput& input) {
  { Api::kKind } -> std::convertible_to<std::string_view>;
  { api.file_reading() } -> std::same_as<FileReading>;
  { Api::cannot(input) } -> std::same_as<std::string_view>;
  { Api::canonicalise(text) } -> std::same_as<CanonicalOptions>;
  { api.identity(device) } -> std::same_as<DeviceIdentity>;
  { api.build(what, devices) } -> std::same_as<Result<BuiltProgram<typename Api::Program>>>;
  {
    api.create_from_binary(what, devices, binaries)
    } -> std::same_as<Result<BuiltProgram<typename Api::Program>>>;
  { api.binary_of(program, device) } -> std::same_as<Result<Artefacts>>;
  { api.kernel_of(program, name) } -> std::same_as<Result<typename Api::Kernel>>;
  { api.release(program) }
  noexcept;
  { api.release(kernel) }
  noexcept;
};

struct ProgramCacheOptions {
  MemoryOptions programs{};  // live programs weigh what their binaries do
  MemoryOptions kernels{};
  bool memory = true;              // false: every request goes to the cache behind
  bool remember_failures = false;  // a compiler's no is kept like a product, for every process
};

// How a program was come by. `why_not` says why it is not kept, when it is not.
struct ProgramAnswer {
  Outcome outcome = Outcome::bypassed;
  Reason reason = Reason::none;
  Nanoseconds cost{0};
  std::string why_not{};
};

struct ProgramCacheStats {
  std::size_t programs = 0;
  std::size_t kernels = 0;
  std::size_t fast_kernels = 0;
  std::uint64_t bytes = 0;
};

struct Cacheable {
  bool is_cacheable = true;
  std::string why_not{};
};

// A program or kernel that is released with its last holder, however long that outlives the cache.
template <ProgramApi Api>
class LiveProgram {
 public:
  LiveProgram(std::shared_ptr<Api> api, BuiltProgram<typename Api::Program> built, std::uint64_t weight)
      : api_(std::move(api)), built_(std::move(built)), weight_(weight), id_(detail::next_program_id()) {}
  ~LiveProgram() { api_->release(built_.handle); }
  LiveProgram(const LiveProgram&) = delete;
  LiveProgram& operator=(const LiveProgram&) = delete;

  const typename Api::Program& handle() const noexcept { return built_.handle; }
  // What the compiler said when it was built, whenever that was.
  const std::string& log() const noexcept { return built_.log; }
  std::uint64_t weight() const noexcept { return weight_; }

 private:
  template <ProgramApi>
  friend class ProgramCache;
  std::shared_ptr<Api> api_;
  BuiltProgram<typename Api::Program> built_;
  std::uint64_t weight_;
  std::uint64_t id_;  // no other program of this process ever has it
  std::shared_ptr<const detail::UsedFiles> files_;
  InternedRecipe<LiveProgram<Api>> recipe_;  // where the programs map keeps it
};

template <ProgramApi Api>
class LiveKernel {
 public:
  LiveKernel(std::shared_ptr<Api> api, typename Api::Kernel handle, std::shared_ptr<detail::FastKernels> fast,
             Held<LiveProgram<Api>> program)
      : api_(std::move(api)), handle_(handle), fast_(std::move(fast)), program_(std::move(program)) {}
  ~LiveKernel() {
    fast_->forget(this);
    api_->release(handle_);
  }
  LiveKernel(const LiveKernel&) = delete;
  LiveKernel& operator=(const LiveKernel&) = delete;

  const typename Api::Kernel& handle() const noexcept { return handle_; }
  const LiveProgram<Api>& program() const noexcept { return *program_; }

 private:
  std::shared_ptr<Api> api_;
  typename Api::Kernel handle_;
  std::shared_ptr<detail::FastKernels> fast_;
  Held<LiveProgram<Api>> program_;  // a kernel is of no use without its program
};

// What a loop that submits knows of the kernel it wants. `image` stands for the program's text, headers,
// parts and options: the caller gives each combination of them its own number.
template <typename Device>
struct FastKey {
  std::uint64_t image = 0;
  BytesView constants{};  // the values of specialization constants, in an order of the caller's
  Device device{};
  std::string_view name{};
};

template <ProgramApi Api>
class ProgramCache {
 public:
  using Device = typename Api::Device;
  using ProgramHandle = Held<LiveProgram<Api>>;
  using KernelHandle = Held<LiveKernel<Api>>;

  // `cache` outlives this object; null: only live objects are kept. Throws std::bad_alloc, and
  // std::invalid_argument for a policy that does not exist.
  explicit ProgramCache(std::shared_ptr<Api> api, Cache* cache = nullptr,
                        const ProgramCacheOptions& options = {})
      : api_(std::move(api)),
        products_(cache, options.remember_failures),
        is_kept_(options.memory),
        programs_(options.programs, [](const LiveProgram<Api>& each) { return each.weight(); }),
        kernels_(options.kernels) {}

  // Whether programs made from `input` for `devices` are kept. Their kernels are, when they are.
  Cacheable is_cacheable(std::span<const Device> devices, const ProgramInput& input) const {
    const Request request = look_at(devices, input);
    return {request.why_not.empty(), request.why_not};
  }

  // What decides the product of `input` for one device, for explaining; files that its compiler reads
  // are known only when it has been built, and are left out.
  Recipe recipe(const Device& device, const ProgramInput& input) const {
    const Request request = look_at({&device, 1}, input);
    return product_recipe(request, request.classes.front());
  }

  // The program, built for all of `devices`. Errors are the API's: see ProgramApi; interop and an empty list
  // of devices are invalid_argument, what the API cannot build from is unsupported. A binary that the driver
  // refuses is removed and the program built again, with reason refused. When resources run out, all three
  // maps are emptied and it is tried once more.
  Result<ProgramHandle> get_or_build(std::span<const Device> devices, const ProgramInput& input,
                                     ProgramAnswer* answer = nullptr);

  // The same for who builds for himself what is not kept: nothing then, and the answer says why not. A driver
  // that refuses its own binaries is built for aside all the same.
  std::optional<Result<ProgramHandle>> get_or_build_kept(std::span<const Device> devices,
                                                         const ProgramInput& input, ProgramAnswer& answer);

  // The kernel called `name`. maker_failed when the program has none of that name.
  Result<KernelHandle> get_kernel(const ProgramHandle& program, std::string_view name);

  // While one lives, the kernels that it returned stay alive: the cheapest way for a loop that submits, at
  // most 60 ns a hit. It belongs to one thread, and no program is asked for or built while it lives.
  class FastGuard {
   public:
    explicit FastGuard(ProgramCache& programs) noexcept : programs_(programs), guard_(programs.kernels_) {}
    // Null when it is not there: see get_or_build_fast.
    LiveKernel<Api>* get(const FastKey<Device>& key) noexcept {
      const Place* const place = programs_.find_fast(key);
      return place == nullptr ? nullptr : guard_.get(*place);
    }

   private:
    ProgramCache& programs_;
    Guard<LiveKernel<Api>> guard_;
  };

  // The same, held: two atomic counts more. Empty when it is not there.
  KernelHandle get_fast(const FastKey<Device>& key) noexcept {
    detail::Pin pin;
    const Place* const place = find_fast(key);
    if (place == nullptr) return {};
    KernelHandle kernel = kernels_.get(*place);
    // It left with its program; its place goes when somebody looks, or with its last holder.
    if (!kernel) fast_->erase(key.image, device_bytes(key.device), key.constants, as_bytes(key.name));
    return kernel;
  }
  // The same; what is not there is got by way of the other two maps from what `input()` returns, a
  // ProgramInput, and is there the next time.
  template <typename MakeInput>
  Result<KernelHandle> get_or_build_fast(const FastKey<Device>& key, MakeInput&& input,
                                         ProgramAnswer* answer = nullptr) {
    if (KernelHandle found = get_fast(key)) {
      if (answer != nullptr) *answer = {.outcome = Outcome::memory_hit};
      return found;
    }
    auto program = get_or_build({&key.device, 1}, input(), answer);
    if (!program) return fail(program.error().code, std::move(program.error().what));
    return get_kernel(*program, key.name, &key);
  }

  // What is held elsewhere lives on.
  void clear() noexcept {
    programs_.clear();
    kernels_.clear();
  }
  void relieve(Pressure pressure) noexcept {
    programs_.relieve(pressure);
    kernels_.relieve(pressure);
  }
  ProgramCacheStats stats() const noexcept {
    const MemoryStats programs = programs_.stats();
    const MemoryStats kernels = kernels_.stats();
    return {programs.count, kernels.count, fast_->size(), programs.bytes + kernels.bytes};
  }
  Api& api() const noexcept { return *api_; }

 private:
  // Devices that are alike, and the product that serves them.
  struct DeviceClass {
    DeviceIdentity identity;
    Device first;
  };
  struct Request {
    std::span<const Device> devices;
    DescribedProgram program;
    std::vector<DeviceClass> classes;
    std::vector<std::size_t> class_of;  // of each device
    std::string why_not;
  };
  using Live = Result<std::unique_ptr<LiveProgram<Api>>>;
  using Place = InternedRecipe<LiveKernel<Api>>;
  struct Making;

  static BytesView device_bytes(const Device& device) noexcept {
    return std::as_bytes(std::span<const Device, 1>(&device, 1));
  }

  // The caller is pinned.
  const Place* find_fast(const FastKey<Device>& key) const noexcept {
    return static_cast<const Place*>(
        fast_->find(key.image, device_bytes(key.device), key.constants, as_bytes(key.name)));
  }

  static std::optional<Error> refusal(std::span<const Device> devices, const ProgramInput& input);
  Request look_at(std::span<const Device> devices, const ProgramInput& input) const;
  Result<ProgramHandle> get_or_build(const Request& request, ProgramAnswer* answer);
  Recipe product_recipe(const Request& request, const DeviceClass& of) const;
  Recipe live_recipe(const Request& request) const;
  Live come_by(const Request& request, ProgramAnswer& answer);
  Live build_aside(const Request& request);
  bool records_files(const Request& request) const {
    const FileReading reading = api_->file_reading();
    return reading == FileReading::recorded ||
           (reading == FileReading::recorded_when_needed && request.program.may_read_files);
  }
  Result<detail::ProgramProduct> make_product(const Request& request, const DeviceClass& of, Making& making);
  Live go_live(const Request& request, std::span<const detail::GotProduct> products, Making& making);
  Result<KernelHandle> get_kernel(const ProgramHandle& program, std::string_view name,
                                  const FastKey<Device>* fast);
  void make_room(const Error& error) noexcept {
    if (error.code == Code::out_of_resources) relieve(Pressure::critical);
  }

  std::shared_ptr<Api> api_;
  std::shared_ptr<detail::FastKernels> fast_ = std::make_shared<detail::FastKernels>();
  detail::ProgramProducts products_;
  bool is_kept_;
  MemoryTier<LiveProgram<Api>> programs_;
  MemoryTier<LiveKernel<Api>> kernels_;
};

}  // namespace larder

#include "larder/detail/program_steps.hpp"
