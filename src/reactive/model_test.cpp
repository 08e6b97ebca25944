// Random graphs against evaluation from scratch. Each node is a small program whose next read depends on what
// it read so far, so dependencies come and go with the values; results are few, so that many runs come out
// the same.
//
// Asked of every step: values equal the oracle's; a function runs at most once in a revision; it runs only if
// something that its last run read came out different since (where nothing is evicted); live nodes are up to
// date before anyone asks; subscribers hear each value once, and the last thing they heard is what is; the
// engine's own rules hold.
#include <gtest/gtest.h>

#include <map>
#include <mutex>
#include <optional>
#include <random>

#include "larder/graph.hpp"

namespace larder {
namespace {

struct Shape {
  int inputs = 12;
  int nodes = 60;
  int reads = 3;
  int range = 5;  // how many values there are
  GraphOptions options{};
  bool is_wanted = true;
  bool grows_text = false;  // values that stand in boxes
};

int code_of(const std::string& text) {
  return text.empty() ? -1 : static_cast<int>(text.size());
}
int code_of(int value) {
  return value;
}
void assign(int code, int& value) {
  value = code;
}
void assign(int code, std::string& value) {
  value.assign(static_cast<std::size_t>(code), 'x');
}

template <typename V>
class Model {
 public:
  Model(unsigned seed, Shape shape) : shape_(std::move(shape)), random_(seed), graph_(shape_.options) {
    in_ = graph_.input<int, V>("in");
    values_.resize(static_cast<std::size_t>(shape_.inputs));
    versions_.resize(static_cast<std::size_t>(shape_.inputs + shape_.nodes));
    codes_.resize(static_cast<std::size_t>(shape_.nodes));
    targets_.resize(static_cast<std::size_t>(shape_.nodes * shape_.reads * shape_.range));
    for (int i = 0; i < shape_.inputs; ++i) set_input(i, draw(shape_.range) + 1);
    for (int n = 0; n < shape_.nodes; ++n)
      for (int k = 0; k < shape_.reads * shape_.range; ++k)
        targets_[static_cast<std::size_t>(n * shape_.reads * shape_.range + k)] =
            draw(n + shape_.inputs) - shape_.inputs;
    function_ = graph_.function("node", [this](Context& context, int n) { return run(context, n); });
    runs_in_.assign(static_cast<std::size_t>(shape_.nodes), 0);
    lasts_.resize(static_cast<std::size_t>(shape_.nodes));
  }

  void step() {
    switch (draw(shape_.is_wanted ? 7 : 4)) {
      case 0:
      case 1:
      case 2:
        change();
        break;
      case 4: {
        const int n = draw(shape_.nodes);
        if (wants_.erase(n) == 0) wants_.emplace(n, std::move(graph_.want(*function_, n).value()));
        break;
      }
      case 5: {
        const int n = draw(shape_.nodes);
        if (subscriptions_.erase(n) != 0) {
          heard_.erase(n);
          break;
        }
        heard_[n] = oracle(n);
        subscriptions_.emplace(n, std::move(graph_
                                                .subscribe(*function_, n,
                                                           [this, n](const Result<V>& value, Revision at) {
                                                             const int code = value ? code_of(*value) : -1;
                                                             EXPECT_NE(code, heard_[n])
                                                                 << "told of what it knew";
                                                             EXPECT_EQ(at, revision_);
                                                             heard_[n] = code;
                                                           })
                                                .value()));
        break;
      }
      case 6:
        if (shape_.options.lines_max != 0) graph_.resize(static_cast<std::size_t>(draw(8) + 1));
        break;
      default: {
        const int n = draw(shape_.nodes);
        const auto value = graph_.get(*function_, n);
        ASSERT_EQ(value ? code_of(*value) : -1, oracle(n)) << "node " << n;
      }
    }
  }

  void check() {
    ASSERT_EQ(graph_.check(), "");
    if (shape_.options.lines_max == 0) {
      const auto before = graph_.stats().evaluations;
      for (const auto& [n, want] : wants_) {
        const auto value = graph_.get(*function_, n);
        ASSERT_EQ(value ? code_of(*value) : -1, oracle(n));
      }
      ASSERT_EQ(graph_.stats().evaluations, before) << "a live node was not up to date";
    }
    for (const auto& [n, code] : heard_)
      ASSERT_EQ(code, oracle(n)) << "a subscriber missed a change of node " << n;
  }

 private:
  struct Read {
    int target;
    std::uint64_t version;
  };

  int draw(int below) { return static_cast<int>(random_() % static_cast<unsigned>(below)); }

  void set_input(int i, int code) {
    V value;
    assign(code, value);
    values_[static_cast<std::size_t>(i)] = code;
    ++versions_[static_cast<std::size_t>(i)];
    graph_.set(*in_, i, value).value();
  }

  void change() {
    ++revision_guess_;
    oracle_.clear();
    auto batch = graph_.batch();
    const int sets = 1 + draw(3);
    bool differs = false;
    std::map<int, int> all;
    for (int k = 0; k < sets; ++k) all[draw(shape_.inputs)] = draw(shape_.range) + 1;
    for (const auto& [i, code] : all) {
      V value;
      assign(code, value);
      differs = differs || values_[static_cast<std::size_t>(i)] != code;
      if (values_[static_cast<std::size_t>(i)] != code) ++versions_[static_cast<std::size_t>(i)];
      values_[static_cast<std::size_t>(i)] = code;
      batch.set(*in_, i, value);
    }
    revision_ = graph_.revision() + (differs ? 1 : 0);
    ASSERT_EQ(batch.commit().value(), revision_);
  }

