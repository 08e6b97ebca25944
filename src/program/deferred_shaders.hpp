// DeferredShaders puts off compiling the shaders of one context: one that is known good (ShaderStatus) is not
// compiled when it is asked for, because its program will most likely come from a binary. When the program
// misses after all, its shaders are compiled then, and only then linked. A layer tells it what the program
// does. One thread at a time, as a context demands.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <unordered_map>

#include "larder/shader_status.hpp"

namespace larder {

struct LinkedProgram {
  bool is_linked = false;
  bool is_from_binary = false;
  std::uint32_t compiled_after_all = 0;  // shaders that had been put off
};

class DeferredShaders {
 public:
  // `shader` is the API's own number of the object: two objects of one source are compiled each.
  using Shader = std::uint64_t;
  using Compile = std::function<bool()>;  // true: it compiled. Compiles the object as it was given

  // `status` outlives it.
  explicit DeferredShaders(ShaderStatus& status) noexcept : status_(status) {}

  // True when it compiled or is known to; in the second case `compile` is kept and not called.
  bool compile(Shader shader, const Key& key, Compile compile);
  // Somebody wants more of it than that it is good (its log, its source as translated): compiles it now, if
  // that was put off. False: it does not compile.
  bool need(Shader shader);
  // The object is gone; nobody will compile it.
  void forget(Shader shader) noexcept { deferred_.erase(shader); }
  bool is_deferred(Shader shader) const noexcept { return deferred_.contains(shader); }

  // `take_binary` offers the driver what is kept of the program: false when nothing is kept or the driver
  // refuses it. Then what was put off of `shaders` is compiled; if that succeeds, `link` is called. Its
  // status is remembered or dropped accordingly.
  LinkedProgram link(const Key& program, std::span<const Shader> shaders, std::span<const Key> keys,
                     const std::function<bool()>& take_binary, const std::function<bool()>& link);

 private:
  struct Deferred {
    Key key;
    Compile compile;
  };

  ShaderStatus& status_;
  std::unordered_map<Shader, Deferred> deferred_;
};

}  // namespace larder
