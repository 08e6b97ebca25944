// What drivers and their compilers keep until the process ends is not larder's to free. LeakSanitizer finds
// this in the program only if the program shows it, as hidden visibility would not.
extern "C" __attribute__((visibility("default"))) const char*
__lsan_default_suppressions();  // NOLINT: its name

extern "C" const char* __lsan_default_suppressions() {  // NOLINT: its name
  return "leak:libpocl\nleak:libOpenCL\nleak:libLLVM\nleak:libclang\nleak:liboclgrind\n";
}
