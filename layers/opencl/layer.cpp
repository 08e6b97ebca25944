// A layer for OpenCL's loader (OPENCL_LAYERS), put there by `larder run`. It stands between the loader and
// the drivers and answers clBuildProgram for programs of source from what larder has; whatever else a program
// does goes on to the driver, with the handle that the driver gave it. A function either knows better or
// calls what lies beneath.
#include "layers/opencl/layer.hpp"

#include <CL/cl_layer.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <string_view>
#include <vector>

#include "layers/opencl/programs.hpp"
#include "layers/opencl/serving.hpp"
#include "layers/opencl/turns.hpp"
#include "program/ending.hpp"
#include "program/guarded.hpp"
#include "program/guest.hpp"

namespace larder::layer {
namespace {

// What lies beneath, what of it larder itself calls, and what the loader is given. Set once, before the
// loader calls anything here.
cl_icd_dispatch next;
opencl::Functions functions;
cl_icd_dispatch mine;

// Extensions reach past the layer to programs that larder may have left unbuilt: from then on it answers
// none.
constinit std::atomic<bool> stands_aside{false};

// Whether programs are kept by their binaries: not at all where there are only turns to be taken, those of
// drivers that the table trusts, or all.
std::string_view which_are_kept() noexcept {
  static const char* const said = std::getenv("LARDER_OPENCL_LAYER");
  return said == nullptr ? "known" : said;
}
bool keeps_any() noexcept {
  return which_are_kept() != "turns";
}
bool keeps_all() noexcept {
  return which_are_kept() == "all";
}

cl_int answered(const void* from, std::size_t from_size, std::size_t size, void* to,
                std::size_t* size_ret) noexcept {
  if (to != nullptr && size < from_size) return CL_INVALID_VALUE;
  if (to != nullptr) std::memcpy(to, from, from_size);
  if (size_ret != nullptr) *size_ret = from_size;
  return CL_SUCCESS;
}

// What the driver is asked in a program's place.
cl_program asked(const Served& served, cl_program program) noexcept {
  return served != nullptr && served->handle != nullptr ? served->handle : program;
}

bool may_serve() noexcept {
  return keeps_any() && !guest::is_ending() && !stands_aside.load(std::memory_order_relaxed);
}

cl_program CL_API_CALL create_with_source(cl_context context, cl_uint count, const char** strings,
                                          const std::size_t* lengths, cl_int* code) {
  const cl_program program = next.clCreateProgramWithSource(context, count, strings, lengths, code);
  if (program == nullptr || guest::is_ending()) return program;
  forget_program(program);
  guarded([&] {
    std::string text;
    for (cl_uint i = 0; i < count; ++i) {
      const std::size_t length = lengths == nullptr ? 0 : lengths[i];
      text.append(strings[i], length == 0 ? std::strlen(strings[i]) : length);
    }
    know_program(program, context, "source", text);
    if (keeps_any() && !text.empty()) add_program(program, {context, std::move(text)});
  });
  return program;
}

// Programs that are not larder's to know may stand where known ones stood.
cl_program fresh(cl_program program) noexcept {
  if (program != nullptr) forget_program(program);
  return program;
}
// The same, with what turns are told of it.
cl_program fresh(cl_program program, cl_context context, std::string_view kind,
                 std::initializer_list<std::string_view> content) noexcept {
  if (program == nullptr || !takes_turns() || guest::is_ending()) return fresh(program);
  forget_turns(program);
  guarded([&] {
    std::string all;
    for (const std::string_view each : content) all.append(each);
    know_program(program, context, kind, all);
  });
  return fresh(program);
}
cl_program CL_API_CALL create_with_binary(cl_context context, cl_uint count, const cl_device_id* list,
                                          const std::size_t* lengths, const unsigned char** binaries,
                                          cl_int* states, cl_int* code) {
  const cl_program program =
      next.clCreateProgramWithBinary(context, count, list, lengths, binaries, states, code);
  if (program == nullptr || count == 0) return fresh(program);
  return fresh(program, context, "binary", {{reinterpret_cast<const char*>(binaries[0]), lengths[0]}});
}
cl_program CL_API_CALL create_with_il(cl_context context, const void* il, std::size_t length, cl_int* code) {
  const cl_program program = next.clCreateProgramWithIL(context, il, length, code);
  if (program == nullptr) return program;
  return fresh(program, context, "il", {{static_cast<const char*>(il), length}});
}
cl_program CL_API_CALL create_built_in(cl_context context, cl_uint count, const cl_device_id* list,
                                       const char* names, cl_int* code) {
  const cl_program program = next.clCreateProgramWithBuiltInKernels(context, count, list, names, code);
  if (program == nullptr) return program;
  return fresh(program, context, "built-in", {names});
}

cl_int CL_API_CALL retain_program_of_host(cl_program program) {
  const cl_int code = next.clRetainProgram(program);
  if (code == CL_SUCCESS) retain_program(program);
  return code;
}

cl_int CL_API_CALL release_program_of_host(cl_program program) {
  release_program(program);
  return next.clReleaseProgram(program);
}

std::span<const cl_device_id> devices_of(cl_uint count, const cl_device_id* list) noexcept {
  return {list, list == nullptr ? 0 : count};
}

cl_int CL_API_CALL build(cl_program program, cl_uint count, const cl_device_id* list, const char* options,
                         Callback notify, void* data) {
  ProgramTurn turn;
  turn.build(program, devices_of(count, list), options);
  cl_int code = CL_SUCCESS;
  if (may_serve() && serve_build(program, {count, list, options, notify, data}, code)) return code;
  // When it is over is the driver's to know.
  if (notify != nullptr) forget_program(program);
  turn.begin();
  return next.clBuildProgram(program, count, list, options, notify, data);
}

cl_int CL_API_CALL compile(cl_program program, cl_uint count, const cl_device_id* list, const char* options,
                           cl_uint headers, const cl_program* header_programs, const char** names,
                           Callback notify, void* data) {
  ProgramTurn turn;
  turn.compile(program, devices_of(count, list), options,
               {header_programs, header_programs == nullptr ? 0 : headers}, names);
  cl_int code = CL_SUCCESS;
  if (may_serve() &&
      serve_compile(program, {count, list, options, notify, data}, {headers, header_programs, names}, code)) {
    return code;
  }
  if (!may_serve() || notify != nullptr) forget_program(program);
  turn.begin();
  return next.clCompileProgram(program, count, list, options, headers, header_programs, names, notify, data);
}

cl_program CL_API_CALL link(cl_context context, cl_uint count, const cl_device_id* list, const char* options,
                            cl_uint inputs, const cl_program* input_programs, Callback notify, void* data,
                            cl_int* code) {
  ProgramTurn turn;
  turn.link(context, devices_of(count, list), options,
            {input_programs, input_programs == nullptr ? 0 : inputs});
  const HostParts parts{context, inputs, input_programs};
  cl_program linked = nullptr;
  cl_int answer = CL_SUCCESS;
  if (may_serve() && serve_link(parts, {count, list, options, notify, data}, linked, answer)) {
    if (code != nullptr) *code = answer;
    turn.linked(linked);
    return linked;
  }
  std::vector<Served> held;
  const std::vector<cl_program> real = handles_of(parts, held);
  const bool is_whole = real.size() == inputs && inputs != 0;
  turn.begin();
  linked = next.clLinkProgram(context, count, list, options, inputs, is_whole ? real.data() : input_programs,
                              notify, data, code);
  turn.linked(linked);
  return fresh(linked);
}

cl_int CL_API_CALL set_constant(cl_program program, cl_uint id, std::size_t size, const void* value) {
  forget_program(program);
  forget_turns(program);
  return next.clSetProgramSpecializationConstant(program, id, size, value);
}

cl_int CL_API_CALL program_info(cl_program program, cl_program_info what, std::size_t size, void* to,
                                std::size_t* size_ret) {
  ProgramTurn turn;
  if (what == CL_PROGRAM_BINARY_SIZES || what == CL_PROGRAM_BINARIES) {
    turn.ask_for_binaries(program);
    turn.begin();
  }
  switch (what) {
    case CL_PROGRAM_REFERENCE_COUNT:
    case CL_PROGRAM_CONTEXT:
    case CL_PROGRAM_NUM_DEVICES:
    case CL_PROGRAM_DEVICES:
    case CL_PROGRAM_SOURCE:
    case CL_PROGRAM_IL:
      break;
    default:
      if (const Served served = served_of(program); served != nullptr && served->handle != nullptr)
        return next.clGetProgramInfo(served->handle, what, size, to, size_ret);
  }
  return next.clGetProgramInfo(program, what, size, to, size_ret);
}

cl_int CL_API_CALL build_info(cl_program program, cl_device_id device, cl_program_build_info what,
                              std::size_t size, void* to, std::size_t* size_ret) {
  const Served served = served_of(program);
  if (served == nullptr) return next.clGetProgramBuildInfo(program, device, what, size, to, size_ret);
  const bool is_text = what == CL_PROGRAM_BUILD_LOG || what == CL_PROGRAM_BUILD_OPTIONS;
  const bool is_status = what == CL_PROGRAM_BUILD_STATUS && served->is_object;
  std::size_t real_size = 0;
  // The driver says whether the question is one.
  const cl_int code = next.clGetProgramBuildInfo(asked(served, program), device, what, is_text ? 0 : size,
                                                 is_text ? nullptr : to, is_text ? &real_size : size_ret);
  if (code != CL_SUCCESS || (!is_text && !is_status)) return code;
  if (is_status) {
    constexpr cl_build_status kGood = CL_BUILD_SUCCESS;
    return answered(&kGood, sizeof kGood, size, to, size_ret);
  }
  const std::string& text = what == CL_PROGRAM_BUILD_LOG ? served->log : served->options;
  return answered(text.c_str(), text.size() + 1, size, to, size_ret);
}

// A kernel of larder's program keeps the host's alive, as it would keep its own.
void know(cl_kernel kernel, cl_program program, bool is_served) noexcept {
  const bool keeps = is_served && !guest::is_ending();
  if (add_kernel(kernel, program, keeps) && keeps) next.clRetainProgram(program);
}

cl_kernel CL_API_CALL create_kernel(cl_program program, const char* name, cl_int* code) {
  const Served served = served_of(program);
  const cl_kernel kernel = next.clCreateKernel(asked(served, program), name, code);
  if (kernel != nullptr) know(kernel, program, asked(served, program) != program);
  if (kernel != nullptr) know_kernel(kernel, program, name);
  return kernel;
}

cl_int CL_API_CALL create_kernels(cl_program program, cl_uint count, cl_kernel* kernels, cl_uint* count_ret) {
  const Served served = served_of(program);
  cl_uint made = 0;
  const cl_int code = next.clCreateKernelsInProgram(asked(served, program), count, kernels, &made);
  if (code != CL_SUCCESS) return code;
  if (count_ret != nullptr) *count_ret = made;
  for (cl_uint i = 0; kernels != nullptr && i < std::min(count, made); ++i)
    know(kernels[i], program, asked(served, program) != program);
  for (cl_uint i = 0; takes_turns() && kernels != nullptr && i < std::min(count, made); ++i) {
    std::array<char, 256> name{};
    next.clGetKernelInfo(kernels[i], CL_KERNEL_FUNCTION_NAME, name.size() - 1, name.data(), nullptr);
    know_kernel(kernels[i], program, name.data());
  }
  return code;
}

cl_kernel CL_API_CALL clone_kernel(cl_kernel kernel, cl_int* code) {
  const cl_kernel clone = next.clCloneKernel(kernel, code);
  const cl_program kept = clone == nullptr || guest::is_ending() ? nullptr : add_clone(clone, kernel);
  if (kept != nullptr) next.clRetainProgram(kept);
  know_clone(clone, kernel);
  return clone;
}

cl_int CL_API_CALL retain_kernel_of_host(cl_kernel kernel) {
  const cl_int code = next.clRetainKernel(kernel);
  if (code == CL_SUCCESS) retain_kernel(kernel);
  return code;
}

cl_int CL_API_CALL release_kernel_of_host(cl_kernel kernel) {
  const cl_program kept = release_kernel(kernel);
  const cl_int code = next.clReleaseKernel(kernel);
  if (kept != nullptr && !guest::is_ending()) next.clReleaseProgram(kept);
  return code;
}

cl_int CL_API_CALL kernel_info(cl_kernel kernel, cl_kernel_info what, std::size_t size, void* to,
                               std::size_t* size_ret) {
  const cl_program program = what == CL_KERNEL_PROGRAM ? program_of(kernel) : nullptr;
  return program == nullptr ? next.clGetKernelInfo(kernel, what, size, to, size_ret)
                            : answered(&program, sizeof(void*), size, to, size_ret);
}

// Drivers may compile a kernel when it is launched, in a thread of their own: its turn ends when it runs.
void CL_CALLBACK on_running(cl_event /*event*/, cl_int /*status*/, void* turn) {
  const std::unique_ptr<FileTurn> over(static_cast<FileTurn*>(turn));
  over->finish();
}

template <typename Enqueue>
cl_int launch(const Launch& what, cl_event* event, Enqueue enqueue) {
  std::unique_ptr<FileTurn> turn = turn_of(what);
  if (turn == nullptr) return enqueue(event);
  cl_event own = nullptr;
  cl_event* const place = event == nullptr ? &own : event;
  const cl_int code = enqueue(place);
  if (code == CL_SUCCESS && next.clSetEventCallback(*place, CL_RUNNING, on_running, turn.get()) == CL_SUCCESS)
    static_cast<void>(turn.release());
  if (own != nullptr) next.clReleaseEvent(own);
  return code;
}

cl_int CL_API_CALL enqueue_kernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                                  const std::size_t* offset, const std::size_t* global,
                                  const std::size_t* local, cl_uint count, const cl_event* list,
                                  cl_event* event) {
  return launch({queue, kernel, dimensions, offset, global, local}, event, [&](cl_event* place) {
    return next.clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local, count, list, place);
  });
}

