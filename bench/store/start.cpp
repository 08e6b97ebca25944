// A C++ program that does nothing: what the driver starts to see what linking the library adds.
#include <string>
#if defined(LINKED)
#include "larder/recipe.hpp"
// Kept by the linker, never called.
larder::Key (*volatile linked)() = [] { return larder::Recipe("start").key(); };
#endif
// So that the C++ library is there in both.
std::string (*volatile text)(int) = [](int number) { return std::to_string(number) + "start"; };

int main() {
  return 0;
}
