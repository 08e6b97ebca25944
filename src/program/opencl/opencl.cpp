#include "larder/opencl.hpp"
#include "base/number.hpp"

#include <algorithm>
#include <vector>

#include "program/file_hooks.hpp"
#include "program/file_recording.hpp"
#include "program/filled.hpp"
#include "program/opencl/driver.hpp"
#include "program/opencl/functions.hpp"

namespace larder {
namespace {

Code code_of(cl_int code) noexcept {
  switch (code) {
    case CL_OUT_OF_HOST_MEMORY:
    case CL_OUT_OF_RESOURCES:
    case CL_MEM_OBJECT_ALLOCATION_FAILURE:
      return Code::out_of_resources;
    case CL_BUILD_PROGRAM_FAILURE:
    case CL_COMPILE_PROGRAM_FAILURE:
    case CL_LINK_PROGRAM_FAILURE:
    case CL_INVALID_BUILD_OPTIONS:
    case CL_INVALID_COMPILER_OPTIONS:
    case CL_INVALID_LINKER_OPTIONS:
      return Code::maker_failed;
    case CL_COMPILER_NOT_AVAILABLE:
    case CL_LINKER_NOT_AVAILABLE:
      return Code::unsupported;
    default:
      return Code::invalid_argument;
  }
}

std::string terminated(std::string_view text) {
  return std::string(text);
}

constexpr const char* kUnheard = "its compiler was not heard to read any file";

cl_uint count_of(std::span<const OpenclApi::Device> devices) noexcept {
  return static_cast<cl_uint>(devices.size());
}

// The driver of a context: all its devices are of one platform.
const opencl::Driver& driver_of(_cl_context* context, const opencl::Functions& functions) {
  std::size_t size = 0;
  functions.get_context_info(context, CL_CONTEXT_DEVICES, 0, nullptr, &size);
  std::vector<cl_device_id> devices(size / sizeof(cl_device_id));
  cl_platform_id platform = nullptr;
  std::string name;
  if (!devices.empty() &&
      functions.get_context_info(context, CL_CONTEXT_DEVICES, size, devices.data(), nullptr) == CL_SUCCESS &&
      functions.get_device_info(devices.front(), CL_DEVICE_PLATFORM, sizeof(cl_platform_id), &platform,
                                nullptr) == CL_SUCCESS &&
      functions.get_platform_info(platform, CL_PLATFORM_NAME, 0, nullptr, &size) == CL_SUCCESS) {
    name.resize(size);
    functions.get_platform_info(platform, CL_PLATFORM_NAME, size, name.data(), nullptr);
  }
  return opencl::driver_of(name);
}

}  // namespace

OpenclApi::OpenclApi(_cl_context* context, const opencl::Functions& functions)
    : context_(context), functions_(functions), driver_(&driver_of(context, functions)) {}

Result<std::shared_ptr<OpenclApi>> OpenclApi::open(_cl_context* context) {
  const opencl::Functions* const functions = opencl::loaded_functions();
  if (functions == nullptr) return fail(Code::unsupported, "open OpenCL: there is no libOpenCL.so.1");
  return open(context, *functions);
}

Result<std::shared_ptr<OpenclApi>> OpenclApi::open(_cl_context* context, const opencl::Functions& functions) {
  if (context == nullptr || functions.retain_context(context) != CL_SUCCESS) {
    return fail(Code::invalid_argument, "open OpenCL: not a context");
  }
  return std::shared_ptr<OpenclApi>(new OpenclApi(context, functions));
}

std::string_view OpenclApi::why_left_alone() const noexcept {
  return driver_->left_alone;
}

bool OpenclApi::has_dear_binaries() const noexcept {
  return driver_->has_dear_binaries;
}

bool OpenclApi::builds_at_once() const noexcept {
  return driver_->builds_at_once;
}

FileReading OpenclApi::file_reading() const noexcept {
  return driver_->compilers.front().empty() ? FileReading::unheard : FileReading::recorded_when_needed;
}

std::string OpenclApi::source_folder() const {
  return driver_->source_folder == nullptr ? std::string() : driver_->source_folder();
}

// Every build, and not once: what was loaded before may have been unloaded.
void OpenclApi::hear_files() const {
  if (!FileRecording::is_any()) return;
  if (driver_->is_own != nullptr) FileRecording::leave_out(source_folder(), driver_->is_own);
  const std::string unheard = hook_files(filled(driver_->compilers));
  if (!unheard.empty()) FileRecording::tell_unheard(unheard);
}

std::string_view OpenclApi::cannot(const ProgramInput& input) noexcept {
  return input.name_expressions.empty() ? "" : "OpenCL has no name expressions";
}

OpenclApi::~OpenclApi() {
  functions_.release_context(context_);
}

std::string OpenclApi::log_of(Program program, std::span<const Device> devices) const {
  std::string log;
  for (const Device device : devices) {
    std::size_t size = 0;
    if (functions_.get_program_build_info(program, device, CL_PROGRAM_BUILD_LOG, 0, nullptr, &size) !=
            CL_SUCCESS ||
        size <= 1) {
      continue;
    }
    std::string one(size, '\0');
    if (functions_.get_program_build_info(program, device, CL_PROGRAM_BUILD_LOG, size, one.data(), nullptr) !=
        CL_SUCCESS) {
      continue;
    }
    one.resize(std::min(one.find('\0'), one.size()));
    log += one;
  }
  return log;
}

Error OpenclApi::error_of(int code, std::string_view what, Program program,
                          std::span<const Device> devices) const {
  if (code_of(code) == Code::maker_failed) {
    return to_error({code, program == nullptr ? std::string() : log_of(program, devices)});
  }
  return {code_of(code), std::string(what) + ": OpenCL error " + std::to_string(code)};
}

// A program of this text, not yet built.
Result<OpenclApi::Program> OpenclApi::create(const ProgramIngredients& what) const {
  const std::string_view text = what.text(ingredient::kText);
  cl_int code = CL_SUCCESS;
  cl_program program = nullptr;
  if (what.text(ingredient::kForm) == name(ProgramForm::image)) {
    if (functions_.create_program_with_il == nullptr) {
      return fail(Code::unsupported, "clCreateProgramWithIL: this OpenCL has none");
    }
    program = functions_.create_program_with_il(context_, text.data(), text.size(), &code);
  } else {
    // PoCL takes an empty source for none at all.
    const char* const begin = text.empty() ? " " : text.data();
    const std::size_t size = text.empty() ? 1 : text.size();
    program =
        functions_.create_program_with_source(context_, 1, const_cast<const char**>(&begin), &size, &code);
  }
  if (program == nullptr || code != CL_SUCCESS) {
    Error error = error_of(code, "create a program", nullptr, {});
    return fail(error.code, std::move(error.what));
  }
  for (const auto& [id, value] : what.all(ingredient::kConstant)) {
    const auto number = to_number<cl_uint>(id);
    if (functions_.set_specialization_constant == nullptr) {
      code = CL_INVALID_OPERATION;
    } else {
      code = number ? functions_.set_specialization_constant(program, *number, value.size(), value.data())
                    : CL_INVALID_SPEC_ID;
    }
    if (code != CL_SUCCESS) {
      release(program);
      Error error = error_of(code, "set a specialization constant", nullptr, {});
      return fail(error.code, std::move(error.what));
    }
  }
  return program;
}

Result<OpenclApi::Program> OpenclApi::compile(const ProgramIngredients& what,
                                              std::span<const Device> devices) const {
  auto program = create(what);
  if (!program) return program;
  std::vector<cl_program> headers;
  std::vector<std::string> names;
  cl_int code = CL_SUCCESS;
  for (const auto& [name, text] : what.all(ingredient::kHeader)) {
    const char* const begin = text.empty() ? " " : text.data();
    const std::size_t size = text.empty() ? 1 : text.size();
    cl_program header =
        functions_.create_program_with_source(context_, 1, const_cast<const char**>(&begin), &size, &code);
    if (header == nullptr || code != CL_SUCCESS) break;
    headers.push_back(header);
    names.emplace_back(name);
  }
  std::vector<const char*> name_pointers;
  for (const std::string& name : names) name_pointers.push_back(name.c_str());
  if (code == CL_SUCCESS) {
    const std::string options = terminated(what.text(ingredient::kCompileOptions));
    code = functions_.compile_program(*program, count_of(devices), devices.data(), options.c_str(),
                                      static_cast<cl_uint>(headers.size()),
                                      headers.empty() ? nullptr : headers.data(),
                                      headers.empty() ? nullptr : name_pointers.data(), nullptr, nullptr);
  }
  for (cl_program header : headers) release(header);
  if (code != CL_SUCCESS) {
    Error error = error_of(code, "clCompileProgram", *program, devices);
    release(*program);
    return fail(error.code, std::move(error.what));
  }
  return program;
}

Result<BuiltProgram<OpenclApi::Program>> OpenclApi::link(const ProgramIngredients& what,
                                                         std::span<const Device> devices,
                                                         std::span<const Program> parts) const {
  const std::string options = terminated(what.text(ingredient::kLinkOptions));
  cl_int code = CL_SUCCESS;
  cl_program program =
      functions_.link_program(context_, count_of(devices), devices.data(), options.c_str(),
                              static_cast<cl_uint>(parts.size()), parts.data(), nullptr, nullptr, &code);
  std::string log;
  for (cl_program part : parts) log += log_of(part, devices);
  if (program == nullptr || code != CL_SUCCESS) {
    Error error =
        error_of(code == CL_SUCCESS ? CL_LINK_PROGRAM_FAILURE : code, "clLinkProgram", program, devices);
    if (program != nullptr) release(program);
    return fail(error.code, std::move(error.what));
  }
  return BuiltProgram<Program>{program, log + log_of(program, devices)};
}

Result<BuiltProgram<OpenclApi::Program>> OpenclApi::build(const ProgramIngredients& what,
                                                          std::span<const Device> devices) const {
  hear_files();
  auto built = build_heard(what, devices);
  // It had to look for something: a compiler that was not heard is not one that reads nothing.
  if (!FileRecording::has_heard()) FileRecording::tell_unheard(kUnheard);
  return built;
}

Result<BuiltProgram<OpenclApi::Program>> OpenclApi::build_for(const HostCall& call,
                                                              std::span<const Device> devices,
                                                              Program& program, int& code) const {
  hear_files();
  const bool is_made = program == nullptr;           // by the call
  if (!is_made) functions_.retain_program(program);  // its host may let it go when it is called back
  code = call(program);
  if (!FileRecording::has_heard()) FileRecording::tell_unheard(kUnheard);
  if (code != CL_SUCCESS || program == nullptr) {
    Error error =
        error_of(code == CL_SUCCESS ? CL_LINK_PROGRAM_FAILURE : code, "build for its host", program, devices);
    if (!is_made) release(program);
    return fail(error.code, std::move(error.what));
  }
  if (is_made) functions_.retain_program(program);
  return BuiltProgram<Program>{program, log_of(program, devices)};
}

Result<BuiltProgram<OpenclApi::Program>> OpenclApi::share(Program program) const {
  functions_.retain_program(program);
  return BuiltProgram<Program>{program, {}};
}

Result<BuiltProgram<OpenclApi::Program>> OpenclApi::build_heard(const ProgramIngredients& what,
                                                                std::span<const Device> devices) const {
  const bool is_linked = what.text(ingredient::kForm) == name(ProgramForm::linked);
  if (is_linked || !what.text(ingredient::kLinkOptions).empty() || !what.all(ingredient::kHeader).empty()) {
    std::vector<Program> parts;
    Error error;
    bool is_good = true;
    for (std::size_t i = 0; is_good; ++i) {
      const auto part = is_linked ? what.part(i) : (i == 0 ? std::optional(what) : std::nullopt);
      if (!part) break;
      auto compiled = compile(*part, devices);
      is_good = compiled.has_value();
      if (is_good) {
        parts.push_back(*compiled);
      } else {
        error = std::move(compiled.error());
      }
    }
    Result<BuiltProgram<Program>> linked =
        is_good ? link(what, devices, parts) : Result<BuiltProgram<Program>>(fail(error.code, error.what));
    for (const Program part : parts) release(part);
    return linked;
  }
  auto program = create(what);
  if (!program) return fail(program.error().code, std::move(program.error().what));
  const std::string options = terminated(what.text(ingredient::kCompileOptions));
  const cl_int code = functions_.build_program(*program, count_of(devices), devices.data(), options.c_str(),
                                               nullptr, nullptr);
  if (code != CL_SUCCESS) {
    Error error = error_of(code, "clBuildProgram", *program, devices);
    release(*program);
    return fail(error.code, std::move(error.what));
  }
  return BuiltProgram<Program>{*program, log_of(*program, devices)};
}

namespace {

auto refuse(cl_int code, const char* call) {
  const Code kind = code_of(code) == Code::out_of_resources ? Code::out_of_resources : Code::refused;
  return fail(kind, std::string(call) + ": OpenCL error " + std::to_string(code));
}

}  // namespace

Result<OpenclApi::Program> OpenclApi::create(std::span<const Device> devices,
                                             std::span<const Artefacts> binaries) const {
  std::vector<const unsigned char*> begins;
  std::vector<std::size_t> sizes;
  for (const Artefacts& binary : binaries) {
    if (binary.size() != 1 || binary.front().name != "binary" || binary.front().bytes.empty()) {
      return fail(Code::refused, "clCreateProgramWithBinary: not what this API hands out");
    }
    begins.push_back(reinterpret_cast<const unsigned char*>(binary.front().bytes.data()));
    sizes.push_back(binary.front().bytes.size());
  }
  cl_int code = CL_SUCCESS;
  std::vector<cl_int> states(devices.size());
  cl_program program = functions_.create_program_with_binary(
      context_, count_of(devices), devices.data(), sizes.data(), begins.data(), states.data(), &code);
  if (program == nullptr || code != CL_SUCCESS) {
    if (program != nullptr) release(program);
    return refuse(code, "clCreateProgramWithBinary");
  }
  return program;
}

Result<BuiltProgram<OpenclApi::Program>> OpenclApi::create_from_binary(
    const ProgramIngredients& what, std::span<const Device> devices,
    std::span<const Artefacts> binaries) const {
  auto program = create(devices, binaries);
  if (!program) return fail(program.error().code, std::move(program.error().what));
  // Options of a compiler that will not run; some drivers look at them all the same.
  const std::string options = terminated(what.text(ingredient::kCompileOptions));
  const cl_int code = functions_.build_program(*program, count_of(devices), devices.data(), options.c_str(),
                                               nullptr, nullptr);
  if (code != CL_SUCCESS) {
    release(*program);
    return refuse(code, "clBuildProgram of a binary");
  }
  return BuiltProgram<Program>{*program, {}};
}

Result<BuiltProgram<OpenclApi::Program>> OpenclApi::create_unbuilt(std::span<const Device> devices,
                                                                   std::span<const Artefacts> binaries,
                                                                   unsigned type) const {
  auto program = create(devices, binaries);
  if (!program) return fail(program.error().code, std::move(program.error().what));
  for (const Device device : devices) {
    cl_program_binary_type is = CL_PROGRAM_BINARY_TYPE_NONE;
    const cl_int code =
        functions_.get_program_build_info(*program, device, CL_PROGRAM_BINARY_TYPE, sizeof is, &is, nullptr);
    if (code == CL_SUCCESS && is == type) continue;
    release(*program);
    return fail(Code::refused,
                "clCreateProgramWithBinary: the driver does not "
                "take it for what it was");
  }
  return BuiltProgram<Program>{*program, {}};
}

Result<Artefacts> OpenclApi::binary_of(Program program, Device device) const {
  // What the driver reads to write down what it has compiled is its build's, not the program's; PoCL compiles
  // kernels for it, and has them linked.
  const FileRecording::Pause unheard;
  cl_uint count = 0;
  cl_int code = functions_.get_program_info(program, CL_PROGRAM_NUM_DEVICES, sizeof count, &count, nullptr);
  std::vector<cl_device_id> devices(count);
  std::vector<std::size_t> sizes(count);
  if (code == CL_SUCCESS) {
    code = functions_.get_program_info(program, CL_PROGRAM_DEVICES, count * sizeof(cl_device_id),
                                       devices.data(), nullptr);
  }
  if (code == CL_SUCCESS) {
    code = functions_.get_program_info(program, CL_PROGRAM_BINARY_SIZES, count * sizeof(std::size_t),
                                       sizes.data(), nullptr);
  }
  std::string binary;
  if (code == CL_SUCCESS) {
    // Null for a device says that nobody wants its binary; PoCL 3.1 writes there all the same.
    std::vector<std::string> all(count);
    std::vector<unsigned char*> places(count, nullptr);
    for (cl_uint i = 0; i < count; ++i) {
      all[i].resize(sizes[i]);
      if (sizes[i] != 0) places[i] = reinterpret_cast<unsigned char*>(all[i].data());
    }
    code = functions_.get_program_info(program, CL_PROGRAM_BINARIES, count * sizeof(unsigned char*),
                                       places.data(), nullptr);
    const auto place = std::find(devices.begin(), devices.end(), device);
    if (code == CL_SUCCESS && place != devices.end())
      binary = std::move(all[static_cast<std::size_t>(place - devices.begin())]);
  }
  if (code != CL_SUCCESS) {
    Error error = error_of(code, "ask for a program's binary", nullptr, {});
    return fail(error.code, std::move(error.what));
  }
  if (binary.empty()) return Artefacts{};
  return Artefacts{{"binary", Bytes(std::move(binary))}};
}

Result<OpenclApi::Kernel> OpenclApi::kernel_of(Program program, const std::string& name) const {
  cl_int code = CL_SUCCESS;
  cl_kernel kernel = functions_.create_kernel(program, name.c_str(), &code);
  if (kernel == nullptr || code != CL_SUCCESS) {
    const Code kind = code_of(code) == Code::invalid_argument ? Code::maker_failed : code_of(code);
    return fail(kind, "clCreateKernel " + name + ": OpenCL error " + std::to_string(code));
  }
  return kernel;
}

void OpenclApi::release(Program program) const noexcept {
  functions_.release_program(program);
}

void OpenclApi::release(Kernel kernel) const noexcept {
  functions_.release_kernel(kernel);
}

}  // namespace larder
