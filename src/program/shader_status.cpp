#include "larder/shader_status.hpp"

#include <algorithm>
#include <list>
#include <unordered_map>
#include <vector>

#include "base/fork_list.hpp"
#include "base/mutex.hpp"

namespace larder {
namespace {

struct HashKey {
  std::size_t operator()(const Key& key) const noexcept { return static_cast<std::size_t>(key.low); }
};

struct Shader {
  std::uint32_t uses = 0;
  bool is_unused = false;
  std::list<Key>::iterator place{};  // while it is unused
};

struct Linked {
  std::vector<Key> shaders;
  std::list<Key>::iterator place{};
};

}  // namespace

// I1  A shader stands in `unused` exactly when its `uses` is 0 and `is_unused` is set.
// I2  A shader's `uses` is the number of linked programs that name it.
struct ShaderStatus::State {
  explicit State(const ShaderStatusOptions& with) : options(with) {}

  void drop_shader_use(const Key& key) noexcept REQUIRES(mutex) {
    const auto found = shaders.find(key);
    if (found != shaders.end() && --found->second.uses == 0) shaders.erase(found);
  }

  void drop_program(std::unordered_map<Key, Linked, HashKey>::iterator program) noexcept REQUIRES(mutex) {
    for (const Key& shader : program->second.shaders) drop_shader_use(shader);
    by_age.erase(program->second.place);
    programs.erase(program);
  }

  friend class ForkList<State, 4>;
  void before_fork() noexcept NO_THREAD_SAFETY_ANALYSIS { mutex.lock(); }
  void after_fork() noexcept NO_THREAD_SAFETY_ANALYSIS { mutex.unlock(); }
  void in_child() noexcept NO_THREAD_SAFETY_ANALYSIS { mutex.unlock(); }

  const ShaderStatusOptions options;
  mutable Mutex mutex;
  std::unordered_map<Key, Shader, HashKey> shaders GUARDED_BY(mutex);
  std::unordered_map<Key, Linked, HashKey> programs GUARDED_BY(mutex);
  std::list<Key> unused GUARDED_BY(mutex);  // oldest first
  std::list<Key> by_age GUARDED_BY(mutex);  // programs, oldest first
  ForkList<State, 4>::Place fork_place{*this};
};

ShaderStatus::ShaderStatus(const ShaderStatusOptions& options) : state_(std::make_unique<State>(options)) {}

ShaderStatus::~ShaderStatus() = default;

bool ShaderStatus::is_known_good(const Key& shader) const noexcept {
  MutexLock lock(state_->mutex);
  return state_->shaders.find(shader) != state_->shaders.end();
}

void ShaderStatus::shader_compiled(const Key& shader) {
  State& state = *state_;
  if (state.options.unused_shaders_max == 0) return;
  MutexLock lock(state.mutex);
  if (state.shaders.find(shader) != state.shaders.end()) return;
  std::list<Key> place{shader};
  state.shaders.emplace(shader, Shader{0, true, place.begin()});
  state.unused.splice(state.unused.end(), place);  // I1
  if (state.unused.size() > state.options.unused_shaders_max) {
    state.shaders.erase(state.unused.front());
    state.unused.pop_front();
  }
}

bool ShaderStatus::is_linked(const Key& program) const noexcept {
  MutexLock lock(state_->mutex);
  return state_->programs.find(program) != state_->programs.end();
}

void ShaderStatus::program_linked(const Key& program, std::span<const Key> shaders) {
  State& state = *state_;
  if (state.options.programs_max == 0) return;
  // All that may throw comes first.
  std::vector<Key> distinct(shaders.begin(), shaders.end());
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  MutexLock lock(state.mutex);
  if (state.programs.find(program) != state.programs.end()) return;
  std::list<Key> place{program};
  std::unordered_map<Key, Shader, HashKey> added;
  for (const Key& shader : distinct) {
    if (state.shaders.find(shader) == state.shaders.end()) added.emplace(shader, Shader{});
  }
  state.shaders.reserve(state.shaders.size() + added.size());
  const auto linked = state.programs.emplace(program, Linked{{}, place.begin()}).first;
  state.shaders.merge(added);
  for (const Key& key : distinct) {  // I2
    Shader& shader = state.shaders.find(key)->second;
    if (shader.is_unused) state.unused.erase(shader.place);  // I1
    shader.is_unused = false;
    ++shader.uses;
  }
  linked->second.shaders = std::move(distinct);
  state.by_age.splice(state.by_age.end(), place);
  if (state.programs.size() > state.options.programs_max) {
    state.drop_program(state.programs.find(state.by_age.front()));
  }
}

bool ShaderStatus::program_left(const Key& program) noexcept {
  MutexLock lock(state_->mutex);
  const auto found = state_->programs.find(program);
  if (found == state_->programs.end()) return false;
  state_->drop_program(found);
  return true;
}

std::uint32_t ShaderStatus::uses(const Key& shader) const noexcept {
  MutexLock lock(state_->mutex);
  const auto found = state_->shaders.find(shader);
  return found == state_->shaders.end() ? 0 : found->second.uses;
}

void ShaderStatus::clear() noexcept {
  MutexLock lock(state_->mutex);
  state_->shaders.clear();
  state_->programs.clear();
  state_->unused.clear();
  state_->by_age.clear();
}

ShaderStatusStats ShaderStatus::stats() const noexcept {
  MutexLock lock(state_->mutex);
  return {state_->shaders.size(), state_->programs.size()};
}

}  // namespace larder
