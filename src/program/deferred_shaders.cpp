#include "program/deferred_shaders.hpp"

#include <utility>

namespace larder {

bool DeferredShaders::compile(Shader shader, const Key& key, Compile compile) {
  deferred_.erase(shader);  // its source may be another now
  if (status_.is_known_good(key)) {
    deferred_.emplace(shader, Deferred{key, std::move(compile)});
    return true;
  }
  if (!compile()) return false;
  status_.shader_compiled(key);
  return true;
}

bool DeferredShaders::need(Shader shader) {
  const auto found = deferred_.find(shader);
  if (found == deferred_.end()) return true;
  // Taken out first: compiling may come back here.
  const Deferred deferred = std::move(found->second);
  deferred_.erase(found);
  return deferred.compile();
}

LinkedProgram DeferredShaders::link(const Key& program, std::span<const Shader> shaders,
                                    std::span<const Key> keys, const std::function<bool()>& take_binary,
                                    const std::function<bool()>& link) {
  LinkedProgram linked;
  if (take_binary()) {
    // What was put off stays so: another program may miss.
    status_.program_linked(program, keys);
    return {.is_linked = true, .is_from_binary = true};
  }
  status_.program_left(program);
  bool are_good = true;
  for (const Shader shader : shaders) {
    if (!is_deferred(shader)) continue;
    ++linked.compiled_after_all;
    are_good = need(shader) && are_good;
  }
  // A linker asked all the same says in its log what is wrong.
  linked.is_linked = link() && are_good;
  if (linked.is_linked) status_.program_linked(program, keys);
  return linked;
}

}  // namespace larder
