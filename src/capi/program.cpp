#include "larder/program.hpp"

#include <memory>
#include <vector>

#include "capi/cache.hpp"
#include "capi/recipe.hpp"
#include "larder/c/program.h"
#include "larder/shader_status.hpp"

using namespace larder;

struct larder_ingredients {
  ProgramIngredients ingredients;
};

namespace {

static_assert(LARDER_PROGRAM_SOURCE == static_cast<int>(ProgramForm::source));
static_assert(LARDER_PROGRAM_IMAGE == static_cast<int>(ProgramForm::image));
static_assert(LARDER_PROGRAM_LINKED == static_cast<int>(ProgramForm::linked));
static_assert(LARDER_PROGRAM_INTEROP == static_cast<int>(ProgramForm::interop));

using OwnedError = std::unique_ptr<larder_error, void (*)(larder_error*)>;

// The caller's functions as a ProgramApi.
class CallersApi {
 public:
  static constexpr std::string_view kKind = "c-program";
  using Device = larder_device;
  struct Program {
    void* handle = nullptr;
  };
  struct Kernel {
    void* handle = nullptr;
  };

  CallersApi(const larder_program_api& api, void* context)
      : api_(api), context_(context), kind_(api.kind == nullptr ? "" : api.kind) {}
  ~CallersApi() {
    if (api_.destroy != nullptr) api_.destroy(context_);
  }
  CallersApi(const CallersApi&) = delete;
  CallersApi& operator=(const CallersApi&) = delete;

  // What a caller's options mean nobody here knows: they are taken as they are.
  static CanonicalOptions canonicalise(std::string_view options) { return {.text = std::string(options)}; }

  FileReading file_reading() const noexcept {
    return api_.reads_files ? FileReading::unheard : FileReading::none;
  }
  static std::string_view cannot(const ProgramInput&) noexcept { return {}; }
  DeviceIdentity identity(const Device& device) const {
    DeviceIdentity identity;
    identity.facts.emplace_back("api", kind_);
    larder_ingredients facts;
    if (!api_.identify(device, &facts, context_)) identity.why_not = "its device cannot be identified";
    for (std::size_t i = 0; i < facts.ingredients.size(); ++i) {
      identity.facts.emplace_back(facts.ingredients.name_at(i), facts.ingredients.text_at(i));
    }
    return identity;
  }

  Result<BuiltProgram<Program>> build(const ProgramIngredients& what, std::span<const Device> devices) const {
    const larder_ingredients given{what};
    larder_error* why = nullptr;
    void* const made = api_.build(&given, devices.data(), devices.size(), &why, context_);
    return to_program(made, why, Code::maker_failed, "build: said no");
  }

  Result<BuiltProgram<Program>> create_from_binary(const ProgramIngredients& what,
                                                   std::span<const Device> devices,
                                                   std::span<const Artefacts> binaries) const {
    const larder_ingredients given{what};
    std::vector<larder_view> views;
    for (const Artefacts& each : binaries) {
      if (each.size() != 1) return fail(Code::refused, "not what this API hands out");
      views.push_back(capi::to_view(each.front().bytes.view()));
    }
    larder_error* why = nullptr;
    void* const made =
        api_.create_from_binary(&given, devices.data(), devices.size(), views.data(), &why, context_);
    return to_program(made, why, Code::refused, "create_from_binary: refused");
  }

  Result<Artefacts> binary_of(const Program& program, const Device& device) const {
    const std::unique_ptr<larder_bytes, void (*)(larder_bytes*)> bytes(
        api_.binary_of(program.handle, device, context_), larder_bytes_destroy);
    if (bytes == nullptr) return Artefacts{};
    return Artefacts{{"binary", bytes->bytes}};
  }

  Result<Kernel> kernel_of(const Program& program, const std::string& name) const {
    larder_error* why = nullptr;
    void* const made = api_.kernel_of(program.handle, name.c_str(), &why, context_);
    if (made == nullptr) {
      Error error = to_error(why, Code::maker_failed, "kernel_of: no kernel " + name);
      return fail(error.code, std::move(error.what));
    }
    larder_error_destroy(why);
    return Kernel{made};
  }

  void release(const Program& program) const noexcept { api_.release_program(program.handle, context_); }
  void release(const Kernel& kernel) const noexcept { api_.release_kernel(kernel.handle, context_); }

 private:
  static Error to_error(larder_error* why, Code otherwise, std::string what) {
    const OwnedError owned(why, larder_error_destroy);
    if (owned == nullptr) return {otherwise, std::move(what)};
    return {capi::to_enum<Code>(larder_error_code(owned.get())), larder_error_message(owned.get())};
  }
  static Result<BuiltProgram<Program>> to_program(void* made, larder_error* why, Code otherwise,
                                                  std::string what) {
    if (made == nullptr) {
      Error error = to_error(why, otherwise, std::move(what));
      return fail(error.code, std::move(error.what));
    }
    larder_error_destroy(why);
    return BuiltProgram<Program>{{made}, {}};
  }

