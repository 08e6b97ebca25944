// A libnvrtc in front of the real one, preloaded by `larder run`. Programs that are linked to libnvrtc find
// these functions first; programs that load it find them through dlsym, which stands here for names of
// NVRTC's alone. A function either answers from what larder has or calls the real one, always with the handle
// that the program holds.
#include <dlfcn.h>

#include <cstring>
#include <string_view>
#include <vector>

#include "larder/compiler_options.hpp"
#include "layers/nvrtc/programs.hpp"
#include "program/guarded.hpp"
#include "program/guest.hpp"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace larder::shim {
namespace {

using nvrtc::Code;
using nvrtc::Program;

constexpr Code kInvalidInput = 3;
constexpr Code kInvalidProgram = 4;
constexpr Code kNoExpressionsAfterCompilation = 8;
constexpr Code kNameNotValid = 10;
constexpr Code kInternalError = 11;

const nvrtc::Functions* real(int slot) noexcept {
  return Library::of_slot(slot).functions();
}

Code create(int slot, Program* program, const char* source, const char* name, int count,
            const char* const* headers, const char* const* names) {
  const nvrtc::Functions* const f = real(slot);
  if (f == nullptr) return kInternalError;
  const Code code = f->create_program(program, source, name, count, headers, names);
  if (code != nvrtc::kSuccess || !guest::is_enabled()) return code;
  guarded([&] {
    remove_program(slot, *program);  // of that address, and destroyed unseen
    if (count != 0 && (headers == nullptr || names == nullptr)) return;
    auto host = std::make_shared<HostProgram>();
    host->source = source;
    if (name != nullptr) host->name = name;
    for (int i = 0; i < count; ++i) {
      if (headers[i] == nullptr || names[i] == nullptr) return;
      host->headers.emplace_back(names[i], headers[i]);
    }
    add_program(slot, *program, std::move(host));
  });
  return code;
}

Code destroy(int slot, Program* program) {
  const nvrtc::Functions* const f = real(slot);
  if (f == nullptr) return kInternalError;
  if (program != nullptr && *program != nullptr) remove_program(slot, *program);
  guest::take_up_notes();
  return f->destroy_program(program);
}

// Answers a compilation; nothing when the real one is to do it.
std::optional<Code> answer(int slot, HostProgram& host, int count, const char* const* options)
    REQUIRES(host.mutex) {
  Programs* const programs = Library::of_slot(slot).programs();
  if (programs == nullptr) return std::nullopt;
  for (int i = 0; i < count; ++i) {
    if (options[i] == nullptr || *options[i] == '\0') return std::nullopt;
  }
  const std::string joined = join_options({options, static_cast<std::size_t>(count)});
  std::vector<ProgramHeader> headers;
  for (const auto& [name, text] : host.headers) headers.push_back({name, text});
  const std::vector<std::string_view> expressions(host.expressions.begin(), host.expressions.end());
  const ProgramInput input{.text = host.source,
                           .headers = headers,
                           .name = host.name,
                           .name_expressions = expressions,
                           .call_options = {.compile = joined}};
  const NvrtcTarget target{};
  // What does more than compile must do it to the program that the host holds.
  if (host.has_callback) {
    guest::report("nvrtc", name(Outcome::bypassed), {},
                  "its program wants to be called during the compilation");
    return std::nullopt;
  }
  ProgramAnswer told;
  auto kept = programs->get_or_build_kept({&target, 1}, input, told);
  if (!kept) {
    guest::report("nvrtc", name(Outcome::bypassed), {}, told.why_not);
    return std::nullopt;
  }
  auto& got = *kept;
  if (told.outcome == Outcome::made || told.outcome == Outcome::failed) guest::take_notes();
  if (got) {
    host.served = std::move(*got);
    guest::report("nvrtc", name(told.outcome), told.cost, told.why_not);
    return nvrtc::kSuccess;
  }
  auto failure = build_failure(got.error());
  if (!failure) return std::nullopt;
  host.failed = std::move(*failure);
  guest::report("nvrtc", name(Outcome::failed), told.cost, told.why_not);
  return static_cast<Code>(host.failed->code);
}

Code compile(int slot, Program program, int count, const char* const* options) {
  const nvrtc::Functions* const f = real(slot);
  if (f == nullptr) return kInternalError;
  guest::take_up_notes();  // of the one before
  std::optional<Code> code;
  if (const auto host = find_program(slot, program); host != nullptr && (count == 0 || options != nullptr)) {
    guarded([&] {
      const MutexLock lock(host->mutex);
      host->served = {};
      host->failed.reset();
      host->lowered.clear();
      code = answer(slot, *host, count, options);
    });
  }
  return code ? *code : f->compile_program(program, count, options);
}

// What `read` gives of a program that larder answered; nothing: the real function has it.
template <typename Read>
std::optional<Code> look(int slot, Program program, Read read) noexcept {
  std::optional<Code> code;
  guarded([&] {
    const auto host = find_program(slot, program);
    if (host == nullptr) return;
    const MutexLock lock(host->mutex);
    if (host->served || host->failed) code = read(*host);
  });
  return code;
}

// NVRTC counts the zero at the end of its texts, and has an empty one for PTX that it did not make.
BytesView bytes_of(HostProgram& host, std::string_view artefact) REQUIRES(host.mutex) {
  static constexpr char kZero = '\0';
  constexpr std::string_view kEmptyText(&kZero, 1);
  const BytesView bytes = host.served ? host.served->handle()->artefact(artefact) : BytesView{};
  return bytes.empty() && artefact == "ptx" ? as_bytes(kEmptyText) : bytes;
}

// One of the texts that NVRTC makes, under larder's name, and how the real one is asked for it.
struct Artefact {
  std::string_view name;
  Code (*nvrtc::Functions::*size)(Program, std::size_t*);
  Code (*nvrtc::Functions::*get)(Program, char*);
};
constexpr Artefact kPtx{"ptx", &nvrtc::Functions::get_ptx_size, &nvrtc::Functions::get_ptx};
constexpr Artefact kCubin{"cubin", &nvrtc::Functions::get_cubin_size, &nvrtc::Functions::get_cubin};
constexpr Artefact kLtoIr{"lto-ir", &nvrtc::Functions::get_lto_ir_size, &nvrtc::Functions::get_lto_ir};
constexpr Artefact kOptixIr{"optix-ir", &nvrtc::Functions::get_optix_ir_size,
                            &nvrtc::Functions::get_optix_ir};

Code size_of(int slot, Program program, std::size_t* size, const Artefact& artefact) {
  const auto code = look(slot, program, [&](HostProgram& host) NO_THREAD_SAFETY_ANALYSIS -> Code {
    if (size == nullptr) return kInvalidInput;
    *size = bytes_of(host, artefact.name).size();
    return nvrtc::kSuccess;
  });
  if (code) return *code;
  const nvrtc::Functions* const f = real(slot);
  return f == nullptr || f->*artefact.size == nullptr ? kInternalError : (f->*artefact.size)(program, size);
}

Code copy_of(int slot, Program program, char* to, const Artefact& artefact) {
  const auto code = look(slot, program, [&](HostProgram& host) NO_THREAD_SAFETY_ANALYSIS -> Code {
    if (to == nullptr) return kInvalidInput;
    const BytesView bytes = bytes_of(host, artefact.name);
    if (!bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
    return nvrtc::kSuccess;
  });
  if (code) return *code;
  const nvrtc::Functions* const f = real(slot);
  return f == nullptr || f->*artefact.get == nullptr ? kInternalError : (f->*artefact.get)(program, to);
}

Code log_size(int slot, Program program, std::size_t* size) {
  const auto code = look(slot, program, [&](HostProgram& host) NO_THREAD_SAFETY_ANALYSIS -> Code {
    if (size == nullptr) return kInvalidInput;
    *size = (host.served ? host.served->log() : host.failed->log).size() + 1;
    return nvrtc::kSuccess;
  });
  const nvrtc::Functions* const f = real(slot);
  return code ? *code : f == nullptr ? kInternalError : f->get_program_log_size(program, size);
}

Code log(int slot, Program program, char* to) {
  const auto code = look(slot, program, [&](HostProgram& host) NO_THREAD_SAFETY_ANALYSIS -> Code {
    if (to == nullptr) return kInvalidInput;
    const std::string& text = host.served ? host.served->log() : host.failed->log;
    std::memcpy(to, text.c_str(), text.size() + 1);
    return nvrtc::kSuccess;
  });
  const nvrtc::Functions* const f = real(slot);
  return code ? *code : f == nullptr ? kInternalError : f->get_program_log(program, to);
}

Code add_expression(int slot, Program program, const char* expression) {
  const nvrtc::Functions* const f = real(slot);
  if (f == nullptr) return kInternalError;
  const auto refused =
      look(slot, program, [&](HostProgram& host) NO_THREAD_SAFETY_ANALYSIS -> std::optional<Code> {
        if (!host.served && host.failed->code == nvrtc::kInvalidOption)
          return std::nullopt;  // it did not begin
        return kNoExpressionsAfterCompilation;
      });
  if (refused) return *refused;
  const Code code = f->add_name_expression(program, expression);
  if (code == nvrtc::kSuccess) {
    guarded([&] {
      const auto host = find_program(slot, program);
      if (host == nullptr) return;
      const MutexLock lock(host->mutex);
      host->expressions.emplace_back(expression);
    });
  }
  return code;
}

Code lowered_name(int slot, Program program, const char* expression, const char** name) {
  const auto code =
      look(slot, program, [&](HostProgram& host) NO_THREAD_SAFETY_ANALYSIS -> std::optional<Code> {
        if (!host.served) return std::nullopt;
        if (expression == nullptr || name == nullptr) return kInvalidInput;
        const BytesView bytes = host.served->handle()->artefact(std::string("name ") + expression);
        if (bytes.empty()) return kNameNotValid;
        *name = host.lowered.try_emplace(expression, as_text(bytes)).first->second.c_str();
        return nvrtc::kSuccess;
      });
  const nvrtc::Functions* const f = real(slot);
  return code ? *code : f == nullptr ? kInternalError : f->get_lowered_name(program, expression, name);
}

using Callback = int (*)(void*, void*);
Code set_callback(int slot, Program program, Callback callback, void* payload) {
  const nvrtc::Functions* const f = real(slot);
  if (f == nullptr || f->set_flow_callback == nullptr) return kInvalidProgram;
  guarded([&] {
    const auto host = find_program(slot, program);
    if (host == nullptr) return;
    const MutexLock lock(host->mutex);
    host->has_callback = callback != nullptr;
  });
  return f->set_flow_callback(program, callback, payload);
}

// The functions of one slot: what a program holds must say by itself which library it means.
template <int kSlot>
struct Entry {
  static Code create_program(Program* program, const char* source, const char* name, int count,
                             const char* const* headers, const char* const* names) {
    return create(kSlot, program, source, name, count, headers, names);
  }
  static Code destroy_program(Program* program) { return destroy(kSlot, program); }
  static Code compile_program(Program program, int count, const char* const* options) {
    return compile(kSlot, program, count, options);
  }
  static Code ptx_size(Program program, std::size_t* size) { return size_of(kSlot, program, size, kPtx); }
  static Code ptx(Program program, char* to) { return copy_of(kSlot, program, to, kPtx); }
  static Code cubin_size(Program program, std::size_t* size) { return size_of(kSlot, program, size, kCubin); }
  static Code cubin(Program program, char* to) { return copy_of(kSlot, program, to, kCubin); }
  static Code lto_ir_size(Program program, std::size_t* size) {
    return size_of(kSlot, program, size, kLtoIr);
  }
  static Code lto_ir(Program program, char* to) { return copy_of(kSlot, program, to, kLtoIr); }
  static Code optix_ir_size(Program program, std::size_t* size) {
    return size_of(kSlot, program, size, kOptixIr);
  }
  static Code optix_ir(Program program, char* to) { return copy_of(kSlot, program, to, kOptixIr); }
  static Code program_log_size(Program program, std::size_t* size) { return log_size(kSlot, program, size); }
  static Code program_log(Program program, char* to) { return log(kSlot, program, to); }
  static Code add_name_expression(Program program, const char* expression) {
    return add_expression(kSlot, program, expression);
  }
  static Code get_lowered_name(Program program, const char* expression, const char** name) {
    return lowered_name(kSlot, program, expression, name);
  }
  static Code set_flow_callback(Program program, Callback callback, void* payload) {
    return set_callback(kSlot, program, callback, payload);
  }

  static void* find(std::string_view name) noexcept {
    const std::pair<std::string_view, void*> kAll[] = {
        {"nvrtcCreateProgram", reinterpret_cast<void*>(create_program)},
        {"nvrtcDestroyProgram", reinterpret_cast<void*>(destroy_program)},
        {"nvrtcCompileProgram", reinterpret_cast<void*>(compile_program)},
        {"nvrtcGetPTXSize", reinterpret_cast<void*>(ptx_size)},
        {"nvrtcGetPTX", reinterpret_cast<void*>(ptx)},
        {"nvrtcGetCUBINSize", reinterpret_cast<void*>(cubin_size)},
        {"nvrtcGetCUBIN", reinterpret_cast<void*>(cubin)},
        {"nvrtcGetLTOIRSize", reinterpret_cast<void*>(lto_ir_size)},
        {"nvrtcGetLTOIR", reinterpret_cast<void*>(lto_ir)},
        {"nvrtcGetNVVMSize", reinterpret_cast<void*>(lto_ir_size)},
        {"nvrtcGetNVVM", reinterpret_cast<void*>(lto_ir)},
        {"nvrtcGetOptiXIRSize", reinterpret_cast<void*>(optix_ir_size)},
        {"nvrtcGetOptiXIR", reinterpret_cast<void*>(optix_ir)},
        {"nvrtcGetProgramLogSize", reinterpret_cast<void*>(program_log_size)},
        {"nvrtcGetProgramLog", reinterpret_cast<void*>(program_log)},
        {"nvrtcAddNameExpression", reinterpret_cast<void*>(add_name_expression)},
        {"nvrtcGetLoweredName", reinterpret_cast<void*>(get_lowered_name)},
        {"nvrtcSetFlowCallback", reinterpret_cast<void*>(set_flow_callback)},
    };
    for (const auto& [known, function] : kAll) {
      if (known == name) return function;
    }
    return nullptr;
  }
};

void* entry_of(int slot, std::string_view name) noexcept {
  static_assert(kSlots == 4);
  return slot == 1 ? Entry<1>::find(name) : slot == 2 ? Entry<2>::find(name) : Entry<3>::find(name);
}

}  // namespace
}  // namespace larder::shim

