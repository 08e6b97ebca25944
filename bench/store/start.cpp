// A process that does nothing: what the driver starts to see what linking the library costs.
#if defined(LINKED)
#include "larder/recipe.hpp"
// Kept by the linker, never called.
larder::Key (*volatile linked)() = [] { return larder::Recipe("start").key(); };
#endif

int main() {
  return 0;
}
