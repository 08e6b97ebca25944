// ShaderStatus remembers which shaders compiled and which programs linked, so that compiling a shader can be
// put off until it turns out that its program must be linked after all. It holds keys, never sources. Any
// thread may call anything at any time.
//
//   unknown --shader_compiled--> known good --its last linked program leaves--> unknown
//   unknown --program_linked---> known good --program_left--------------------> unknown
//
// A shader's status counts the linked programs that use it, and leaves with the last of them. One that no
// program uses yet stays, until more such wait than may: then the oldest leaves. A failure is never
// remembered: it is unknown, and compiling says again why.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "larder/export.h"
#include "larder/recipe.hpp"

namespace larder {

struct ShaderStatusOptions {
  std::size_t programs_max = 4096;        // linked programs; beyond, the one that linked longest ago leaves
  std::size_t unused_shaders_max = 1024;  // compiled, and used by no linked program yet
};

struct ShaderStatusStats {
  std::size_t shaders = 0;
  std::size_t programs = 0;
};

class LARDER_API ShaderStatus {
 public:
  // Throws std::bad_alloc.
  explicit ShaderStatus(const ShaderStatusOptions& options = {});
  ~ShaderStatus();
  ShaderStatus(const ShaderStatus&) = delete;
  ShaderStatus& operator=(const ShaderStatus&) = delete;

  // `shader`: the key of a recipe with all that decides whether and into what it compiles.
  bool is_known_good(const Key& shader) const noexcept;
  // Throws std::bad_alloc, and then nothing has changed.
  void shader_compiled(const Key& shader);

  // `program`: the key of a recipe made of its shaders' and of what else decides its linking.
  bool is_linked(const Key& program) const noexcept;
  // Its shaders are known good with it. A second time counts them only once. Throws std::bad_alloc, and then
  // nothing has changed.
  void program_linked(const Key& program, std::span<const Key> shaders);
  // Its binary was evicted, or refused. False when it was not known.
  bool program_left(const Key& program) noexcept;

  // How many linked programs use the shader.
  std::uint32_t uses(const Key& shader) const noexcept;
  void clear() noexcept;
  ShaderStatusStats stats() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace larder
