#include "layers/opencl/serving.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <string>

#include "layers/opencl/wishes.hpp"
#include "program/guarded.hpp"
#include "program/guest.hpp"

namespace larder::layer {
namespace {

const cl_icd_dispatch* driver = nullptr;
const opencl::Functions* driver_functions = nullptr;
bool all_are_kept = false;

void report_bypass(std::string_view why) noexcept {
  guest::report("opencl", name(Outcome::bypassed), {}, why);
}
void report(const ProgramAnswer& how) noexcept {
  guest::report("opencl", name(how.outcome), how.cost, how.why_not);
}

// The devices that a call is for: all of its context's, or none. Drivers differ in what becomes of a program
// that is built for some of its devices only: PoCL 3.1 forgets the others.
std::vector<cl_device_id> devices_of(cl_context context, const HostWords& words) {
  std::size_t size = 0;
  if (driver->clGetContextInfo(context, CL_CONTEXT_DEVICES, 0, nullptr, &size) != CL_SUCCESS) return {};
  std::vector<cl_device_id> all(size / sizeof(cl_device_id));
  if (driver->clGetContextInfo(context, CL_CONTEXT_DEVICES, size, all.data(), nullptr) != CL_SUCCESS)
    return {};
  if (words.count == 0 && words.list == nullptr) return all;
  if (words.count != all.size() || words.list == nullptr) return {};
  const auto is_meant = [&](cl_device_id each) {
    return std::find(words.list, words.list + words.count, each) != words.list + words.count;
  };
  return std::all_of(all.begin(), all.end(), is_meant) ? all : std::vector<cl_device_id>();
}

// What serves in the place of the host's program; null: larder has nothing, and the host's may be built by
// now.
template <typename Api>
Served ask(ProgramCache<Api>& programs, HostBuild& build, const std::vector<cl_device_id>& devices,
           const ProgramInput& input, const HostWords& words, bool is_by_worker = false) {
  // What does more than compile must do it to the program that the host holds.
  if (const std::string why_not = programs.is_cacheable(devices, input).why_not; !why_not.empty()) {
    report_bypass(why_not);
    return nullptr;
  }
  ProgramAnswer how;
  const HostApi::Request request(build);
  // One that was waited for may be another program of the host's, and that is not to be shared.
  for (int tries = 0; tries < 2; ++tries) {
    auto got = programs.get_or_build(devices, input, &how);
    if (build.was_built) {
      guest::take_notes();
      report(how);
      return nullptr;
    }
    if (!got && is_by_worker) {
      for (const cl_device_id each : devices) {
        const Key key = programs.recipe(each, input).key();
        if (std::find(build.wished.begin(), build.wished.end(), key) == build.wished.end())
          build.wished.push_back(key);
      }
      return nullptr;
    }
    if (!got && build.may_build) report(how);  // its failure is remembered; the driver says it with its log
    if (!got && !build.may_build)
      report_bypass("its program wants to be called back, and may go on meanwhile");
    if (!got) return nullptr;
    if (how.outcome == Outcome::joined) continue;
    report(how);
    return std::make_shared<const ServedProgram>(ServedProgram{(*got)->handle(),
                                                               words.options == nullptr ? "" : words.options,
                                                               (*got)->log(), false, got->to_shared()});
  }
  report_bypass("another thread was building it");
  return nullptr;
}

// Where programs for these devices are kept. Null: nowhere, and that is told.
std::shared_ptr<ContextPrograms> keeper_of(cl_context context, const std::vector<cl_device_id>& devices,
                                           const HostWords& words, HostBuild& build) {
  if (devices.empty()) {
    report_bypass("it is not for all devices of its context");
    return nullptr;
  }
  auto keeper = programs_of(context, devices.front(), *driver_functions, all_are_kept);
  if (keeper != nullptr && !keeper->programs) {
    report_bypass(keeper->why_not);
    return nullptr;
  }
  if (keeper != nullptr) build.may_build = words.notify == nullptr || keeper->api->builds_at_once();
  return keeper;
}

std::string name_of_platform(cl_device_id device) {
  cl_platform_id platform = nullptr;
  std::array<char, 256> text{};
  if (driver->clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof(cl_platform_id), &platform, nullptr) ==
      CL_SUCCESS)
    driver->clGetPlatformInfo(platform, CL_PLATFORM_NAME, text.size() - 1, text.data(), nullptr);
  return text.data();
}

ObjectBytes object_in(const HostBuild& build, const HostApi& api, const std::vector<cl_device_id>& devices) {
  if (!build.binary || build.has_several_binaries) return nullptr;
  const DeviceIdentity first = api.identity(devices.front());
  const bool are_alike = std::all_of(devices.begin(), devices.end(),
                                     [&](cl_device_id each) { return api.identity(each) == first; });
  return are_alike ? std::make_shared<const std::string>(*build.binary) : nullptr;
}

bool may_be_served(const HostWords& words) noexcept {
  return words.notify != nullptr || words.data == nullptr;
}

void call_back(const HostWords& words, cl_program program) {
  if (words.notify != nullptr) words.notify(program, words.data);
}

std::string_view options_of(const HostWords& words) noexcept {
  return words.options == nullptr ? std::string_view() : std::string_view(words.options);
}

}  // namespace

