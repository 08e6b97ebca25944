#include "layers/opencl/programs.hpp"

#include <map>
#include <new>

#include "base/fork.hpp"
#include "base/mutex.hpp"
#include "layers/opencl/wishes.hpp"
#include "program/ending.hpp"
#include "program/guest.hpp"

namespace larder::layer {
namespace {

struct KnownProgram {
  cl_context context = nullptr;
  std::shared_ptr<const Origin> origin;  // null: a link has given it
  unsigned references = 1;               // the host's own
  unsigned kernels = 0;                  // its own, and those of what served for it
  bool is_being_built = false;
  Served served;
  ObjectBytes object;
};
struct KnownKernel {
  cl_program program = nullptr;
  unsigned references = 1;
  bool keeps = false;  // holds one reference of the program
};
using Place = std::pair<cl_context, cl_device_id>;

struct Table {
  Mutex mutex;
  std::map<cl_program, KnownProgram> programs GUARDED_BY(mutex);
  std::map<cl_kernel, KnownKernel> kernels GUARDED_BY(mutex);
  std::map<Place, std::shared_ptr<ContextPrograms>> contexts GUARDED_BY(mutex);
};
// Programs make contexts without end; those that are in use are held by who uses them.
constexpr std::size_t kContextsMax = 64;

// Never freed: programs release what they have from static objects of their own.
Table& table() {
  static auto* const all = new Table;
  return *all;
}
void before_fork() noexcept NO_THREAD_SAFETY_ANALYSIS {
  table().mutex.lock();
}
void after_fork() noexcept NO_THREAD_SAFETY_ANALYSIS {
  table().mutex.unlock();
}

// `work` on the table, locked; nothing that it throws is heard.
template <typename Work>
void with_table(Work work) noexcept {
  try {
    Table& all = table();
    const MutexLock lock(all.mutex);
    work(all);
  } catch (...) {  // no memory: larder knows less
  }
}

// Without the lock: the driver releases what nobody else holds.
void drop(Served served) noexcept {
  if (served == nullptr || !guest::is_ending()) return;
  // What memory tiers keep for a thread may be gone, too.
  auto* const left = new (std::nothrow) Served;
  if (left != nullptr) left->swap(served);
}

}  // namespace

std::shared_ptr<ContextPrograms> programs_of(cl_context context, cl_device_id device,
                                             const opencl::Functions& functions, bool keeps_all) {
  std::shared_ptr<ContextPrograms> programs;
  with_table([&](Table& all) NO_THREAD_SAFETY_ANALYSIS {
    const auto found = all.contexts.find({context, device});
    if (found != all.contexts.end()) programs = found->second;
  });
  if (programs != nullptr) return programs;
  auto opencl = OpenclApi::open(context, functions);
  if (!opencl) return nullptr;
  programs = std::make_shared<ContextPrograms>();
  if (!keeps_all) programs->why_not = (*opencl)->why_left_alone();
  programs->is_by_worker = takes_wishes() && (*opencl)->has_dear_binaries();
  Cache* const cache = programs->why_not.empty() ? guest::open_cache() : nullptr;
  if (programs->why_not.empty() && cache == nullptr) programs->why_not = "the store cannot be used";
  if (cache != nullptr) {
    programs->api = std::make_shared<HostApi>(std::move(*opencl));
    ProgramCacheOptions options{.memory = false};
    options.programs.policy = options.kernels.policy = guest::kPolicy;
    programs->programs.emplace(programs->api, cache, options);
    programs->objects.emplace(std::make_shared<HostObjectApi>(*programs->api), cache, options);
  }
  std::map<Place, std::shared_ptr<ContextPrograms>> left;
  with_table([&](Table& all) NO_THREAD_SAFETY_ANALYSIS {
    if (all.contexts.size() >= kContextsMax) left.swap(all.contexts);
    programs = all.contexts.try_emplace({context, device}, programs).first->second;
  });
  return programs;
}

namespace {

void add(cl_program program, KnownProgram fresh) {
  at_fork(7, {before_fork, after_fork, after_fork});
  with_table([&](Table& all) NO_THREAD_SAFETY_ANALYSIS {
    std::swap(all.programs[program],
              fresh);  // of that address, and released unseen
  });
  drop(std::move(fresh.served));
}

}  // namespace

void add_program(cl_program program, Origin origin) {
  KnownProgram fresh;
  fresh.context = origin.context;
  fresh.origin = std::make_shared<const Origin>(std::move(origin));
  add(program, std::move(fresh));
}

void add_linked(cl_program program, cl_context context, Served told) {
  KnownProgram fresh;
  fresh.context = context;
  fresh.served = std::move(told);
  add(program, std::move(fresh));
}

void forget_program(cl_program program) noexcept {
  Served last;
  with_table([&](Table& all) NO_THREAD_SAFETY_ANALYSIS {
    const auto found = all.programs.find(program);
    if (found == all.programs.end()) return;
    last = std::move(found->second.served);
    all.programs.erase(found);
  });
  drop(std::move(last));
}

void retain_program(cl_program program) noexcept {
  with_table([&](Table& all) NO_THREAD_SAFETY_ANALYSIS {
    const auto found = all.programs.find(program);
    if (found != all.programs.end()) ++found->second.references;
  });
}

void release_program(cl_program program) noexcept {
  Served last;
  with_table([&](Table& all) NO_THREAD_SAFETY_ANALYSIS {
    const auto found = all.programs.find(program);
    if (found == all.programs.end()) return;
    KnownProgram& known = found->second;
    if (known.references > 0) --known.references;
    if (known.references > 0 || known.kernels > 0) return;
    last = std::move(known.served);
    all.programs.erase(found);
  });
  drop(std::move(last));
}

std::optional<Source> begin_build(cl_program program) noexcept {
  std::optional<Source> source;
  Served last;
  with_table([&](Table& all) NO_THREAD_SAFETY_ANALYSIS {
    const auto found = all.programs.find(program);
    if (found == all.programs.end() || found->second.is_being_built) return;
    KnownProgram& known = found->second;
    if (known.origin == nullptr) return;
    if (known.kernels > 0) {
      if (known.served != nullptr) source = Source{nullptr, known.served};
      return;
    }
    last = std::move(known.served);
    known.object.reset();
    known.is_being_built = true;
    source = Source{known.origin, nullptr};
  });
  drop(std::move(last));
  return source;
}

void end_build(cl_program program, Served served, ObjectBytes object) noexcept {
  with_table([&](Table& all) NO_THREAD_SAFETY_ANALYSIS {
    const auto found = all.programs.find(program);
    if (found == all.programs.end()) return;
    found->second.is_being_built = false;
    found->second.served.swap(served);
    found->second.object = std::move(object);
  });
  drop(std::move(served));
}

ObjectBytes object_of(cl_program program) noexcept {
  ObjectBytes object;
  with_table([&](Table& all) NO_THREAD_SAFETY_ANALYSIS {
    const auto found = all.programs.find(program);
    if (found != all.programs.end()) object = found->second.object;
  });
  return object;
}

void set_object(cl_program program, ObjectBytes object) noexcept {
  with_table([&](Table& all) NO_THREAD_SAFETY_ANALYSIS {
    const auto found = all.programs.find(program);
    if (found != all.programs.end()) found->second.object = std::move(object);
  });
}

std::shared_ptr<const Origin> origin_of(cl_program program) noexcept {
  std::shared_ptr<const Origin> origin;
  with_table([&](Table& all) NO_THREAD_SAFETY_ANALYSIS {
    const auto found = all.programs.find(program);
    if (found != all.programs.end()) origin = found->second.origin;
  });
  return origin;
}

Served served_of(cl_program program) noexcept {
  Served served;
  with_table([&](Table& all) NO_THREAD_SAFETY_ANALYSIS {
    const auto found = all.programs.find(program);
    if (found != all.programs.end()) served = found->second.served;
  });
  return served;
}

unsigned served_in(cl_context context) noexcept {
  unsigned count = 0;
  with_table([&](Table& all) NO_THREAD_SAFETY_ANALYSIS {
    for (const auto& [program, known] : all.programs) {
      const bool is_another = known.served != nullptr && known.served->handle != nullptr;
      if (known.context == context && is_another) ++count;
    }
  });
  return count;
}

bool add_kernel(cl_kernel kernel, cl_program program, bool keeps) noexcept {
  bool is_known = false;
  with_table([&](Table& all) NO_THREAD_SAFETY_ANALYSIS {
    const auto found = all.programs.find(program);
    // Of that address, and released unseen.
    all.kernels.erase(kernel);
    if (found == all.programs.end() && !keeps) return;
    all.kernels.insert_or_assign(kernel, KnownKernel{program, 1, keeps});
    is_known = true;
    if (found != all.programs.end()) ++found->second.kernels;
  });
  return is_known;
}

void retain_kernel(cl_kernel kernel) noexcept {
  with_table([&](Table& all) NO_THREAD_SAFETY_ANALYSIS {
    const auto found = all.kernels.find(kernel);
    if (found != all.kernels.end()) ++found->second.references;
  });
}

cl_program release_kernel(cl_kernel kernel) noexcept {
  cl_program kept = nullptr;
  Served last;
  with_table([&](Table& all) NO_THREAD_SAFETY_ANALYSIS {
    const auto found = all.kernels.find(kernel);
    if (found == all.kernels.end() || --found->second.references > 0) return;
    const KnownKernel known = found->second;
    all.kernels.erase(found);
    if (known.keeps) kept = known.program;
    const auto of = all.programs.find(known.program);
    if (of == all.programs.end()) return;
    if (of->second.kernels > 0) --of->second.kernels;
    if (of->second.references > 0 || of->second.kernels > 0) return;
    last = std::move(of->second.served);
    all.programs.erase(of);
  });
  drop(std::move(last));
  return kept;
}

cl_program program_of(cl_kernel kernel) noexcept {
  cl_program program = nullptr;
  with_table([&](Table& all) NO_THREAD_SAFETY_ANALYSIS {
    const auto found = all.kernels.find(kernel);
    if (found != all.kernels.end() && found->second.keeps) program = found->second.program;
  });
  return program;
}

cl_program add_clone(cl_kernel clone, cl_kernel kernel) noexcept {
  KnownKernel known;
  with_table([&](Table& all) NO_THREAD_SAFETY_ANALYSIS {
    const auto found = all.kernels.find(kernel);
    if (found != all.kernels.end()) known = found->second;
  });
  const bool is_known = known.program != nullptr && add_kernel(clone, known.program, known.keeps);
  return is_known && known.keeps ? known.program : nullptr;
}

}  // namespace larder::layer