cl_int CL_API_CALL enqueue_task(cl_command_queue queue, cl_kernel kernel, cl_uint count, const cl_event* list,
                                cl_event* event) {
  constexpr std::size_t kOne = 1;
  return launch({queue, kernel, 1, nullptr, &kOne, &kOne}, event,
                [&](cl_event* place) { return next.clEnqueueTask(queue, kernel, count, list, place); });
}

// Less what larder holds of it.
cl_int CL_API_CALL context_info(cl_context context, cl_context_info what, std::size_t size, void* to,
                                std::size_t* size_ret) {
  const cl_int code = next.clGetContextInfo(context, what, size, to, size_ret);
  if (code == CL_SUCCESS && what == CL_CONTEXT_REFERENCE_COUNT && to != nullptr) {
    cl_uint count = 0;
    std::memcpy(&count, to, sizeof count);
    const unsigned held = served_in(context);
    count = count > held ? count - held : 1;
    std::memcpy(to, &count, sizeof count);
  }
  return code;
}

// What gives these takes programs that larder may have left unbuilt.
void hear_of_extension(const char* name) noexcept {
  for (const char* const each :
       {"clGetDeviceGlobalVariablePointerINTEL", "clGetDeviceFunctionPointerINTEL"}) {
    if (name != nullptr && std::strcmp(name, each) == 0) stands_aside.store(true, std::memory_order_relaxed);
  }
}
void* CL_API_CALL extension(const char* name) {
  hear_of_extension(name);
  return next.clGetExtensionFunctionAddress(name);
}
void* CL_API_CALL extension_of_platform(cl_platform_id platform, const char* name) {
  hear_of_extension(name);
  return next.clGetExtensionFunctionAddressForPlatform(platform, name);
}

