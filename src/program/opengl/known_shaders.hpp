// KnownShaders remembers which shaders compile, and what their compilers say of them, so that compiling can
// be put off until a program misses. Of those with nothing to say, which are most, it keeps the digests of
// all that one driver compiled in one entry ("opengl-shaders"): to read one file for each shader would take
// longer than some drivers compile, and to write one longer than most link. The others have an entry each
// ("opengl-shader"). Any thread.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <set>

#include "base/fork_list.hpp"
#include "base/mutex.hpp"
#include "larder/cache.hpp"
#include "larder/program_input.hpp"
#include "program/opengl/binaries.hpp"
#include "program/opengl/link_recipe.hpp"

namespace larder::opengl {

class KnownShaders {
 public:
  // `cache` outlives it.
  explicit KnownShaders(Cache& cache) : cache_(cache) {}

  // What it says when it is compiled; nothing: not known to compile.
  std::optional<InfoLog> find(const DeviceIdentity& identity, const ShaderInput& shader);
  // It compiled, with this log. One without is on disk after the next keep().
  void add(const DeviceIdentity& identity, const ShaderInput& shader, const InfoLog& log, Nanoseconds cost);
  // Writes down what was added since the last time, beside what other processes have.
  void keep();

 private:
  friend class ForkList<KnownShaders, 4>;
  void before_fork() noexcept NO_THREAD_SAFETY_ANALYSIS { mutex_.lock(); }
  void after_fork() noexcept NO_THREAD_SAFETY_ANALYSIS { mutex_.unlock(); }
  void in_child() noexcept NO_THREAD_SAFETY_ANALYSIS { mutex_.unlock(); }

  using Digest = std::array<unsigned char, 32>;
  struct Quiet {
    explicit Quiet(Recipe index) : recipe(std::move(index)) {}
    Recipe recipe;
    std::set<Digest> known{};
    std::set<Digest> fresh{};  // of these, not on disk yet
  };
  static constexpr std::size_t kMax = 16384;  // of one driver; then it begins anew

  static Digest digest_of(const ShaderInput& shader);
  std::set<Digest> read(const Recipe& index);
  // With what is on disk; `digest` is in it or not.
  bool is_known(const DeviceIdentity& identity, const Digest& digest);

  Cache& cache_;
  Mutex mutex_;  // not held while the cache is asked
  std::map<Key, Quiet> quiet_ GUARDED_BY(mutex_);
  ForkList<KnownShaders, 4>::Place fork_place_{*this};
};

}  // namespace larder::opengl
