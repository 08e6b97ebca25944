// The turns that the host takes with other processes before its driver compiles into the directory that
// larder gave it: 64 processes that start one program at once find what the first one makes of it. A driver
// may compile when a program is built, compiled, linked or asked for its binaries, and a kernel once for each
// shape in which it is launched. Larder says what decides a file by what the host gave the driver; the
// driver's own names are its own business. Everything here is about work saved: a host that is told nothing,
// waits for nothing. Any thread.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "program/file_turns.hpp"
#include "program/opencl/functions.hpp"
// Which version of OpenCL is meant is said above.
#include <CL/cl_icd.h>

namespace larder::layer {

// True when `larder run` has said in which directory turns are taken.
bool takes_turns() noexcept;
// Before all else; `next` lives for ever.
void set_turns_driver(const cl_icd_dispatch& next) noexcept;

// A program that the host has created from `content`; of another driver than the one whose directory it is,
// and without takes_turns(), it is not known, and no turns are taken for it.
void know_program(cl_program program, cl_context context, std::string_view kind, std::string_view content);
void forget_turns(cl_program program) noexcept;

// One call to the driver that may have it compile. What it is is said first, then its turn begins; the
// destructor marks it as done. Programs that are not known have no turns.
class ProgramTurn {
 public:
  ProgramTurn() noexcept = default;
  ~ProgramTurn();
  ProgramTurn(const ProgramTurn&) = delete;
  ProgramTurn& operator=(const ProgramTurn&) = delete;

  // Kernels, links and binaries are of what was built or compiled last.
  void build(cl_program program, std::span<const cl_device_id> devices, const char* options) noexcept;
  void compile(cl_program program, std::span<const cl_device_id> devices, const char* options,
               std::span<const cl_program> headers, const char** names) noexcept;
  void link(cl_context context, std::span<const cl_device_id> devices, const char* options,
            std::span<const cl_program> parts) noexcept;
  void ask_for_binaries(cl_program program) noexcept;

  // Waits for it.
  void begin() noexcept;
  // What a link gave.
  void linked(cl_program program) noexcept;

 private:
  bool is_known_ = false;  // key_ says what is to come
  bool has_begun_ = false;
  Key key_;
  FileTurn turn_;
};

void know_kernel(cl_kernel kernel, cl_program program, std::string_view name) noexcept;
void know_clone(cl_kernel clone, cl_kernel kernel) noexcept;

struct Launch {
  cl_command_queue queue;
  cl_kernel kernel;
  cl_uint dimensions;
  const std::size_t* offset;
  const std::size_t* global;
  const std::size_t* local;
};
// The turn of the first launch of its kind, which is to be finished when the driver runs it; null for others.
// Costs a lock and a look for launches that are known.
std::unique_ptr<FileTurn> turn_of(const Launch& launch) noexcept;

}  // namespace larder::layer