// What the loader lacks stays lacking.
template <typename Function>
void put(Function& place, Function function) noexcept {
  if (place != nullptr) place = function;
}

// Where compiling may happen, and what leads there.
void put_what_compiles() noexcept {
  put(mine.clCreateProgramWithSource, &create_with_source);
  put(mine.clCreateProgramWithBinary, &create_with_binary);
  put(mine.clCreateProgramWithIL, &create_with_il);
  put(mine.clCreateProgramWithBuiltInKernels, &create_built_in);
  put(mine.clBuildProgram, &build);
  put(mine.clCompileProgram, &compile);
  put(mine.clLinkProgram, &link);
  put(mine.clSetProgramSpecializationConstant, &set_constant);
  put(mine.clGetProgramInfo, &program_info);
  put(mine.clCreateKernel, &create_kernel);
  put(mine.clCreateKernelsInProgram, &create_kernels);
  put(mine.clCloneKernel, &clone_kernel);
}

void put_turns() noexcept {
  set_turns_driver(next);
  put_what_compiles();
  if (next.clSetEventCallback == nullptr || next.clGetCommandQueueInfo == nullptr) return;
  put(mine.clEnqueueNDRangeKernel, &enqueue_kernel);
  put(mine.clEnqueueTask, &enqueue_task);
}

