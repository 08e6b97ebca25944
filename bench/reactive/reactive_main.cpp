// Puts larder's graph and its peers through the same shapes and prints
// `engine<TAB>figure<TAB>least<TAB>median` lines, which run.py judges. Usage: reactive_shapes ENGINE NODES
// (larder, larder_text, larder_digest, red_green, jug)
#include <cstdlib>
#include <cstring>
#include <memory>

#include "bench/reactive/jug_engine.hpp"
#include "bench/reactive/larder_engine.hpp"
#include "bench/reactive/red_green_engine.hpp"

namespace {

using namespace bench;

volatile Value sink;

// Of one call; the least is what it takes where nothing else is at work.
struct Times {
  double least = 0;
  double median = 0;
};

void say(const char* engine, const char* figure, Times times, double share = 1) {
  std::printf("%s\t%s\t%.2f\t%.2f\n", engine, figure, times.least / share, times.median / share);
  std::fflush(stdout);
}
void say(const char* engine, const char* figure, double value) {
  say(engine, figure, Times{value, value});
}

// In `rounds` batches of `times` calls.
template <typename Body>
Times each(int rounds, int times, Body body) {
  std::vector<double> all;
  for (int round = 0; round < rounds; ++round) {
    const double begin = now_ns();
    for (int i = 0; i < times; ++i) body();
    all.push_back((now_ns() - begin) / times);
  }
  return {*std::min_element(all.begin(), all.end()), median(all)};
}

template <typename Engine>
void tree(const char* name, std::uint32_t nodes) {
  const Shape shape{Kind::tree, nodes};
  const double before = resident_bytes();
  const double begin = now_ns();
  auto engine = std::make_unique<Engine>(shape);
  for (std::uint32_t i = 0; i < nodes; ++i)
    if (is_input(shape, i)) engine->set(i, Value{i} * 4);
  sink = engine->read(0);
  say(name, "tree_cold_ns_per_node", (now_ns() - begin) / nodes);
  say(name, "tree_bytes_per_node", (resident_bytes() - before) / nodes);
  engine->watch(0);
  const bool is_pushed = requires {
    engine->check();
  };
  const int few = is_pushed || nodes <= 10'000 ? 1000 : 3;
  say(name, "hot_get_ns", each(7, 1'000'000, [&] { sink = engine->read(0); }));
  Value other = 0;
  say(name, "no_op_after_unrelated_write_ns", each(5, few, [&] {
        engine->set_unrelated(++other);
        sink = engine->read(0);
      }));
  Value leaf = Value{nodes - 1} * 4;
  say(name, "cut_off_after_one_level_ns", each(5, few, [&] {
        engine->set(nodes - 1, leaf ^= 1);
        sink = engine->read(0);
      }));
  // A value that is gone is made again by whoever reads it: here each change would make most of the tree.
  if (std::is_same_v<Engine, DigestEngine>) return;
  say(name, "tree_leaf_ns", each(5, few, [&] {
        engine->set(nodes - 1, leaf += 2);
        sink = engine->read(0);
      }));
}

template <typename Engine>
void chain(const char* name, std::uint32_t nodes, const char* figure) {
  Engine engine({Kind::chain, nodes});
  engine.set(0, 1);
  sink = engine.read(nodes - 1);
  engine.watch(nodes - 1);
  Value value = 1;
  say(name, figure,
      each(5, nodes > 100'000 ? 1 : 20,
           [&] {
             engine.set(0, ++value);
             sink = engine.read(nodes - 1);
           }),
      nodes - 1);
}

template <typename Engine>
void wide(const char* name, std::uint32_t nodes) {
  const Shape shape{Kind::wide, nodes};
  Engine engine(shape);
  for (std::uint32_t i = 0; i < nodes; ++i)
    if (is_input(shape, i)) engine.set(i, i);
  sink = engine.read(0);
  engine.watch(0);
  const std::uint32_t last = (nodes - 1) / 2 * 2;  // the last input that is read
  Value value = nodes;
  say(name, "hub_change_ns_per_dependency",
      each(3, 1,
           [&] {
             engine.set(last, value += 2);
             sink = engine.read(0);
           }),
      (nodes - 1) / 2);
}

template <typename Engine>
void all(const char* name, std::uint32_t nodes) {
  tree<Engine>(name, nodes);
  chain<Engine>(name, 10'000, "chain_10k_ns_per_evaluation");
  chain<Engine>(name, nodes, "chain_1M_ns_per_evaluation");
  wide<Engine>(name, nodes);
}

}  // namespace

int main(int count, char** words) {
  if (count < 2) return 2;
  const std::uint32_t nodes = count > 2 ? static_cast<std::uint32_t>(std::atoi(words[2])) : 1'000'000;
  if (std::strcmp(words[1], "larder") == 0)
    all<LarderEngine>("larder", nodes);
  else if (std::strcmp(words[1], "larder_text") == 0)
    all<TextEngine>("larder_text", nodes);
  else if (std::strcmp(words[1], "larder_digest") == 0)
    tree<DigestEngine>("larder_digest", nodes);
  else if (std::strcmp(words[1], "red_green") == 0)
    all<RedGreenEngine>("red_green", nodes);
  else if (std::strcmp(words[1], "jug") == 0)
    all<JugEngine>("jug", nodes);
  else
    return 2;
  return 0;
}
