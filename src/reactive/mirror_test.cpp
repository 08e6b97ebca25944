// Scenario 26: after any number of random operations `sub` and `sup` are mirror images, and all else that
// engine.hpp says of the graph's records holds: Graph::check() walks all of it.
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <random>

#include "larder/graph.hpp"

namespace larder {
namespace {

void run_random_operations(int operations, int between_checks, unsigned threads) {
  constexpr int kInputs = 40;
  constexpr int kNodes = 400;
  Graph graph({.lines_max = 64, .threads = threads});
  std::mt19937 random(7);
  const auto draw = [&](int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); };
  auto in = graph.input<int, int>("in");
  std::optional<Function<int, std::string>> self;
  // Reads one input, and by its value up to three lower nodes, which come and go with it.
  auto f = graph.function("f", [&](Context& c, int n) -> std::string {
    const int seen = c.try_get(in, n % kInputs).value_or(3);
    std::string all = std::to_string(seen % 3);
    for (int i = 0; i < seen % 4 && n > 0; ++i)
      all += c.get(*self, (n * 7 + seen * 13 + i * 29) % n).substr(0, 3);
    return all;
  });
  self = f;
  std::map<int, Want> wants;
  std::map<int, GraphSubscription> subscriptions;
  for (int i = 1; i <= operations && !::testing::Test::HasFailure(); ++i) {
    const int n = draw(kNodes);
    switch (draw(12)) {
      case 0:
        if (wants.erase(n) == 0) wants.emplace(n, std::move(graph.want(f, n).value()));
        break;
      case 1:
        if (subscriptions.erase(n) == 0)
          subscriptions.emplace(
              n, std::move(graph.subscribe(f, n, [](const Result<std::string>&, Revision) {}).value()));
        break;
      case 2:
        graph.erase(in, draw(kInputs)).value();
        break;
      case 3:
        graph.resize(static_cast<std::size_t>(draw(200) + 1));
        break;
      case 4:
        graph.batch().set(in, draw(kInputs), draw(9)).set(in, draw(kInputs), draw(9)).commit().value();
        break;
      case 5:
      case 6:
        graph.set(in, draw(kInputs), draw(9)).value();
        break;
      default:
        graph.get(f, n).value();
    }
    if (wants.size() > 6) wants.erase(wants.begin());
    if (subscriptions.size() > 6) subscriptions.erase(subscriptions.begin());
    if (i % between_checks == 0) {
      ASSERT_EQ(graph.check(), "") << "after " << i << " operations";
    }
  }
  wants.clear();
  subscriptions.clear();
  for (int i = 0; i < kInputs; ++i) graph.erase(in, i).value();
  EXPECT_EQ(graph.check(), "");
}

TEST(GraphMirror, SubAndSupAreMirrorImagesAfterTwentyThousandRandomOperations) {  // 26
  run_random_operations(20'000, 100, 1);
}

TEST(StressGraphMirror, SubAndSupAreMirrorImagesAfterAMillionRandomOperations) {  // 26
  run_random_operations(1'000'000, 1000, 1);
  run_random_operations(20'000, 100, 3);
}

}  // namespace
}  // namespace larder
