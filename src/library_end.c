// What a shared library of larder's has in place of the C runtime's own first and last object (crtbeginS.o
// and its like): the handle by which the C library knows what was registered by whom, and the call that
// undoes all that when the library is unloaded – what was given to atexit, and handlers of forks. The
// runtime's own would also look up four names that nobody has any more, and lie on three pages that nothing
// else of a process's start touches. Frames for unwinding are found by the program header PT_GNU_EH_FRAME and
// are registered by nobody.

// Its address is what counts. Destructors of threads hold the library by it, too.
__attribute__((visibility("hidden"))) void* __dso_handle = &__dso_handle;

void __cxa_finalize(void* dso);

// The last of all destructors of the library; those of higher priorities come before. Where the C runtime
// would have its first code, it lies next to what the loader reads.
__attribute__((destructor(101), section(".init"))) static void end_library(void) {
  __cxa_finalize(__dso_handle);
}