  int target(int n, int step, int seen) const {
    return targets_[static_cast<std::size_t>((n * shape_.reads + step) * shape_.range + seen % shape_.range)];
  }
  // -1 stands for an error.
  int finish(int n, int seen) const { return seen % 11 == 10 ? -1 : (seen + n) % shape_.range + 1; }

  Result<V> run(Context& context, int n) {
    const auto place = static_cast<std::size_t>(n);
    std::vector<Read> reads;
    int seen = n;
    int last = 0;
    for (int step = 0; step < shape_.reads; ++step) {
      const int t = target(n, step, seen);
      Result<V> value = t < 0 ? context.try_get(*in_, t + shape_.inputs) : context.try_get(*function_, t);
      const int code = value ? code_of(*value) : -1;
      {
        const std::lock_guard lock(books_);
        EXPECT_EQ(code, code_at(t)) << "node " << n << " read a value of another revision";
        reads.push_back({t, version(t)});
      }
      last = code;
      if (code < 0 && step % 2 == 0) break;
      seen = seen * 3 + code + 1;
    }
    // From here on it ends.
    const std::lock_guard lock(books_);
    if (shape_.options.lines_max == 0) {
      EXPECT_NE(runs_in_[place], revision_guess_) << "node " << n << " ran twice in a revision";
      bool differs = lasts_[place].empty();
      for (const Read& read : lasts_[place]) differs = differs || version(read.target) != read.version;
      EXPECT_TRUE(differs) << "node " << n << " ran, and nothing that it had read came out different";
    }
    runs_in_[place] = revision_guess_;
    lasts_[place] = reads;
    const int code = last < 0 && reads.size() % 2 == 1 ? -1 : finish(n, seen);
    if (code != codes_[place]) ++versions_[place + values_.size()];
    codes_[place] = code;
    if (code < 0) return fail(Code::maker_failed, "chance");
    V value;
    assign(code, value);
    return value;
  }

  // How often what stands at the target came out different.
  std::uint64_t version(int t) const { return versions_[static_cast<std::size_t>(t + shape_.inputs)]; }
  int code_at(int t) { return t < 0 ? values_[static_cast<std::size_t>(t + shape_.inputs)] : oracle(t); }
  int oracle(int n) {
    if (const auto at = oracle_.find(n); at != oracle_.end()) return at->second;
    int seen = n;
    int code = 0;
    int steps = 0;
    for (int step = 0; step < shape_.reads; ++step) {
      code = code_at(target(n, step, seen));
      ++steps;
      if (code < 0 && step % 2 == 0) break;
      seen = seen * 3 + code + 1;
    }
    return oracle_[n] = code < 0 && steps % 2 == 1 ? -1 : finish(n, seen);
  }

  Shape shape_;
  std::mt19937 random_;
  std::mutex books_;  // functions may run on several threads
  std::vector<int> values_;
  std::vector<int> targets_;
  std::vector<std::uint64_t> versions_;
  std::vector<int> codes_;
  std::map<int, int> oracle_;
  std::vector<std::uint64_t> runs_in_;
  std::vector<std::vector<Read>> lasts_;
  std::uint64_t revision_guess_ = 1;
  Revision revision_ = 0;
  std::map<int, int> heard_;
  Graph graph_;
  std::optional<Input<int, V>> in_;
  std::optional<Function<int, V>> function_;
  std::map<int, Want> wants_;
  std::map<int, GraphSubscription> subscriptions_;
};

template <typename V>
void run_model(unsigned seeds, int steps, const Shape& shape) {
  for (unsigned seed = 1; seed <= seeds && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Model<V> model(seed, shape);
    for (int i = 0; i < steps && !::testing::Test::HasFailure(); ++i) {
      model.step();
      if (i % 16 == 0) model.check();
    }
    model.check();
  }
}

TEST(GraphModel, EqualsEvaluationFromScratchAndRunsOnlyWhatMustWhenLazy) {
  run_model<int>(8, 300, {.options = {.lines_max = 0}, .is_wanted = false});
}

TEST(GraphModel, EqualsEvaluationFromScratchAndRunsOnlyWhatMustWhenGreedy) {
  run_model<int>(8, 400, {.options = {.lines_max = 0}});
  run_model<int>(3, 200, {.nodes = 300, .reads = 6, .range = 3, .options = {.lines_max = 0}});
}

TEST(GraphModel, EqualsEvaluationFromScratchAndRunsOnlyWhatMustOnSeveralThreads) {
  run_model<int>(6, 300, {.options = {.lines_max = 0, .threads = 3}});
  run_model<int>(2, 150, {.nodes = 300, .reads = 6, .range = 3, .options = {.lines_max = 0, .threads = 4}});
  run_model<std::string>(3, 200, {.options = {.lines_max = 6, .threads = 3}});
}

TEST(GraphModel, EqualsEvaluationFromScratchWithValuesInBoxes) {
  run_model<std::string>(4, 300, {.options = {.lines_max = 0}});
}

TEST(GraphModel, EqualsEvaluationFromScratchWhileValuesAreEvicted) {
  run_model<int>(4, 300, {.options = {.lines_max = 6}});
  run_model<std::string>(6, 300, {.options = {.lines_max = 6}});
  run_model<std::string>(2, 300, {.options = {.lines_max = 6, .policy = "gdsf"}});
}

TEST(StressGraphModel, EqualsEvaluationFromScratchInLongRuns) {
  run_model<int>(60, 3000, {.options = {.lines_max = 0}});
  run_model<std::string>(20, 3000, {.options = {.lines_max = 6}});
  run_model<int>(10, 1500, {.options = {.lines_max = 0, .threads = 3}});
  run_model<std::string>(10, 1500, {.options = {.lines_max = 6, .threads = 3}});
  run_model<int>(6, 1500, {.nodes = 400, .reads = 8, .range = 3, .options = {.lines_max = 0}});
}

}  // namespace
}  // namespace larder