  const larder_program_api api_;
  void* const context_;
  const std::string kind_;
};

using Programs = ProgramCache<CallersApi>;

// A caller's input, with room for what points into each other.
struct CallersInput {
  explicit CallersInput(const larder_program_input& from) {
    input.form = capi::to_enum<ProgramForm>(from.form);
    input.text = capi::to_text(from.text);
    for (std::size_t i = 0; i < from.header_count; ++i) {
      headers.push_back({capi::to_text(from.headers[i].name), capi::to_text(from.headers[i].text)});
    }
    for (std::size_t i = 0; i < from.constant_count; ++i) {
      constants.push_back({from.constants[i].id, capi::to_bytes(from.constants[i].value)});
    }
    for (std::size_t i = 0; i < from.part_count; ++i) {
      owned_parts.push_back(std::make_unique<CallersInput>(from.parts[i]));
      parts.push_back(owned_parts.back()->input);
    }
    input.headers = headers;
    input.constants = constants;
    input.parts = parts;
    input.image_options = to_pair(from.image_options);
    input.call_options = to_pair(from.call_options);
    input.environment_options = to_pair(from.environment_options);
  }
  static OptionPair to_pair(const larder_option_pair& from) noexcept {
    return {capi::to_text(from.compile), capi::to_text(from.link)};
  }

  ProgramInput input;
  std::vector<ProgramHeader> headers;
  std::vector<SpecConstant> constants;
  std::vector<std::unique_ptr<CallersInput>> owned_parts;
  std::vector<ProgramInput> parts;
};

FastKey<larder_device> to_key(const larder_fast_key& key) noexcept {
  return {key.image, capi::to_bytes(key.constants), key.device, capi::to_text(key.name)};
}

bool is_whole(const larder_program_api& api) noexcept {
  return api.identify != nullptr && api.build != nullptr && api.create_from_binary != nullptr &&
         api.binary_of != nullptr && api.kernel_of != nullptr && api.release_program != nullptr &&
         api.release_kernel != nullptr;
}

}  // namespace

struct larder_programs {
  larder_programs(std::shared_ptr<CallersApi> api, Cache* cache, const ProgramCacheOptions& options)
      : programs(std::move(api), cache, options) {}
  Programs programs;
};
struct larder_program {
  Programs::ProgramHandle held;
};
struct larder_kernel {
  Programs::KernelHandle held;
};
struct larder_shader_status {
  ShaderStatus status;
};

bool larder_ingredients_add(larder_ingredients* ingredients, larder_view name, larder_view bytes) {
  return capi::guarded(nullptr, [&]() -> Result<bool> {
    ingredients->ingredients.add_owned(std::string(capi::to_text(name)), std::string(capi::to_text(bytes)));
    return true;
  });
}
size_t larder_ingredients_count(const larder_ingredients* ingredients) {
  return ingredients->ingredients.size();
}
larder_view larder_ingredients_name(const larder_ingredients* ingredients, size_t place) {
  return capi::to_view(ingredients->ingredients.name_at(place));
}
larder_view larder_ingredients_bytes(const larder_ingredients* ingredients, size_t place) {
  return capi::to_view(ingredients->ingredients.text_at(place));
}
larder_view larder_ingredients_find(const larder_ingredients* ingredients, larder_view name) {
  return capi::to_view(ingredients->ingredients.text(capi::to_text(name)));
}

larder_error* larder_build_failure(int64_t code, larder_view log) {
  larder_error* failure = nullptr;
  capi::guarded(&failure, [&]() -> Result<bool> {
    Error error = to_error(BuildFailure{code, std::string(capi::to_text(log))});
    return fail(error.code, std::move(error.what));
  });
  return failure;
}

bool larder_error_build_failure(const larder_error* error, int64_t* code, larder_view* log) {
  return capi::guarded(nullptr, [&]() -> Result<bool> {
    const std::string_view what = larder_error_message(error);
    const auto failure = build_failure({capi::to_enum<Code>(larder_error_code(error)), std::string(what)});
    if (!failure) return false;
    *code = failure->code;
    *log = capi::to_view(what.substr(what.size() - failure->log.size()));
    return true;
  });
}

larder_programs* larder_programs_create(const larder_program_api* api, void* context, larder_cache* cache,
                                        const larder_programs_options* options, larder_error** error) {
  return capi::guarded(error, [&]() -> Result<larder_programs*> {
    if (!is_whole(*api)) {
      return fail(Code::invalid_argument, "create programs: a function of the API is missing");
    }
    ProgramCacheOptions to;
    if (options != nullptr) {
      if (options->bytes_max != 0) to.programs.bytes_max = options->bytes_max;
      if (options->programs_max != 0) to.programs.count_max = options->programs_max;
      to.remember_failures = options->remember_failures;
    }
    return new larder_programs(std::make_shared<CallersApi>(*api, context),
                               cache == nullptr ? nullptr : &cache->cache, to);
  });
}

