// dlsym in front of the loader's: programs that load OpenGL ask it for functions by name. glibc answers
// RTLD_NEXT by where it was called from, so that for all names but OpenGL's this one jumps to the next with
// everything as it was: the caller stays the caller.
#include <dlfcn.h>

#include "layers/opengl/hooks.hpp"
#include "program/guest.hpp"

#if defined(__x86_64__)
extern "C" {
void* larder_gl_next_dlsym = nullptr;

void larder_gl_find_dlsym() {
  larder_gl_next_dlsym = larder::gl::next_dlsym_function();
}

int larder_gl_has_hook(const char* name) {
  return larder::gl::hook_of(name) != nullptr ? 1 : 0;
}

// Asked for a name that has a hook.
void* larder_gl_dlsym(void* handle, const char* name) {
  void* const function = larder::gl::next_dlsym(handle, name);
  if (function == nullptr) return nullptr;
  // Of the process as a whole ours is found first; without a library behind it, it is none.
  if (larder::gl::is_ours(function)) {
    const bool has_real =
        larder::gl::next_dlsym(RTLD_NEXT, name) != nullptr || larder::gl::functions() != nullptr;
    return has_real ? function : nullptr;
  }
  return larder::guest::is_enabled() && larder::gl::is_systems(function) ? larder::gl::hook_of(name)
                                                                         : function;
}
}

// Names that begin with gl or egl, and are not asked for with RTLD_NEXT, may have a hook.
asm(R"(
.text
.globl dlsym
.type dlsym, @function
dlsym:
  .cfi_startproc
  endbr64
  cmpq $0, larder_gl_next_dlsym(%rip)
  jne 1f
  pushq %rdi
  .cfi_adjust_cfa_offset 8
  pushq %rsi
  .cfi_adjust_cfa_offset 8
  subq $8, %rsp
  .cfi_adjust_cfa_offset 8
  call larder_gl_find_dlsym
  addq $8, %rsp
  .cfi_adjust_cfa_offset -8
  popq %rsi
  .cfi_adjust_cfa_offset -8
  popq %rdi
  .cfi_adjust_cfa_offset -8
1:
  cmpq $-1, %rdi
  je 3f
  testq %rsi, %rsi
  je 3f
  movq %rsi, %rax
  cmpb $101, (%rax)
  jne 2f
  incq %rax
2:
  cmpb $103, (%rax)
  jne 3f
  cmpb $108, 1(%rax)
  jne 3f
  pushq %rdi
  .cfi_adjust_cfa_offset 8
  pushq %rsi
  .cfi_adjust_cfa_offset 8
  subq $8, %rsp
  .cfi_adjust_cfa_offset 8
  movq %rsi, %rdi
  call larder_gl_has_hook
  addq $8, %rsp
  .cfi_adjust_cfa_offset -8
  popq %rsi
  .cfi_adjust_cfa_offset -8
  popq %rdi
  .cfi_adjust_cfa_offset -8
  testl %eax, %eax
  je 3f
  jmp larder_gl_dlsym
3:
  jmp *larder_gl_next_dlsym(%rip)
  .cfi_endproc
.size dlsym, .-dlsym
)");
#endif
