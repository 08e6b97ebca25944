// What the layer knows of its host's programs and kernels. The host keeps the handles that the driver gave
// it. What larder has an answer for stays as it was created, and another program, made from a binary, serves
// in its place, whose kernels keep the host's program alive, as its own would. Any thread; the lock is held
// for looking things up, and never while a driver is called.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "larder/program.hpp"
#include "layers/opencl/host_api.hpp"

namespace larder::layer {

using Programs = ProgramCache<HostApi>;
using Objects = ProgramCache<HostObjectApi>;

// One for each context and first device of it that programs were built for.
struct ContextPrograms {
  std::shared_ptr<HostApi> api;
  std::optional<Programs> programs;  // none: the driver is left alone
  std::optional<Objects> objects;
  bool is_by_worker = false;  // what is not found is left to larder's worker to keep
  std::string why_not;
};
// `functions` live for ever, and retain no context: a context of the same address and device does as well.
std::shared_ptr<ContextPrograms> programs_of(cl_context context, cl_device_id device,
                                             const opencl::Functions& functions, bool keeps_all);

// What serves in the place of a program of the host's; or, for a program that a link has given and that
// serves itself, what is told of it.
struct ServedProgram {
  cl_program handle = nullptr;  // null: the host's own
  std::string options;          // of the call that it answers, as the host wrote them
  std::string log;
  bool is_object = false;  // compiled, and not built
  std::shared_ptr<const void> holds;
};
using Served = std::shared_ptr<const ServedProgram>;

// What a host's program was created from.
struct Origin {
  cl_context context = nullptr;
  std::string text;
};
void add_program(cl_program program, Origin origin);
// One that a link has given, with what is told of it, if that is not the driver's to tell.
void add_linked(cl_program program, cl_context context, Served told);
// From now on it is the driver's alone.
void forget_program(cl_program program) noexcept;
void retain_program(cl_program program) noexcept;
// Before the driver's release: a handle that is gone may be given out again.
void release_program(cl_program program) noexcept;

// What a known program is to be built or compiled from; nothing serves in its place any longer. Nothing for
// one that is not known, is being built, or has kernels of its own. Where the host still has kernels of what
// serves, only `has_kernels` is given, and everything stays as it is.
struct Source {
  std::shared_ptr<const Origin> origin;
  Served has_kernels;
};
std::optional<Source> begin_build(cl_program program) noexcept;
// The bytes of an object or a library, by which links know it.
using ObjectBytes = std::shared_ptr<const std::string>;
// Null: nothing serves for it, whether the driver has built it or not. Null bytes: it is no object, or they
// are not known.
void end_build(cl_program program, Served served, ObjectBytes object = nullptr) noexcept;
ObjectBytes object_of(cl_program program) noexcept;
void set_object(cl_program program, ObjectBytes object) noexcept;
// What a program was created from; null: that is not known.
std::shared_ptr<const Origin> origin_of(cl_program program) noexcept;
// Null: nothing, the program itself is asked.
Served served_of(cl_program program) noexcept;
// How many programs serve in this context, each of which holds one reference of it.
unsigned served_in(cl_context context) noexcept;

// A kernel of `program`'s own, or one of what serves for it, which keeps it. False: it is not known.
bool add_kernel(cl_kernel kernel, cl_program program, bool keeps) noexcept;
void retain_kernel(cl_kernel kernel) noexcept;
// Before the driver's release: the program that is to be released after it; null: none.
cl_program release_kernel(cl_kernel kernel) noexcept;
// The host's program of a kernel that keeps it; null for others.
cl_program program_of(cl_kernel kernel) noexcept;
// A clone of a known kernel is known as well. The program that it is to retain; null: none.
cl_program add_clone(cl_kernel clone, cl_kernel kernel) noexcept;

}  // namespace larder::layer
