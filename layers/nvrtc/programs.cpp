#include "layers/nvrtc/programs.hpp"

#include "base/fork.hpp"

namespace larder::shim {
namespace {

struct Table {
  Mutex mutex;
  std::map<std::pair<int, nvrtc::Program>, std::shared_ptr<HostProgram>> programs GUARDED_BY(mutex);
};

Table& table() {
  static auto* const all = new Table;
  return *all;
}
void lock_table() noexcept NO_THREAD_SAFETY_ANALYSIS {
  table().mutex.lock();
}
void unlock_table() noexcept NO_THREAD_SAFETY_ANALYSIS {
  table().mutex.unlock();
}

}  // namespace

std::shared_ptr<HostProgram> find_program(int slot, nvrtc::Program program) noexcept {
  try {
    Table& all = table();
    const MutexLock lock(all.mutex);
    const auto found = all.programs.find({slot, program});
    return found == all.programs.end() ? nullptr : found->second;
  } catch (...) {  // no memory for the table itself
    return nullptr;
  }
}

void add_program(int slot, nvrtc::Program program, std::shared_ptr<HostProgram> host) {
  Table& all = table();
  at_fork(7, {lock_table, unlock_table, unlock_table});
  const MutexLock lock(all.mutex);
  all.programs.insert_or_assign({slot, program}, std::move(host));
}

void remove_program(int slot, nvrtc::Program program) noexcept {
  // What it held is released without the lock.
  std::shared_ptr<HostProgram> last;
  try {
    Table& all = table();
    const MutexLock lock(all.mutex);
    const auto found = all.programs.find({slot, program});
    if (found == all.programs.end()) return;
    last = std::move(found->second);
    all.programs.erase(found);
  } catch (...) {  // then nothing was ever added
  }
}

}  // namespace larder::shim
