// What a layer does beside a program's call: whatever goes wrong, larder does without, and the program does
// not hear of it. Any thread.
#pragma once

namespace larder {

template <typename Work>
void guarded(Work work) noexcept {
  try {
    work();
  } catch (...) {  // larder does without
  }
}

}  // namespace larder