void put_keeping() noexcept {
  set_serving_driver(next, functions, keeps_all());
  put_what_compiles();
  put(mine.clRetainProgram, &retain_program_of_host);
  put(mine.clReleaseProgram, &release_program_of_host);
  put(mine.clGetProgramBuildInfo, &build_info);
  put(mine.clRetainKernel, &retain_kernel_of_host);
  put(mine.clReleaseKernel, &release_kernel_of_host);
  put(mine.clGetKernelInfo, &kernel_info);
  put(mine.clGetContextInfo, &context_info);
  put(mine.clGetExtensionFunctionAddress, &extension);
  put(mine.clGetExtensionFunctionAddressForPlatform, &extension_of_platform);
}

// False: the loader lacks what larder cannot do without.
bool fill() noexcept {
  functions = {};
  functions.get_platform_info = next.clGetPlatformInfo;
  functions.get_device_info = next.clGetDeviceInfo;
  functions.get_context_info = next.clGetContextInfo;
  // What is called of a context is called for a program of it, which holds it.
  functions.retain_context = [](cl_context) -> cl_int { return CL_SUCCESS; };
  functions.release_context = [](cl_context) -> cl_int { return CL_SUCCESS; };
  functions.create_program_with_source = next.clCreateProgramWithSource;
  functions.create_program_with_binary = next.clCreateProgramWithBinary;
  functions.build_program = next.clBuildProgram;
  functions.compile_program = next.clCompileProgram;
  functions.link_program = next.clLinkProgram;
  functions.get_program_info = next.clGetProgramInfo;
  functions.get_program_build_info = next.clGetProgramBuildInfo;
  functions.retain_program = next.clRetainProgram;
  functions.release_program = next.clReleaseProgram;
  functions.create_kernel = next.clCreateKernel;
  functions.release_kernel = next.clReleaseKernel;
  functions.create_program_with_il = next.clCreateProgramWithIL;
  functions.set_specialization_constant = next.clSetProgramSpecializationConstant;
  mine = next;
  if (!opencl::is_whole(functions) || next.clCreateKernelsInProgram == nullptr) return false;
  if (takes_turns()) put_turns();
  if (keeps_any()) put_keeping();
  return true;
}

