// What drivers and their compilers keep until the process ends is not larder's to free.
extern "C" const char* __lsan_default_suppressions();  // NOLINT: LeakSanitizer's name

extern "C" const char* __lsan_default_suppressions() {  // NOLINT: LeakSanitizer's name
  return "leak:libpocl\nleak:libOpenCL\nleak:libLLVM\nleak:libclang\nleak:liboclgrind\n";
}
