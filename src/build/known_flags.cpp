#include "build/known_flags.hpp"

#include <algorithm>
#include <array>

namespace larder::build {
namespace {

// Behind `-f`, with a value or none. In order.
// clang-format off
constexpr std::array<std::string_view, 377> kOfLanguage = {
    "PIC", "PIE", "abi-compat-version", "abi-version", "access-control", "aggressive-loop-optimizations",
    "align-functions", "align-jumps", "align-labels", "align-loops", "aligned-allocation", "aligned-new",
    "allocation-dce", "allow-store-data-races", "ansi-escape-codes", "asm", "associative-math",
    "asynchronous-unwind-tables", "auto-inc-dec", "bit-tests", "blocks", "bounds-check", "bracket-depth",
    "branch-count-reg", "builtin", "caller-saves", "caret-diagnostics", "cf-protection", "char8_t",
    "check-new", "code-hoisting", "color-diagnostics", "combine-stack-adjustments", "common",
    "compare-elim", "concepts", "conserve-stack", "constexpr-backtrace-limit", "constexpr-cache-depth",
    "constexpr-depth", "constexpr-loop-limit", "constexpr-ops-limit", "constexpr-steps", "coroutines",
    "cprop-registers", "crossjumping", "cse-follow-jumps", "cx-fortran-rules", "cx-limited-range",
    "data-sections", "dce", "debug-prefix-map", "defer-pop", "delayed-branch", "delete-dead-exceptions",
    "delete-null-pointer-checks", "denormal-fp-math", "devirtualize", "devirtualize-speculatively",
    "diagnostics-color", "diagnostics-show-caret", "diagnostics-show-option",
    "diagnostics-show-template-tree", "diagnostics-urls", "dollars-in-identifiers",
    "double-square-bracket-attributes", "dse", "early-inlining", "elide-constructors", "elide-type",
    "eliminate-unused-debug-symbols", "eliminate-unused-debug-types", "emulated-tls", "error-limit",
    "exceptions", "excess-precision", "exec-charset", "expensive-optimizations",
    "experimental-new-pass-manager", "extended-identifiers", "fast-math", "fat-lto-objects",
    "file-prefix-map", "finite-loops", "finite-math-only", "float-store", "fold-simple-inlines",
    "force-emit-vtables", "forward-propagate", "fp-contract", "fp-int-builtin-inexact", "freestanding",
    "function-cse", "function-sections", "gcse", "gcse-after-reload", "gcse-las", "gcse-lm", "gcse-sm",
    "gnu-keywords", "gnu-tm", "gnu-unique", "gnu89-inline", "graphite", "guess-branch-probability",
    "harden-compares", "harden-conditional-branches", "hoist-adjacent-loads", "honor-infinities",
    "honor-nans", "hosted", "ident", "if-conversion", "if-conversion2", "implicit-constexpr",
    "implicit-templates", "indirect-inlining", "init-priority", "inline", "inline-atomics",
    "inline-functions", "inline-functions-called-once", "inline-limit", "inline-small-functions",
    "input-charset", "instrument-functions", "integrated-as", "integrated-cc1", "ipa-bit-cp", "ipa-cp",
    "ipa-cp-clone", "ipa-icf", "ipa-icf-functions", "ipa-icf-variables", "ipa-modref", "ipa-profile",
    "ipa-pta", "ipa-pure-const", "ipa-ra", "ipa-reference", "ipa-reference-addressable", "ipa-sra",
    "ipa-stack-alignment", "ipa-strict-aliasing", "ipa-vrp", "ira-algorithm", "ira-hoist-pressure",
    "ira-loop-pressure", "ira-region", "ira-share-save-slots", "ira-share-spill-slots",
    "isolate-erroneous-paths-attribute", "isolate-erroneous-paths-dereference", "ivopts", "jump-tables",
    "keep-gc-roots-live", "keep-inline-functions", "keep-static-consts", "lax-vector-conversions",
    "leading-underscore", "lifetime-dse", "limit-function-alignment", "live-range-shrinkage",
    "loop-interchange", "loop-nest-optimize", "loop-parallelize-all", "loop-unroll-and-jam", "lra-remat",
    "lto", "lto-compression-level", "macro-backtrace-limit", "macro-prefix-map", "math-errno", "max-errors",
    "max-page-size", "merge-all-constants", "merge-constants", "message-length", "modulo-sched",
    "modulo-sched-allow-regmoves", "move-loop-invariants", "move-loop-stores", "ms-compatibility",
    "ms-extensions", "new-inheriting-ctors", "new-ttp-matching", "non-call-exceptions", "nothrow-opt",
    "objc-arc", "omit-frame-pointer", "openmp", "openmp-simd", "openmp-version", "optimize-sibling-calls",
    "optimize-strlen", "pack-struct", "partial-inlining", "patchable-function-entry", "peel-loops",
    "peephole", "peephole2", "permissive", "pic", "pie", "plan9-extensions", "plt", "predictive-commoning",
    "prefetch-loop-arrays", "pretty-templates", "printf-return-value", "random-seed", "reciprocal-math",
    "record-gcc-switches", "ree", "reg-struct-return", "register-global-dtors-with-atexit",
    "relaxed-template-template-args", "rename-registers", "reorder-blocks", "reorder-blocks-algorithm",
    "reorder-blocks-and-partition", "reorder-functions", "rerun-cse-after-loop",
    "reschedule-modulo-scheduled-loops", "rounding-math", "rtti", "sanitize",
    "sanitize-address-use-after-scope", "sanitize-recover", "sanitize-trap",
    "sanitize-undefined-trap-on-error", "sched-critical-path-heuristic", "sched-dep-count-heuristic",
    "sched-group-heuristic", "sched-interblock", "sched-last-insn-heuristic", "sched-pressure",
    "sched-rank-heuristic", "sched-spec", "sched-spec-insn-heuristic", "sched-spec-load",
    "sched-spec-load-dangerous", "sched-stalled-insns", "sched-stalled-insns-dep", "sched2-use-superblocks",
    "schedule-fusion", "schedule-insns", "schedule-insns2", "section-anchors", "sel-sched-pipelining",
    "sel-sched-pipelining-outer-loops", "sel-sched-reschedule-pipelined", "selective-scheduling",
    "selective-scheduling2", "semantic-interposition", "short-enums", "short-wchar", "show-column",
    "show-source-location", "shrink-wrap", "shrink-wrap-separate", "signaling-nans", "signed-bitfields",
    "signed-char", "signed-zeros", "simd-cost-model", "single-precision-constant", "sized-deallocation",
    "slp-vectorize", "spell-checking", "split-ivs-in-unroller", "split-loops", "split-paths", "split-stack",
    "split-wide-types", "split-wide-types-early", "ssa-backprop", "ssa-phiopt", "stack-check",
    "stack-clash-protection", "stack-protector", "stack-protector-all", "stack-protector-explicit",
    "stack-protector-strong", "stack-reuse", "standalone-debug", "stdarg-opt", "store-merging",
    "strict-aliasing", "strict-enums", "strict-flex-arrays", "strict-float-cast-overflow",
    "strict-volatile-bitfields", "strong-eval-order", "tabstop", "template-backtrace-limit",
    "template-depth", "thread-jumps", "threadsafe-statics", "tls-model", "toplevel-reorder", "tracer",
    "trapping-math", "trapv", "tree-bit-ccp", "tree-builtin-call-dce", "tree-ccp", "tree-ch",
    "tree-coalesce-vars", "tree-copy-prop", "tree-cselim", "tree-dce", "tree-dominator-opts", "tree-dse",
    "tree-forwprop", "tree-fre", "tree-loop-distribute-patterns", "tree-loop-distribution",
    "tree-loop-if-convert", "tree-loop-im", "tree-loop-ivcanon", "tree-loop-optimize",
    "tree-loop-vectorize", "tree-lrs", "tree-parallelize-loops", "tree-partial-pre", "tree-phiprop",
    "tree-pre", "tree-pta", "tree-reassoc", "tree-scev-cprop", "tree-sink", "tree-slp-vectorize",
    "tree-slsr", "tree-sra", "tree-switch-conversion", "tree-tail-merge", "tree-ter", "tree-vectorize",
    "tree-vrp", "trigraphs", "trivial-auto-var-init", "unconstrained-commons", "unroll-all-loops",
    "unroll-completely-grow-size", "unroll-loops", "unsafe-math-optimizations", "unsigned-bitfields",
    "unsigned-char", "unswitch-loops", "unwind-tables", "use-cxa-atexit", "use-cxa-get-exception-ptr",
    "use-init-array", "use-ld", "var-tracking", "var-tracking-assignments",
    "var-tracking-assignments-toggle", "var-tracking-uninit", "variable-expansion-in-unroller",
    "vect-cost-model", "vectorize", "verbose-asm", "version-loops-for-strides", "visibility",
    "visibility-inlines-hidden", "visibility-ms-compat", "vpt", "web", "whole-program", "wide-exec-charset",
    "working-directory", "wrapv", "wrapv-pointer", "zero-call-used-regs", "zero-initialized-in-bss",
    "zvector"};
// clang-format on

// Behind `-m`.
// clang-format off
constexpr std::array<std::string_view, 117> kOfMachine = {
    "16", "32", "3dnow", "64", "abi", "adx", "aes", "align-double", "android", "arch", "arm", "avx", "avx2",
    "avx512bf16", "avx512bitalg", "avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512fp16", "avx512ifma",
    "avx512vbmi", "avx512vbmi2", "avx512vl", "avx512vnni", "avx512vpopcntdq", "avxvnni", "big-endian",
    "bmi", "bmi2", "branch-protection", "cld", "clflushopt", "clwb", "cmodel", "cmpxchg16b", "cpu", "cx16",
    "f16c", "float-abi", "fma", "fma4", "fpmath", "fpu", "fsgsbase", "function-return", "general-regs-only",
    "gfni", "glibc", "hard-float", "harden-sls", "incoming-stack-boundary", "indirect-branch",
    "indirect-branch-register", "inline-all-stringops", "linux", "little-endian", "long-double-128",
    "long-double-64", "long-double-80", "lzcnt", "mmx", "movbe", "movdir64b", "movdiri", "ms-bitfields",
    "mwait", "omit-leaf-frame-pointer", "outline", "outline-atomics", "pclmul", "pku", "popcnt",
    "prefer-vector-width", "preferred-stack-boundary", "prfchw", "rdrnd", "rdseed", "recip", "red-zone",
    "regparm", "relax", "retpoline", "rtm", "sahf", "sha", "shstk", "skip-rax-setup", "soft-float", "sse",
    "sse2", "sse2avx", "sse3", "sse4", "sse4.1", "sse4.2", "sse4a", "ssse3", "stack-alignment",
    "stack-protector-guard", "stackrealign", "strict-align", "thumb", "tls-dialect", "tls-direct-seg-refs",
    "tune", "unaligned-access", "vaes", "veclibabi", "vpclmulqdq", "vzeroupper", "x32", "xop", "xsave",
    "xsavec", "xsaveopt", "xsaves"};
// clang-format on

constexpr std::array<std::string_view, 22> kWords = {"-ansi",
                                                     "-pedantic",
                                                     "-pedantic-errors",
                                                     "-pipe",
                                                     "-pthread",
                                                     "-pthreads",
                                                     "-w",
                                                     "-nostdinc",
                                                     "-nostdinc++",
                                                     "-static",
                                                     "-shared",
                                                     "-undef",
                                                     "-trigraphs",
                                                     "-rdynamic",
                                                     "-nostdlib",
                                                     "-c",
                                                     "-MD",
                                                     "-MP",
                                                     "-traditional-cpp",
                                                     "-nodefaultlibs",
                                                     "-Qunused-arguments",
                                                     "-Wa,--noexecstack"};
constexpr std::array<std::string_view, 5> kFronts = {"-std=", "--std=", "-stdlib=", "--target=", "--param="};
constexpr std::array<std::string_view, 10> kOfDebugging = {
    "dwarf",   "gdb",          "line-tables-only", "mlt",          "no-",
    "record-", "strict-dwarf", "pubnames",         "gnu-pubnames", "column-info"};

template <std::size_t kCount>
bool is_among(const std::array<std::string_view, kCount>& names, std::string_view name) {
  return std::binary_search(names.begin(), names.end(), name);
}

bool is_number(std::string_view text) {
  return text.find_first_not_of("0123456789") == text.npos;
}

}  // namespace

bool is_known_flag(std::string_view word) {
  if (std::find(kWords.begin(), kWords.end(), word) != kWords.end()) return true;
  const auto begins = [](std::string_view text) {
    return [text](std::string_view front) { return text.starts_with(front); };
  };
  if (std::any_of(kFronts.begin(), kFronts.end(), begins(word))) return true;
  if (word.size() < 2 || word[0] != '-') return false;
  const std::string_view rest = word.substr(2);
  std::string_view name = rest.substr(0, rest.find('='));
  switch (word[1]) {
    case 'W':  // warnings, but for what is handed to an assembler, preprocessor or linker
      return !rest.starts_with("a,") && !rest.starts_with("p,");
    case 'O':
      return is_number(rest) || rest == "s" || rest == "z" || rest == "g" || rest == "fast";
    case 'g':
      return is_number(rest) || rest.starts_with('z') ||
             std::any_of(kOfDebugging.begin(), kOfDebugging.end(), begins(rest));
    case 'm':
      if (rest.ends_with("=native")) return false;
      if (name.starts_with("no-")) return true;
      return is_among(kOfMachine, name);
    case 'f':
      if (name.starts_with("no-")) return true;
      return is_among(kOfLanguage, name);
    default:
      return false;
  }
}

}  // namespace larder::build