using larder::nvrtc::Code;
using larder::nvrtc::Program;
using larder::shim::Library;

// Which library a program means that is linked to one.
#define LINKED_SLOT Library::slot_of_caller(__builtin_return_address(0))

EXPORT Code nvrtcCreateProgram(Program* program, const char* source, const char* name, int count,
                               const char* const* headers, const char* const* names) {
  return larder::shim::create(LINKED_SLOT, program, source, name, count, headers, names);
}
EXPORT Code nvrtcDestroyProgram(Program* program) {
  return larder::shim::destroy(LINKED_SLOT, program);
}
EXPORT Code nvrtcCompileProgram(Program program, int count, const char* const* options) {
  return larder::shim::compile(LINKED_SLOT, program, count, options);
}
EXPORT Code nvrtcGetPTXSize(Program program, std::size_t* size) {
  return larder::shim::size_of(LINKED_SLOT, program, size, larder::shim::kPtx);
}
EXPORT Code nvrtcGetPTX(Program program, char* to) {
  return larder::shim::copy_of(LINKED_SLOT, program, to, larder::shim::kPtx);
}
EXPORT Code nvrtcGetCUBINSize(Program program, std::size_t* size) {
  return larder::shim::size_of(LINKED_SLOT, program, size, larder::shim::kCubin);
}
EXPORT Code nvrtcGetCUBIN(Program program, char* to) {
  return larder::shim::copy_of(LINKED_SLOT, program, to, larder::shim::kCubin);
}
EXPORT Code nvrtcGetLTOIRSize(Program program, std::size_t* size) {
  return larder::shim::size_of(LINKED_SLOT, program, size, larder::shim::kLtoIr);
}
EXPORT Code nvrtcGetLTOIR(Program program, char* to) {
  return larder::shim::copy_of(LINKED_SLOT, program, to, larder::shim::kLtoIr);
}
EXPORT Code nvrtcGetNVVMSize(Program program, std::size_t* size) {
  return larder::shim::size_of(LINKED_SLOT, program, size, larder::shim::kLtoIr);
}
EXPORT Code nvrtcGetNVVM(Program program, char* to) {
  return larder::shim::copy_of(LINKED_SLOT, program, to, larder::shim::kLtoIr);
}
EXPORT Code nvrtcGetOptiXIRSize(Program program, std::size_t* size) {
  return larder::shim::size_of(LINKED_SLOT, program, size, larder::shim::kOptixIr);
}
EXPORT Code nvrtcGetOptiXIR(Program program, char* to) {
  return larder::shim::copy_of(LINKED_SLOT, program, to, larder::shim::kOptixIr);
}
EXPORT Code nvrtcGetProgramLogSize(Program program, std::size_t* size) {
  return larder::shim::log_size(LINKED_SLOT, program, size);
}
EXPORT Code nvrtcGetProgramLog(Program program, char* to) {
  return larder::shim::log(LINKED_SLOT, program, to);
}
EXPORT Code nvrtcAddNameExpression(Program program, const char* expression) {
  return larder::shim::add_expression(LINKED_SLOT, program, expression);
}
EXPORT Code nvrtcGetLoweredName(Program program, const char* expression, const char** name) {
  return larder::shim::lowered_name(LINKED_SLOT, program, expression, name);
}
EXPORT Code nvrtcSetFlowCallback(Program program, int (*callback)(void*, void*), void* payload) {
  return larder::shim::set_callback(LINKED_SLOT, program, callback, payload);
}

