// What larder knows of the options of OpenCL compilers. An option that stands here as `once` or `define` may
// be written in several ways that mean the same; what does not stand here is taken as it is.
#include "larder/compiler_options.hpp"
#include "larder/opencl.hpp"

namespace larder {
namespace {

using enum OptionShape;
using enum OptionEffect;

constexpr OptionRule kRules[] = {
    {"-D", joined_or_separate, define},
    {"-I", joined_or_separate, keep},
    {"-w", alone, once},
    {"-Werror", alone, once},
    {"-cl-single-precision-constant", alone, once},
    {"-cl-denorms-are-zero", alone, once},
    {"-cl-fp32-correctly-rounded-divide-sqrt", alone, once},
    {"-cl-opt-disable", alone, once},
    {"-cl-strict-aliasing", alone, once},
    {"-cl-uniform-work-group-size", alone, once},
    {"-cl-no-subgroup-ifp", alone, once},
    {"-cl-mad-enable", alone, once},
    {"-cl-no-signed-zeros", alone, once},
    {"-cl-unsafe-math-optimizations", alone, once},
    {"-cl-finite-math-only", alone, once},
    {"-cl-fast-relaxed-math", alone, once},
    {"-cl-kernel-arg-info", alone, once},
    // Later ones overrule earlier ones, so each counts.
    {"-cl-std=", begins, keep},
    // These read files.
    {"-include", begins, reads_file},
    {"-imacros", begins, reads_file},
    {"-isystem", joined_or_separate, keep},
    {"-iquote", joined_or_separate, keep},
    {"-idirafter", joined_or_separate, keep},
    {"-fmodule", begins, side_effect},
    {"-fpass-plugin", begins, side_effect},
    {"-fplugin", begins, side_effect},
    {"-load", begins, side_effect},
    {"@", begins, side_effect},
    // These write files, or say what the time is.
    {"-o", alone, side_effect},
    {"-M", begins, side_effect},
    {"-s", alone, side_effect},
    {"-save-temps", begins, side_effect},
    {"--save-temps", begins, side_effect},
    {"-cl-intel-dump", begins, side_effect},
    {"-dump-", begins, side_effect},
    {"-fdump-", begins, side_effect},
    {"-ftime-", begins, side_effect},
    {"-fsave-optimization-record", begins, side_effect},
    {"-serialize-diagnostics", begins, side_effect},
    {"--serialize-diagnostics", begins, side_effect},
};

}  // namespace

CanonicalOptions OpenclApi::canonicalise(std::string_view options) {
  return canonical_options(options, kRules);
}

}  // namespace larder