void set_serving_driver(const cl_icd_dispatch& next, const opencl::Functions& functions, bool keeps_all) {
  driver = &next;
  driver_functions = &functions;
  all_are_kept = keeps_all;
}

bool serve_build(cl_program program, const HostWords& words, cl_int& code) noexcept {
  if (!may_be_served(words)) return false;
  const auto source = begin_build(program);
  if (!source) return false;
  if (source->has_kernels) {
    // Drivers differ in whether a program with kernels may be built again: its own has them.
    const Served& served = source->has_kernels;
    code = driver->clBuildProgram(served->handle, 0, nullptr, served->options.c_str(), nullptr, nullptr);
    if (code != CL_SUCCESS) return true;
    end_build(program, nullptr);
    return false;
  }
  Served served;
  HostBuild build;
  guarded([&] {
    build.program = program;
    build.call = [&](cl_program& of) {
      return driver->clBuildProgram(of, words.count, words.list, words.options, words.notify, words.data);
    };
    const Origin& origin = *source->origin;
    const auto devices = devices_of(origin.context, words);
    const auto keeper = keeper_of(origin.context, devices, words, build);
    if (keeper == nullptr) return;
    if (keeper->is_by_worker && !build.may_build)
      return report_bypass("its program wants to be called back, and may go on meanwhile");
    if (keeper->is_by_worker) build.may_build = false;
    served = ask(*keeper->programs, build, devices,
                 {.text = origin.text, .call_options = {.compile = options_of(words)}}, words,
                 keeper->is_by_worker);
    if (build.wished.empty()) return;
    build.was_built = true;
    const auto begin = std::chrono::steady_clock::now();
    build.code = build.call(program);
    if (build.code != CL_SUCCESS) return;
    report({.outcome = Outcome::made, .cost = std::chrono::steady_clock::now() - begin});
    leave_wish(name_of_platform(devices.front()), origin.text, options_of(words), build.wished);
  });
  const bool is_served = served != nullptr;
  end_build(program, std::move(served));
  code = is_served ? CL_SUCCESS : build.code;
  if (is_served) call_back(words, program);
  return is_served || build.was_built;
}

