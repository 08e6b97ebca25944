#include "program/guest.hpp"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string>

#include "cache/late_notes.hpp"
#include "program/ending.hpp"

namespace larder::guest {

bool is_enabled() noexcept {
  static const bool enabled = [] {
    const char* const disable = std::getenv("LARDER_DISABLE");
    if (disable == nullptr) return true;
    for (const char* const no : {"", "0", "off", "false", "no"}) {
      if (std::strcmp(disable, no) == 0) return true;
    }
    return false;
  }();
  return enabled;
}

Cache* open_cache() {
  Options options;
  options.persistent = true;
  options.memory = false;         // the program cache keeps what is in use
  options.write_behind_size = 0;  // nothing is left to do when the process ends
  options.preload = false;
  options.memory_policy = kPolicy;
  static Cache* const cache = [&] {
    auto* const opened = new Cache(Cache::open(options));
    return LateNotes::has_disk(*opened) ? opened : nullptr;
  }();
  return cache;
}

void take_notes() noexcept {
  try {
    if (Cache* const cache = open_cache()) cache->flush(std::chrono::seconds(1));
  } catch (...) {  // larder why knows less
  }
}

namespace {
constinit std::atomic<Cache*> notes_of{nullptr};
}  // namespace

void put_off_notes() noexcept {
  try {
    Cache* const cache = open_cache();
    if (cache == nullptr) return;
    LateNotes::put_off(*cache);
    if (notes_of.exchange(cache, std::memory_order_acq_rel) == nullptr) watch_end();
  } catch (...) {  // then they are not put off
  }
}

void take_up_notes() noexcept {
  // No thread is started at the very end: what was found is then told by the report alone.
  Cache* const cache = notes_of.load(std::memory_order_acquire);
  if (cache != nullptr && !is_ending()) LateNotes::take_up(*cache);
}

void report(std::string_view layer, std::string_view outcome, Nanoseconds cost,
            std::string_view why_not) noexcept {
  static const char* const path = std::getenv("LARDER_RUN_REPORT");
  if (path == nullptr) return;
  try {
    std::string line(layer);
    line.append("\t").append(outcome).append("\t").append(std::to_string(cost.count())).append("\t");
    for (const char c : why_not) line.push_back(c == '\n' || c == '\t' ? ' ' : c);
    line.push_back('\n');
    const int error = errno;
    const int fd = ::open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (fd >= 0) {
      // One write each: lines of several processes do not mix.
      if (::write(fd, line.data(), line.size()) < 0) errno = error;
      ::close(fd);
    }
    errno = error;
  } catch (...) {  // a line less
  }
}

}  // namespace larder::guest
