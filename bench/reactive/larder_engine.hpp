// larder's graph in the shape of the benchmark: with numbers as values, as the peers have them, and with
// texts that do not fit into a node, whose values either stay or leave nothing but their digest.
#pragma once

#include <cstring>
#include <memory>
#include <optional>
#include <string>

#include "bench/reactive/shapes.hpp"
#include "larder/graph.hpp"

namespace bench {

template <typename V>
struct Kept {
  static V of(Value number) { return number; }
  static Value number(V kept) { return kept; }
};
// 40 characters: what no std::string keeps inside itself.
template <>
struct Kept<std::string> {
  static std::string of(Value number) {
    std::string text(40, 'x');
    std::memcpy(text.data(), &number, sizeof number);
    return text;
  }
  static Value number(const std::string& text) {
    Value number = 0;
    std::memcpy(&number, text.data(), sizeof number);
    return number;
  }
};

template <typename V, std::size_t kLinesMax>
class LarderEngineOf {
 public:
  explicit LarderEngineOf(Shape shape) : shape_(shape), graph_({.lines_max = kLinesMax}) {
    in_ = graph_.input<std::uint32_t, V>("in");
    other_ = graph_.input<std::uint32_t, V>("other");
    // The handle to itself stands behind a pointer that is filled in below.
    node_ = graph_.function("node", [this](larder::Context& context, std::uint32_t node) -> V {
      return Kept<V>::of(compute(shape_, node, [&](std::uint32_t other) {
        return Kept<V>::number(is_input(shape_, other) ? context.get(*in_, other)
                                                       : context.get(*node_, other));
      }));
    });
  }
  void set(std::uint32_t input, Value value) {
    static_cast<void>(graph_.set(*in_, input, Kept<V>::of(value)));
  }
  void set_unrelated(Value value) { static_cast<void>(graph_.set(*other_, 0, Kept<V>::of(value))); }
  Value read(std::uint32_t node) { return Kept<V>::number(*graph_.get(*node_, node)); }
  void watch(std::uint32_t node) { want_ = std::move(*graph_.want(*node_, node)); }
  std::size_t evaluations() { return graph_.stats().evaluations; }
  std::string check() { return graph_.check(); }

 private:
  Shape shape_;
  larder::Graph graph_;
  std::optional<larder::Input<std::uint32_t, V>> in_;
  std::optional<larder::Input<std::uint32_t, V>> other_;
  std::optional<larder::Function<std::uint32_t, V>> node_;
  larder::Want want_;
};

using LarderEngine = LarderEngineOf<Value, 0>;
using TextEngine = LarderEngineOf<std::string, 0>;
using DigestEngine = LarderEngineOf<std::string, 4096>;

}  // namespace bench
