// What larder knows of NVRTC's options, as release 13.0 takes them. What does not stand here is taken as it
// is.
#include "larder/compiler_options.hpp"
#include "larder/nvrtc.hpp"

namespace larder {
namespace {

using enum OptionShape;
using enum OptionEffect;

constexpr OptionRule kRules[] = {
    {"-D", joined_or_separate, define},
    {"--define-macro", with_value, define, "-D"},
    {"-U", joined_or_separate, keep},
    {"--undefine-macro", with_value, keep, "-U"},
    {"-I", joined_or_separate, keep},
    {"--include-path", with_value, keep, "-I"},
    {"-arch", with_value, keep, "--gpu-architecture="},
    {"--gpu-architecture", with_value, keep},
    {"-std=", begins, keep, "--std="},
    {"-maxrregcount", with_value, keep, "--maxrregcount="},
    {"--maxrregcount", with_value, keep},
    {"-Xptxas", with_value, keep, "--ptxas-options="},
    {"--ptxas-options", with_value, keep},
    {"-rdc", with_value, keep, "--relocatable-device-code="},
    {"--relocatable-device-code", with_value, keep},
    {"-w", alone, once, "--disable-warnings"},
    {"--disable-warnings", alone, once},
    {"-use_fast_math", alone, once, "--use_fast_math"},
    {"--use_fast_math", alone, once},
    {"-default-device", alone, once, "--device-as-default-execution-space"},
    {"--device-as-default-execution-space", alone, once},
    {"-dlto", alone, once, "--dlink-time-opt"},
    {"--dlink-time-opt", alone, once},
    // Debug information says where it was compiled.
    {"-G", alone, names_folder, "--device-debug"},
    {"--device-debug", alone, names_folder},
    {"-lineinfo", alone, names_folder, "--generate-line-info"},
    {"--generate-line-info", alone, names_folder},
    // These read files.
    {"-include", with_value, reads_file, "--pre-include="},
    {"--pre-include", with_value, reads_file},
    // These write files, or let one compilation depend on those before it in the process.
    {"-time", with_value, side_effect, "--time="},
    {"--time", with_value, side_effect},
    {"-fdevice-time-trace", with_value, side_effect, "--fdevice-time-trace="},
    {"--fdevice-time-trace", with_value, side_effect},
    {"-pch", begins, side_effect},
    {"--pch", begins, side_effect},
    {"-create-pch", begins, side_effect},
    {"--create-pch", begins, side_effect},
    {"-use-pch", begins, side_effect},
    {"--use-pch", begins, side_effect},
    {"-instantiate-templates-in-pch", begins, side_effect},
    {"--instantiate-templates-in-pch", begins, side_effect},
    {"-enable-cache-trace", begins, side_effect},
    {"--enable-cache-trace", begins, side_effect},
    {"@", begins, side_effect},
};

}  // namespace

CanonicalOptions NvrtcApi::canonicalise(std::string_view options) {
  return canonical_option_list(options, kRules);
}

}  // namespace larder