bool serve_compile(cl_program program, const HostWords& words, const HostHeaders& headers,
                   cl_int& code) noexcept {
  if (!may_be_served(words) || (headers.count > 0) != (headers.programs != nullptr) ||
      (headers.count > 0) != (headers.names != nullptr)) {
    forget_program(program);
    return false;
  }
  const auto source = begin_build(program);
  if (!source || source->has_kernels) {
    forget_program(program);
    return false;
  }
  Served served;
  ObjectBytes object;
  HostBuild build;
  guarded([&] {
    build.program = program;
    build.type = CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT;
    build.call = [&](cl_program& of) {
      return driver->clCompileProgram(of, words.count, words.list, words.options, headers.count,
                                      headers.programs, headers.names, words.notify, words.data);
    };
    const Origin& origin = *source->origin;
    std::vector<std::shared_ptr<const Origin>> texts;
    std::vector<ProgramHeader> given;
    for (cl_uint i = 0; i < headers.count; ++i) {
      texts.push_back(origin_of(headers.programs[i]));
      if (texts.back() == nullptr || headers.names[i] == nullptr)
        return report_bypass("the text of one of its headers is not known");
      given.push_back({headers.names[i], texts.back()->text});
    }
    const auto devices = devices_of(origin.context, words);
    const auto keeper = keeper_of(origin.context, devices, words, build);
    if (keeper == nullptr) return;
    served =
        ask(*keeper->objects, build, devices,
            {.text = origin.text, .headers = given, .call_options = {.compile = options_of(words)}}, words);
    if (served != nullptr) {
      auto marked = std::make_shared<ServedProgram>(*served);
      marked->is_object = true;
      served = std::move(marked);
    }
    if (served != nullptr || build.code == CL_SUCCESS) object = object_in(build, *keeper->api, devices);
  });
  const bool is_served = served != nullptr;
  end_build(program, std::move(served), std::move(object));
  code = is_served ? CL_SUCCESS : build.code;
  if (is_served) call_back(words, program);
  return is_served || build.was_built;
}

std::vector<cl_program> handles_of(const HostParts& parts, std::vector<Served>& holds) noexcept try {
  std::vector<cl_program> handles;
  for (cl_uint i = 0; parts.programs != nullptr && i < parts.count; ++i) {
    holds.push_back(served_of(parts.programs[i]));
    const bool has_another = holds.back() != nullptr && holds.back()->handle != nullptr;
    handles.push_back(has_another ? holds.back()->handle : parts.programs[i]);
  }
  return handles;
} catch (...) {
  return {};
}

bool serve_link(const HostParts& parts, const HostWords& words, cl_program& linked, cl_int& code) noexcept {
  if (!may_be_served(words) || parts.count == 0 || parts.programs == nullptr) return false;
  Served served;
  ObjectBytes object;
  HostBuild build;
  std::vector<Served> holds;
  const std::vector<cl_program> handles = handles_of(parts, holds);
  if (handles.size() != parts.count) return false;
  guarded([&] {
    std::vector<ObjectBytes> objects;
    std::vector<ProgramInput> inputs;
    for (cl_uint i = 0; i < parts.count; ++i) {
      objects.push_back(object_of(parts.programs[i]));
      if (objects.back() == nullptr) return report_bypass("it is linked from what larder does not know");
      inputs.push_back({.form = ProgramForm::image, .text = *objects.back()});
    }
    const bool is_library = options_of(words).find("-create-library") != std::string_view::npos;
    if (is_library) build.type = CL_PROGRAM_BINARY_TYPE_LIBRARY;
    build.call = [&](cl_program& made) {
      cl_int result = CL_SUCCESS;
      made = driver->clLinkProgram(parts.context, words.count, words.list, words.options, parts.count,
                                   handles.data(), words.notify, words.data, &result);
      return result;
    };
    const auto devices = devices_of(parts.context, words);
    const auto keeper = keeper_of(parts.context, devices, words, build);
    if (keeper == nullptr) return;
    served = ask(*keeper->programs, build, devices,
                 {.form = ProgramForm::linked, .parts = inputs, .call_options = {.link = options_of(words)}},
                 words);
    if (is_library && (served != nullptr || build.code == CL_SUCCESS))
      object = object_in(build, *keeper->api, devices);
  });
  if (served == nullptr && !build.was_built) return false;
  linked = served != nullptr ? served->handle : build.program;
  code = served != nullptr ? CL_SUCCESS : build.code;
  if (linked == nullptr) return true;
  Served told;
  if (served != nullptr) {
    driver->clRetainProgram(linked);  // the host's; ours goes with `served`
    guarded([&] {
      auto copy = std::make_shared<ServedProgram>(*served);
      copy->handle = nullptr;
      copy->holds.reset();
      told = std::move(copy);
    });
  }
  guarded([&] {
    add_linked(linked, parts.context, std::move(told));
    set_object(linked, std::move(object));
  });
  if (served != nullptr) call_back(words, linked);
  return true;
}

}  // namespace larder::layer
