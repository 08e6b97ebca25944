// What drivers and their compilers keep until the process ends is not larder's to free, and what they do then
// is not to be looked at.
#include <gtest/gtest.h>

// LeakSanitizer finds this in the program only if the program shows it, as hidden visibility would not.
extern "C" __attribute__((visibility("default"))) const char*
__lsan_default_suppressions();  // NOLINT: its name

extern "C" const char* __lsan_default_suppressions() {  // NOLINT: its name
  return "leak:libpocl\nleak:libOpenCL\nleak:libLLVM\nleak:libclang\nleak:liboclgrind\n";
}

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>

namespace {

// When the process ends PoCL ends its threads, and LeakSanitizer, that looks then, falls over one that is
// just going. So it looks before; it does so but once.
class LooksForLeaks : public testing::Environment {
  void TearDown() override { __lsan_do_leak_check(); }
};
[[maybe_unused]] testing::Environment* const looks_for_leaks =
    testing::AddGlobalTestEnvironment(new LooksForLeaks);

}  // namespace
#endif
