// Towers of Hanoi: moves for a tower of some height; the towers' parts (from, to, spare) are one number.
#include <cstring>

#include "program.hpp"

namespace {

constexpr int state(int from, int to, int spare) {
  return from << 4 | to << 2 | spare;
}

#ifdef BY_HAND
int results[32][64];
#endif

int hanoi(int height, int towers) {
  if (height == 0) return 0;
#ifdef BY_HAND
  if (results[height][towers] != 0) return results[height][towers];
#endif
  const int from = towers >> 4;
  const int to = towers >> 2 & 3;
  const int spare = towers & 3;
  const int moves = hanoi(height - 1, state(from, spare, to)) + 1 +
                    hanoi(height - 1, state(spare, to, from)) + EXECUTED(height);
#ifdef BY_HAND
  results[height][towers] = moves;
#endif
  return moves;
}

}  // namespace

volatile int height = 26;

#ifdef BY_HAND
extern "C" void larder_bench_forget() {
  std::memset(results, 0, sizeof results);
}
#endif

extern "C" long long larder_bench_program() {
  return hanoi(height, state(0, 2, 1));
}
