// Whether the calling thread, or the whole process, is at its end. Programs release what they have from
// static objects and exit handlers of their own, when drivers have already lost what they keep for a thread
// (Oclgrind its stack of calls) or for good (LLVM): from then on a layer calls the driver as its host does
// and not once more, and leaves to the operating system what it would release. Any thread.
#pragma once

namespace larder::guest {

// To be called once, when the drivers are loaded: what was registered before them ends after them.
void watch_end() noexcept;

bool is_ending() noexcept;

}  // namespace larder::guest
