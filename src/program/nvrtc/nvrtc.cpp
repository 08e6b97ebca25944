#include "larder/nvrtc.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "larder/compiler_options.hpp"
#include "program/file_hooks.hpp"
#include "program/file_recording.hpp"
#include "program/nvrtc/functions.hpp"
#include "program/nvrtc/identity.hpp"

namespace larder {
namespace {

using nvrtc::Functions;

constexpr std::string_view kNamePrefix = "name ";
constexpr std::size_t kArtefactMax = std::size_t{1} << 32;

// A program of NVRTC's, destroyed with its last use here.
class Compilation {
 public:
  explicit Compilation(const Functions& functions) noexcept : functions_(functions) {}
  ~Compilation() {
    if (program_ != nullptr) functions_.destroy_program(&program_);
  }
  Compilation(const Compilation&) = delete;
  Compilation& operator=(const Compilation&) = delete;
  nvrtc::Program* place() noexcept { return &program_; }
  nvrtc::Program get() const noexcept { return program_; }

 private:
  const Functions& functions_;
  nvrtc::Program program_ = nullptr;
};

Error error_of(const Functions& functions, nvrtc::Code code, const char* what) {
  const char* const name = functions.get_error_string(code);
  return {code == nvrtc::kOutOfMemory ? Code::out_of_resources : Code::invalid_argument,
          std::string(what) + ": " + (name == nullptr ? std::to_string(code) : name)};
}

using GetSize = nvrtc::Code (*)(nvrtc::Program, std::size_t*);
using GetBytes = nvrtc::Code (*)(nvrtc::Program, char*);

// Empty when NVRTC has none.
std::string get(nvrtc::Program program, GetSize get_size, GetBytes get_bytes) {
  std::size_t size = 0;
  if (get_size == nullptr || get_bytes == nullptr || get_size(program, &size) != nvrtc::kSuccess) return {};
  if (size == 0 || size > kArtefactMax) return {};
  std::string bytes(size, '\0');
  if (get_bytes(program, bytes.data()) != nvrtc::kSuccess) return {};
  return bytes;
}

std::string text(std::string_view view) {
  return std::string(view);
}

bool has_entry(const NvrtcProgram& program, const std::string& name) {
  const std::string_view ptx = as_text(program.artefact("ptx"));
  if (ptx.find(".entry " + name + '(') != std::string_view::npos) return true;
  const std::string_view cubin = as_text(program.artefact("cubin"));
  return cubin.find(std::string(".text.") + name + '\0') != std::string_view::npos;
}

}  // namespace

BytesView NvrtcProgram::artefact(std::string_view name) const noexcept {
  for (const Artefact& each : artefacts) {
    if (each.name == name) return each.bytes.view();
  }
  return {};
}

Result<std::shared_ptr<NvrtcApi>> NvrtcApi::open(const std::string& library) {
  const Functions* const functions = nvrtc::loaded_functions(library);
  if (functions == nullptr) return fail(Code::unsupported, "open NVRTC: there is no libnvrtc");
  return open(*functions);
}

Result<std::shared_ptr<NvrtcApi>> NvrtcApi::open(const Functions& functions) {
  return std::shared_ptr<NvrtcApi>(new NvrtcApi(functions));
}

std::string_view NvrtcApi::cannot(const ProgramInput& input) noexcept {
  if (input.form != ProgramForm::source) return "NVRTC compiles sources alone; another library links";
  if (!input.constants.empty()) return "NVRTC has no specialization constants";
  for (const OptionPair* pair : {&input.image_options, &input.call_options, &input.environment_options}) {
    if (!pair->link.empty()) return "NVRTC does not link, and has no options for it";
  }
  return {};
}

Result<BuiltProgram<NvrtcApi::Program>> NvrtcApi::build(const ProgramIngredients& what,
                                                        std::span<const Device> devices) const {
  // Every build, and not once: what was loaded before may have been unloaded.
  if (FileRecording::is_any()) {
    const std::string unheard = hook_files(reinterpret_cast<const void*>(functions_.compile_program));
    if (!unheard.empty()) FileRecording::tell_unheard(unheard);
  }
  std::vector<std::string> owned;
  for (const auto& [name, content] : what.all(ingredient::kHeader)) {
    owned.push_back(text(content));
    owned.push_back(text(name));
  }
  std::vector<const char*> headers;
  std::vector<const char*> names;
  for (std::size_t i = 0; i < owned.size(); i += 2) {
    headers.push_back(owned[i].c_str());
    names.push_back(owned[i + 1].c_str());
  }
  Compilation compilation(functions_);
  const std::string source = text(what.text(ingredient::kText));
  const std::string name = text(what.text(ingredient::kName));
  nvrtc::Code code = functions_.create_program(
      compilation.place(), source.c_str(), what.has(ingredient::kName) ? name.c_str() : nullptr,
      static_cast<int>(headers.size()), headers.data(), names.data());
  const auto refuse = [&](const char* doing) {
    Error error = error_of(functions_, code, doing);
    return fail(error.code, std::move(error.what));
  };
  if (code != nvrtc::kSuccess) return refuse("create program");
  std::vector<std::string> expressions;
  for (std::size_t i = 0; i < what.size(); ++i) {
    if (what.name_at(i) == ingredient::kNameExpression) expressions.push_back(text(what.text_at(i)));
  }
  for (const std::string& each : expressions) {
    code = functions_.add_name_expression(compilation.get(), each.c_str());
    if (code != nvrtc::kSuccess) return refuse("add name expression");
  }
  std::vector<std::string> options = split_options(what.text(ingredient::kCompileOptions));
  if (devices.front().architecture != 0) {
    options.push_back("--gpu-architecture=sm_" + std::to_string(devices.front().architecture));
  }
  std::vector<const char*> option_views;
  for (const std::string& each : options) option_views.push_back(each.c_str());
  code = functions_.compile_program(compilation.get(), static_cast<int>(options.size()), option_views.data());
  std::string log = get(compilation.get(), functions_.get_program_log_size, functions_.get_program_log);
  log.resize(std::min(log.find('\0'), log.size()));
  if (code == nvrtc::kCompilation || code == nvrtc::kInvalidOption) {
    Error error = to_error({code, std::move(log)});
    return fail(error.code, std::move(error.what));
  }
  if (code != nvrtc::kSuccess) return refuse("compile program");
  // The first compilation has loaded it: now it shows which one it is.
  if (nvrtc::loaded_builtins(functions_, builtins_name_) != builtins_build_) {
    FileRecording::tell_forbidden("uses another build of", builtins_name_);
  }
  auto program = std::make_unique<NvrtcProgram>();
  program->log = log;
  const auto take = [&](const char* artefact, GetSize get_size, GetBytes get_bytes) {
    std::string bytes = get(compilation.get(), get_size, get_bytes);
    if (!bytes.empty()) program->artefacts.push_back({artefact, Bytes(std::move(bytes))});
  };
  take("ptx", functions_.get_ptx_size, functions_.get_ptx);
  take("cubin", functions_.get_cubin_size, functions_.get_cubin);
  take("lto-ir", functions_.get_lto_ir_size, functions_.get_lto_ir);
  take("optix-ir", functions_.get_optix_ir_size, functions_.get_optix_ir);
  for (const std::string& each : expressions) {
    const char* lowered = nullptr;
    code = functions_.get_lowered_name(compilation.get(), each.c_str(), &lowered);
    if (code != nvrtc::kSuccess) return refuse("get lowered name");
    program->artefacts.push_back({std::string(kNamePrefix) + each, Bytes(std::string(lowered))});
  }
  return BuiltProgram<Program>{program.release(), std::move(log)};
}

Result<BuiltProgram<NvrtcApi::Program>> NvrtcApi::create_from_binary(
    const ProgramIngredients& what, std::span<const Device>, std::span<const Artefacts> binaries) const {
  auto program = std::make_unique<NvrtcProgram>();
  program->artefacts = binaries.front();
  // No driver looks at it here: it is held against what such a program must have.
  const std::string_view ptx = as_text(program->artefact("ptx"));
  const bool has_ptx =
      ptx.size() > 1 && ptx.ends_with('\0') && ptx.find(".version") != std::string_view::npos;
  if (!has_ptx && ptx.size() > 1) return fail(Code::refused, "NVRTC: no PTX");
  if (!has_ptx && program->artefact("lto-ir").empty() && program->artefact("optix-ir").empty() &&
      program->artefact("cubin").empty()) {
    return fail(Code::refused, "NVRTC: a program without code");
  }
  for (std::size_t i = 0; i < what.size(); ++i) {
    if (what.name_at(i) != ingredient::kNameExpression) continue;
    if (program->artefact(std::string(kNamePrefix).append(what.text_at(i))).empty()) {
      return fail(Code::refused, "NVRTC: a program without a name that was asked for");
    }
  }
  return BuiltProgram<Program>{program.release(), {}};
}

Result<Artefacts> NvrtcApi::binary_of(Program program, Device) const {
  return program->artefacts;
}

Result<NvrtcApi::Kernel> NvrtcApi::kernel_of(Program program, const std::string& name) const {
  const BytesView lowered = program->artefact(std::string(kNamePrefix) + name);
  if (!lowered.empty()) return new NvrtcKernel{std::string(as_text(lowered))};
  if (has_entry(*program, name)) return new NvrtcKernel{name};
  return fail(Code::maker_failed, "get kernel: no kernel or name expression " + name);
}

void NvrtcApi::release(Program program) const noexcept {
  delete program;
}
void NvrtcApi::release(Kernel kernel) const noexcept {
  delete kernel;
}

}  // namespace larder
