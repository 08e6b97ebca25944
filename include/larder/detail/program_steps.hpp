// The way of a request through a ProgramCache, one step after the other: look at what is asked for, come by
// its products, make it live, and hand out its kernels. Included by program.hpp; not to be used directly.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "larder/program.hpp"

namespace larder {

// What one request has built with its own hands. Whatever it does not give away is released.
template <ProgramApi Api>
struct ProgramCache<Api>::Making {
  explicit Making(Api& of) : api(of) {}
  ~Making() { drop(); }
  Making(const Making&) = delete;
  Making& operator=(const Making&) = delete;

  void drop() noexcept {
    if (is_built) api.release(built.handle);
    is_built = false;
  }

  Api& api;
  bool is_built = false;
  BuiltProgram<typename Api::Program> built{};
};

template <ProgramApi Api>
typename ProgramCache<Api>::Request ProgramCache<Api>::look_at(std::span<const Device> devices,
                                                               const ProgramInput& input) const {
  Request request;
  request.devices = devices;
  request.program = describe(input, &Api::canonicalise);
  request.why_not = request.program.why_not;
  if (api_->file_reading() == FileReading::unheard && request.program.may_read_files &&
      request.why_not.empty()) {
    request.why_not = "its compiler may read headers from disk, and which ones it looks for cannot be known";
  }
  if constexpr (requires { api_->source_folder(); }) {
    if (records_files(request)) {
      request.program.ingredients.add_owned(std::string(ingredient::kSourceFolder), api_->source_folder());
    }
  }
  for (const Device& device : devices) {
    DeviceIdentity identity = api_->identity(device);
    if (request.why_not.empty()) request.why_not = identity.why_not;
    const auto same = std::find_if(request.classes.begin(), request.classes.end(),
                                   [&](const DeviceClass& each) { return each.identity == identity; });
    request.class_of.push_back(static_cast<std::size_t>(same - request.classes.begin()));
    if (same == request.classes.end()) request.classes.push_back({std::move(identity), device});
  }
  return request;
}

template <ProgramApi Api>
Recipe ProgramCache<Api>::product_recipe(const Request& request, const DeviceClass& of) const {
  Recipe recipe(Api::kKind);
  request.program.ingredients.add_to(recipe);
  for (const auto& [name, value] : of.identity.facts) recipe.add(name, value);
  return recipe;
}

// Products serve every context; a live program serves the devices that it was built for.
template <ProgramApi Api>
Recipe ProgramCache<Api>::live_recipe(const Request& request) const {
  Recipe recipe("live-program");
  request.program.ingredients.add_to(recipe);
  for (const Device& device : request.devices) recipe.add("device", device_bytes(device));
  for (const DeviceClass& each : request.classes) {
    for (const auto& [name, value] : each.identity.facts) recipe.add(name, value);
  }
  // What must not be kept must not be shared either.
  if (!request.why_not.empty()) recipe.add("once", std::to_string(detail::next_program_id()));
  return recipe;
}

// Why nothing can be built from this at all.
template <ProgramApi Api>
std::optional<Error> ProgramCache<Api>::refusal(std::span<const Device> devices, const ProgramInput& input) {
  if (devices.empty()) return Error{Code::invalid_argument, "build a program: no device is given"};
  if (input.form == ProgramForm::interop) {
    return Error{Code::invalid_argument,
                 "build a program: what interoperation has made cannot be made again"};
  }
  if (const std::string_view why = Api::cannot(input); !why.empty()) {
    return Error{Code::unsupported, "build a program: " + std::string(why)};
  }
  return std::nullopt;
}

template <ProgramApi Api>
Result<typename ProgramCache<Api>::ProgramHandle> ProgramCache<Api>::get_or_build(
    std::span<const Device> devices, const ProgramInput& input, ProgramAnswer* answer) {
  if (auto error = refusal(devices, input)) return fail(error->code, std::move(error->what));
  return get_or_build(look_at(devices, input), answer);
}

template <ProgramApi Api>
std::optional<Result<typename ProgramCache<Api>::ProgramHandle>> ProgramCache<Api>::get_or_build_kept(
    std::span<const Device> devices, const ProgramInput& input, ProgramAnswer& answer) {
  if (auto error = refusal(devices, input)) {
    return Result<ProgramHandle>(fail(error->code, std::move(error->what)));
  }
  Request request = look_at(devices, input);
  if (!request.why_not.empty()) {
    answer = {.reason = Reason::uncacheable, .why_not = std::move(request.why_not)};
    return std::nullopt;
  }
  return get_or_build(request, &answer);
}

template <ProgramApi Api>
Result<typename ProgramCache<Api>::ProgramHandle> ProgramCache<Api>::get_or_build(const Request& request,
                                                                                  ProgramAnswer* answer) {
  ProgramAnswer led;
  led.why_not = request.why_not;
  const auto recipe = programs_.intern(live_recipe(request));
  // A live program whose files have changed is of no more use.
  if (records_files(request)) {
    const ProgramHandle live = programs_.get(recipe);
    if (live && !detail::is_current(live->files_)) programs_.erase(recipe);
  }
  Answer seen;
  Result<ProgramHandle> program = programs_.get_or_make(
      recipe,
      [&]() -> Live {
        Live live = request.why_not.empty() ? come_by(request, led) : build_aside(request);
        if (live) {
          (*live)->recipe_ = recipe;
        } else {
          make_room(live.error());
        }
        return live;
      },
      {}, &seen);
  if (!led.why_not.empty() && led.reason != Reason::refused) {
    led.outcome = Outcome::bypassed;
    led.reason = Reason::uncacheable;
  } else if (seen.outcome == Outcome::memory_hit || seen.outcome == Outcome::joined) {
    led = {.outcome = seen.outcome, .cost = seen.cost};
  } else if (!program) {
    led.outcome = Outcome::failed;
  }
  const bool stands_aside = led.outcome == Outcome::bypassed;
  if (stands_aside || !is_kept_) programs_.erase(recipe);
  if (answer != nullptr) *answer = std::move(led);
  return program;
}

template <ProgramApi Api>
typename ProgramCache<Api>::Live ProgramCache<Api>::come_by(const Request& request, ProgramAnswer& answer) {
  for (bool was_refused = false;; was_refused = true) {
    Making making(*api_);
    std::vector<detail::GotProduct> products;
    answer = {.outcome = Outcome::memory_hit};
    for (const DeviceClass& each : request.classes) {
      const Text texts[] = {{ingredient::kText, request.program.ingredients.text(ingredient::kText)}};
      auto got = products_.get_or_make(product_recipe(request, each), texts, records_files(request),
                                       [&] { return make_product(request, each, making); });
      if (!got) return fail(got.error().code, std::move(got.error().what));
      // The answer tells of the dearest: one that was made, else one that came from furthest.
      if (got->outcome >= answer.outcome) {
        answer.outcome = got->outcome;
        answer.reason = got->reason;
      }
      answer.cost += got->cost;
      if (answer.why_not.empty()) answer.why_not = got->why_not;
      products.push_back(std::move(*got));
    }
    if (was_refused) answer.reason = Reason::refused;
    Live live = go_live(request, products, making);
    if (live || live.error().code != Code::refused) return live;
    for (const DeviceClass& each : request.classes)
      products_.reject(product_recipe(request, each), records_files(request));
    if (was_refused) {
      answer.why_not = "the driver refuses its own binaries: " + live.error().what;
      answer.outcome = Outcome::bypassed;
      return build_aside(request);
    }
  }
}

template <ProgramApi Api>
Result<detail::ProgramProduct> ProgramCache<Api>::make_product(const Request& request, const DeviceClass& of,
                                                               Making& making) {
  making.drop();
  auto built = api_->build(request.program.ingredients, {&of.first, 1});
  if (!built) {
    make_room(built.error());
    return fail(built.error().code, std::move(built.error().what));
  }
  making.built = std::move(*built);
  making.is_built = true;
  detail::ProgramProduct product;
  product.log = making.built.log;
  // No binary: the program is used, and not kept.
  if (auto binary = api_->binary_of(making.built.handle, of.first)) product.artefacts = std::move(*binary);
  return product;
}

template <ProgramApi Api>
typename ProgramCache<Api>::Live ProgramCache<Api>::go_live(const Request& request,
                                                            std::span<const detail::GotProduct> products,
                                                            Making& making) {
  std::uint64_t weight = sizeof(LiveProgram<Api>);
  std::vector<Artefacts> binaries;
  bool has_all = true;
  for (const std::size_t place : request.class_of) {
    const detail::ProgramProduct& product = products[place].product;
    has_all = has_all && !product.artefacts.empty();
    for (const Artefact& each : product.artefacts) weight += each.bytes.size();
    binaries.push_back(product.artefacts);
  }
  // Devices read the same files: what decided for one decides for all.
  const auto& files = products.front().files;
  if (making.is_built && request.devices.size() == 1) {
    auto live = std::make_unique<LiveProgram<Api>>(api_, making.built, weight);
    making.is_built = false;
    live->files_ = files;
    return live;
  }
  making.drop();
  if (!has_all) return build_aside(request);
  auto made = api_->create_from_binary(request.program.ingredients, request.devices, binaries);
  if (!made) {
    const bool for_now = made.error().code == Code::out_of_resources || made.error().code == Code::transient;
    return fail(for_now ? made.error().code : Code::refused, std::move(made.error().what));
  }
  if (made->log.empty()) made->log = products[request.class_of.front()].product.log;
  auto live = std::make_unique<LiveProgram<Api>>(api_, std::move(*made), weight);
  live->files_ = files;
  return live;
}

template <ProgramApi Api>
typename ProgramCache<Api>::Live ProgramCache<Api>::build_aside(const Request& request) {
  auto built = api_->build(request.program.ingredients, request.devices);
  if (!built) return fail(built.error().code, std::move(built.error().what));
  return std::make_unique<LiveProgram<Api>>(api_, std::move(*built), sizeof(LiveProgram<Api>));
}

template <ProgramApi Api>
Result<typename ProgramCache<Api>::KernelHandle> ProgramCache<Api>::get_kernel(const ProgramHandle& program,
                                                                               std::string_view name) {
  return get_kernel(program, name, nullptr);
}

template <ProgramApi Api>
Result<typename ProgramCache<Api>::KernelHandle> ProgramCache<Api>::get_kernel(const ProgramHandle& program,
                                                                               std::string_view name,
                                                                               const FastKey<Device>* fast) {
  if (!program) return fail(Code::invalid_argument, "get a kernel: no program is given");
  Recipe recipe("live-kernel");
  recipe.add("program", std::to_string(program->id_)).add("name", name);
  const auto place = kernels_.intern(recipe);
  Answer answer;
  Result<KernelHandle> kernel = kernels_.get_or_make(
      place,
      [&]() -> Result<std::unique_ptr<LiveKernel<Api>>> {
        auto made = api_->kernel_of(program->handle(), std::string(name));
        if (!made) {
          make_room(made.error());
          return fail(made.error().code, std::move(made.error().what));
        }
        return std::make_unique<LiveKernel<Api>>(api_, *made, fast_, program);
      },
      {.parent = program->recipe_}, &answer);
  if (kernel && fast != nullptr && answer.reason != Reason::uncacheable) {
    fast_->add(kernel->get(), fast->image, device_bytes(fast->device), fast->constants, as_bytes(fast->name),
               std::make_shared<const Place>(place));
  }
  return kernel;
}

}  // namespace larder
