// What larder does beside a program's call is never heard of by the program.
#pragma once

namespace larder::layer {

template <typename Work>
void guarded(Work work) noexcept {
  try {
    work();
  } catch (...) {  // larder does without
  }
}

}  // namespace larder::layer