#if defined(__x86_64__)
// dlsym answers RTLD_NEXT by where it was called from. So for all names but NVRTC's this one jumps to the
// real one with everything as it was: the caller stays the caller.
extern "C" {
void* larder_next_dlsym = nullptr;
void larder_find_next_dlsym() {
  for (const char* const version : {"GLIBC_2.34", "GLIBC_2.2.5"}) {
    if (larder_next_dlsym == nullptr) larder_next_dlsym = ::dlvsym(RTLD_NEXT, "dlsym", version);
  }
}
void* larder_nvrtc_dlsym(void* handle, const char* name) {
  void* function = larder::shim::real_dlsym(handle, name);
  if (function == nullptr || larder::shim::Entry<1>::find(name) == nullptr) return function;
  Dl_info mine{};
  Dl_info its{};
  ::dladdr(reinterpret_cast<void*>(&larder_nvrtc_dlsym), &mine);
  // Of the process as a whole ours is found first; without a library behind it, it is none.
  if (::dladdr(function, &its) != 0 && mine.dli_fbase == its.dli_fbase) {
    return larder::shim::real_dlsym(RTLD_NEXT, name) == nullptr ? nullptr : function;
  }
  if (!larder::guest::is_enabled()) return function;
  const int slot = Library::slot_of(handle, function);
  return slot < 0 ? function : larder::shim::entry_of(slot, name);
}
}
asm(R"(
.text
.globl dlsym
.type dlsym, @function
dlsym:
  .cfi_startproc
  endbr64
  cmpq $0, larder_next_dlsym(%rip)
  jne 1f
  pushq %rdi
  .cfi_adjust_cfa_offset 8
  pushq %rsi
  .cfi_adjust_cfa_offset 8
  subq $8, %rsp
  .cfi_adjust_cfa_offset 8
  call larder_find_next_dlsym
  addq $8, %rsp
  .cfi_adjust_cfa_offset -8
  popq %rsi
  .cfi_adjust_cfa_offset -8
  popq %rdi
  .cfi_adjust_cfa_offset -8
1:
  cmpq $-1, %rdi
  je 2f
  testq %rsi, %rsi
  je 2f
  cmpb $110, (%rsi)
  jne 2f
  cmpb $118, 1(%rsi)
  jne 2f
  cmpb $114, 2(%rsi)
  jne 2f
  cmpb $116, 3(%rsi)
  jne 2f
  cmpb $99, 4(%rsi)
  jne 2f
  jmp larder_nvrtc_dlsym
2:
  jmp *larder_next_dlsym(%rip)
  .cfi_endproc
.size dlsym, .-dlsym
)");
#endif
