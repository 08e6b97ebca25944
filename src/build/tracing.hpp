// Which commands of a build are traced, and how far a trace of one goes. Whether anything can be traced here
// is tried when the first is to be. Used by one thread.
#pragma once

#include <string>
#include <string_view>

#include "trace/report.hpp"
#include "trace/tracer.hpp"

namespace larder::build {

class Tracing {
 public:
  // By itself a build traces what it could keep; who asks for it has everything traced but generators.
  enum class Extent : std::uint8_t { cacheable, all };
  // `tree` is the project's directory, as the kernel names it.
  Tracing(Extent extent, bool is_strict, std::string tree)
      : extent_(extent), is_strict_(is_strict), tree_(std::move(tree)) {}

  Extent extent() const noexcept { return extent_; }
  bool is_strict() const noexcept { return is_strict_; }
  const std::string& tree() const noexcept { return tree_; }
  // Why no command can be traced here; empty: they can.
  const std::string& why_not() { return tracer_.why_not(); }
  bool is_traced_itself() const noexcept { return tracer_.is_traced_itself(); }
  // PRECONDITION: why_not() is empty.
  trace::Tracer& tracer() noexcept { return tracer_; }

 private:
  trace::Tracer tracer_;
  Extent extent_;
  bool is_strict_;
  std::string tree_;
};

// Whether the command is one call of a compiler of the GCC or clang family, without a shell. Such a one asks
// some thousand times for the text of links, to find names of headers that it has read by their other names:
// what it reads can be known without.
bool is_compiler_call(std::string_view command);

// Whether a program is one, or a part of one, by its name.
bool is_compiler_part(std::string_view path);

// Of a command that was not watched when it asked for the text of links: what it started that is no part of a
// compiler, and so may have made something of that; empty: nothing.
std::string_view other_than_compiler(const trace::Report& report);

}  // namespace larder::build