constinit std::atomic<bool> is_in_use{false};

}  // namespace

// One place is answered: what a second one, or the same once more, has beneath it is not what the first has.
const cl_icd_dispatch* stand_above(const cl_icd_dispatch& beneath) noexcept {
  if (!guest::is_enabled() || is_in_use.exchange(true)) return nullptr;
  std::memcpy(&next, &beneath, sizeof next);
  if (!fill()) return nullptr;
  guest::watch_end();
  return &mine;
}

}  // namespace larder::layer

extern "C" __attribute__((visibility("default"))) cl_int CL_API_CALL clGetLayerInfo(cl_layer_info what,
                                                                                    std::size_t size,
                                                                                    void* to,
                                                                                    std::size_t* size_ret) {
  if (what == CL_LAYER_API_VERSION) {
    const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
    return larder::layer::answered(&version, sizeof version, size, to, size_ret);
  }
  if (what == CL_LAYER_NAME) {
    constexpr char kName[] = "larder";
    return larder::layer::answered(kName, sizeof kName, size, to, size_ret);
  }
  return CL_INVALID_VALUE;
}

extern "C" __attribute__((visibility("default"))) cl_int CL_API_CALL clInitLayer(
    cl_uint count, const cl_icd_dispatch* beneath, cl_uint* count_ret, const cl_icd_dispatch** table) {
  using namespace larder::layer;
  constexpr std::size_t kCount = sizeof(cl_icd_dispatch) / sizeof(void*);
  if (beneath == nullptr || count_ret == nullptr || table == nullptr) return CL_INVALID_VALUE;
  // A loader of less than OpenCL 3.0 has no entries for what is replaced here.
  if (count < kCount) return CL_INVALID_VALUE;
  *count_ret = count;
  *table = beneath;
  const cl_icd_dispatch* const above = stand_above(*beneath);
  if (above == nullptr) return CL_SUCCESS;
  *count_ret = kCount;
  *table = above;
  return CL_SUCCESS;
}