void larder_programs_destroy(larder_programs* programs) {
  delete programs;
}

larder_program* larder_programs_get_or_build(larder_programs* programs, const larder_device* devices,
                                             size_t count, const larder_program_input* input,
                                             larder_program_answer* answer, larder_error** error) {
  ProgramAnswer told;
  larder_program* const program = capi::guarded(error, [&]() -> Result<larder_program*> {
    const CallersInput from(*input);
    auto got = programs->programs.get_or_build({devices, count}, from.input, &told);
    if (!got) return fail(got.error().code, std::move(got.error().what));
    return new larder_program{std::move(*got)};
  });
  if (answer != nullptr) {
    *answer = {static_cast<larder_outcome>(told.outcome), static_cast<larder_reason>(told.reason),
               told.cost.count()};
  }
  return program;
}

larder_bytes* larder_programs_why_not(larder_programs* programs, const larder_device* devices, size_t count,
                                      const larder_program_input* input, larder_error** error) {
  return capi::guarded(error, [&]() -> Result<larder_bytes*> {
    const CallersInput from(*input);
    return capi::new_bytes(programs->programs.is_cacheable({devices, count}, from.input).why_not);
  });
}

void* larder_program_handle(const larder_program* program) {
  return program->held->handle().handle;
}
larder_view larder_program_log(const larder_program* program) {
  return capi::to_view(std::string_view(program->held->log()));
}
void larder_program_destroy(larder_program* program) {
  delete program;
}

larder_kernel* larder_programs_get_kernel(larder_programs* programs, const larder_program* program,
                                          larder_view name, larder_error** error) {
  return capi::guarded(error, [&]() -> Result<larder_kernel*> {
    auto got = programs->programs.get_kernel(program->held, capi::to_text(name));
    if (!got) return fail(got.error().code, std::move(got.error().what));
    return new larder_kernel{std::move(*got)};
  });
}
void* larder_kernel_handle(const larder_kernel* kernel) {
  return kernel->held->handle().handle;
}
void larder_kernel_destroy(larder_kernel* kernel) {
  delete kernel;
}

larder_kernel* larder_programs_get_fast(larder_programs* programs, const larder_fast_key* key) {
  return capi::guarded(nullptr, [&]() -> Result<larder_kernel*> {
    auto got = programs->programs.get_fast(to_key(*key));
    if (!got) return nullptr;
    return new larder_kernel{std::move(got)};
  });
}

larder_kernel* larder_programs_get_or_build_fast(larder_programs* programs, const larder_fast_key* key,
                                                 const larder_program_input* input, larder_error** error) {
  return capi::guarded(error, [&]() -> Result<larder_kernel*> {
    const CallersInput from(*input);
    auto got = programs->programs.get_or_build_fast(to_key(*key), [&] { return from.input; });
    if (!got) return fail(got.error().code, std::move(got.error().what));
    return new larder_kernel{std::move(*got)};
  });
}

void larder_programs_clear(larder_programs* programs) {
  programs->programs.clear();
}
larder_programs_stats larder_programs_get_stats(const larder_programs* programs) {
  const ProgramCacheStats stats = programs->programs.stats();
  return {stats.programs, stats.kernels, stats.fast_kernels, stats.bytes};
}

larder_shader_status* larder_shader_status_create(larder_error** error) {
  return capi::guarded(error, []() -> Result<larder_shader_status*> { return new larder_shader_status; });
}
void larder_shader_status_destroy(larder_shader_status* status) {
  delete status;
}
bool larder_shader_status_is_known_good(const larder_shader_status* status, larder_key shader) {
  return status->status.is_known_good({shader.high, shader.low});
}
bool larder_shader_status_compiled(larder_shader_status* status, larder_key shader, larder_error** error) {
  return capi::guarded(error, [&]() -> Result<bool> {
    status->status.shader_compiled({shader.high, shader.low});
    return true;
  });
}
bool larder_shader_status_is_linked(const larder_shader_status* status, larder_key program) {
  return status->status.is_linked({program.high, program.low});
}
bool larder_shader_status_linked(larder_shader_status* status, larder_key program, const larder_key* shaders,
                                 size_t count, larder_error** error) {
  return capi::guarded(error, [&]() -> Result<bool> {
    std::vector<Key> keys;
    for (std::size_t i = 0; i < count; ++i) keys.push_back({shaders[i].high, shaders[i].low});
    status->status.program_linked({program.high, program.low}, keys);
    return true;
  });
}
bool larder_shader_status_left(larder_shader_status* status, larder_key program) {
  return status->status.program_left({program.high, program.low});
}
