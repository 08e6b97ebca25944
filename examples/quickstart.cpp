// Many threads ask for kernels that a real compiler has to make first. Each kernel is compiled once; whoever
// asks meanwhile waits for that one; everybody afterwards gets it from memory.
#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <larder/larder.hpp>

namespace {

constexpr int kThreads = 8;
constexpr int kRounds = 250;
constexpr std::array kExpressions = {"x * x", "1 / (1 + x * x)", "sin(x) * exp(-x)", "sqrt(fabs(x))"};

// A function of one variable, compiled and loaded at run time; unloaded with its last user.
struct Kernel {
  void* library;
  double (*integrate)(double from, double to, int steps);
  ~Kernel() { dlclose(library); }
};

std::string source_of(const std::string& expression) {
  return "#include <math.h>\n"
         "double integrate(double from, double to, int steps) {\n"
         "  double sum = 0, width = (to - from) / steps;\n"
         "  for (int i = 0; i < steps; ++i) {\n"
         "    double x = from + (i + 0.5) * width;\n"
         "    sum += (" +
         expression +
         ") * width;\n"
         "  }\n"
         "  return sum;\n"
         "}\n";
}

// The expensive part: a compiler, a linker and a loader. It sees nothing but what the recipe holds.
larder::Result<std::unique_ptr<Kernel>> compile(const std::string& source, const std::string& options) {
  static std::atomic<int> next{0};
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() /
      ("larder-quickstart-" + std::to_string(getpid()) + "-" + std::to_string(next++));
  std::filesystem::create_directory(folder);
  const std::string file = (folder / "kernel.c").string();
  const std::string library = (folder / "kernel.so").string();
  std::ofstream(file) << source;
  const int status = std::system(("cc " + options + " -shared -fPIC " + file + " -lm -o " + library).c_str());
  void* const handle = status == 0 ? dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
  std::filesystem::remove_all(folder);
  if (handle == nullptr) return larder::fail(larder::Code::maker_failed, "compile: cc failed");
  auto* const integrate = reinterpret_cast<double (*)(double, double, int)>(dlsym(handle, "integrate"));
  return std::unique_ptr<Kernel>(new Kernel{handle, integrate});
}

}  // namespace

int main() {
  larder::MemoryTier<Kernel> kernels;
  std::atomic<int> compiled{0};

  const auto worker = [&](int thread) {
    for (int round = 0; round < kRounds; ++round) {
      const std::string source =
          source_of(kExpressions[static_cast<std::size_t>(thread + round) % kExpressions.size()]);
      const std::string options = "-O3 -ffast-math";
      larder::Recipe recipe("kernel");
      recipe.add("source", source).add("options", options);

      auto kernel = kernels.get_or_make(recipe, [&] {
        ++compiled;
        return compile(source, options);
      });
      if (!kernel) {
        std::fprintf(stderr, "quickstart: %s\n", kernel.error().what.c_str());
        std::exit(1);
      }
      if (!((*kernel)->integrate(0, 1, 100) > 0)) std::exit(1);
    }
  };
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) threads.emplace_back(worker, thread);
  for (auto& thread : threads) thread.join();

  const larder::CounterTotals totals = kernels.totals();
  std::printf("%d threads asked %d times for %zu kernels; the compiler ran %d times.\n\n", kThreads,
              kThreads * kRounds, kExpressions.size(), compiled.load());
  std::printf("  %-12s %9s %15s\n", "outcome", "requests", "seconds saved");
  for (const auto outcome : {larder::Outcome::made, larder::Outcome::joined, larder::Outcome::memory_hit}) {
    std::printf("  %-12s %9llu %15.3f\n", std::string(larder::name(outcome)).c_str(),
                static_cast<unsigned long long>(totals[outcome]),
                std::chrono::duration<double>(totals.saved(outcome)).count());
  }
  const double making = static_cast<double>(totals[larder::Counter::making_ns]) / 1e9;
  const double saved = std::chrono::duration<double>(totals.saved()).count();
  std::printf("\nMaking took %.3f s; without larder it would have been %.0f s.\n", making, making + saved);
  return compiled == static_cast<int>(kExpressions.size()) ? 0 : 1;
}
