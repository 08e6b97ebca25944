// What the layer knows of the contexts, shaders and programs of its host. Shaders and programs belong to a
// group of contexts that share them; names that OpenGL gave where the layer did not see it are unknown, and
// left alone. Never freed. Any thread.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/mutex.hpp"
#include "layers/opengl/functions.hpp"
#include "program/opengl/binaries.hpp"
#include "program/opengl/link_recipe.hpp"

namespace larder::gl {

struct Shader {
  Enum kind = 0;
  opengl::ShaderText source;    // as it was last given; null: not by text that the layer saw
  opengl::ShaderText compiled;  // as it was when it was last compiled; null: never, or unseen
  std::shared_ptr<const opengl::Includes> includes;  // what it could include then
  // Its host believes it compiled, and the driver has yet to be asked.
  bool is_deferred = false;
  bool was_known = false;  // to compile, before it did or since a program linked with it
  opengl::InfoLog log;     // what it says while it is deferred
  Nanoseconds cost{0};     // of compiling it, once
};

struct Program {
  opengl::LinkOptions options;
  std::string why_not;      // something was done to it that the layer does not follow
  bool was_linked = false;  // well, or given a binary, since it was created
  // What its linker said, when its binary was taken in the place of a link.
  std::optional<opengl::InfoLog> log;
};

struct Group {
  std::set<std::string> named_strings;  // names that were ever given; OpenGL tells which are in force
  std::unordered_map<Name, Shader> shaders;
  std::unordered_map<Name, Program> programs;
};

// What a context can do for larder; known when it was first asked. Never changes afterwards.
struct Service {
  DeviceIdentity identity;
  std::vector<Enum> formats;  // that the driver takes
  bool has_pipelines = false;
  std::string why_not;  // why its programs are not kept; empty: they are
};

struct Context {
  std::shared_ptr<Group> group;
  std::shared_ptr<const Service> service;  // null: not asked yet
};

enum class Maker : std::uint8_t { egl, glx };

// A context as its maker gave it to the host, with one whose objects it shares; null: none.
void add_context(Maker maker, const void* context, const void* shared) noexcept;
// The one that is current on this thread; nothing when it is unknown, or there is none.
std::optional<Context> current_context() noexcept;
void set_service(std::shared_ptr<const Service> service) noexcept;

// `work` on the objects that the current context shares, locked; false when it is unknown. Nothing that
// `work` throws is heard, and it calls no OpenGL.
class Objects {
 public:
  template <typename Work>
  static bool with(Work work) noexcept {
    bool is_known = false;
    try {
      const auto context = current_context();
      if (!context) return false;
      const MutexLock lock(mutex());
      is_known = true;
      work(*context->group);
    } catch (...) {  // no memory: larder knows less
    }
    return is_known;
  }
  // The same for one object; false, and no work, where it is unknown.
  template <typename Work>
  static bool with_shader(Name shader, Work work) noexcept {
    bool is_known = false;
    with([&](Group& group) {
      const auto found = group.shaders.find(shader);
      if (found == group.shaders.end()) return;
      is_known = true;
      work(found->second);
    });
    return is_known;
  }
  template <typename Work>
  static bool with_program(Name program, Work work) noexcept {
    bool is_known = false;
    with([&](Group& group) {
      const auto found = group.programs.find(program);
      if (found == group.programs.end()) return;
      is_known = true;
      work(found->second);
    });
    return is_known;
  }

 private:
  static Mutex& mutex() noexcept;
};

// Held while the driver compiles what was deferred: another thread that links with the same shader waits.
Mutex& deferred_mutex() noexcept;

}  // namespace larder::gl
