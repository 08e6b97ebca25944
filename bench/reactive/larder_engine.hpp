// larder's graph in the shape of the benchmark.
#pragma once

#include <memory>
#include <optional>

#include "bench/reactive/shapes.hpp"
#include "larder/graph.hpp"

namespace bench {

class LarderEngine {
 public:
  explicit LarderEngine(Shape shape) : shape_(shape), graph_({.lines_max = 0}) {
    in_ = graph_.input<std::uint32_t, Value>("in");
    other_ = graph_.input<std::uint32_t, Value>("other");
    // The handle to itself stands behind a pointer that is filled in below.
    node_ = graph_.function("node", [this](larder::Context& context, std::uint32_t node) {
      return compute(shape_, node, [&](std::uint32_t other) {
        return is_input(shape_, other) ? context.get(*in_, other) : context.get(*node_, other);
      });
    });
  }
  void set(std::uint32_t input, Value value) { static_cast<void>(graph_.set(*in_, input, value)); }
  void set_unrelated(Value value) { static_cast<void>(graph_.set(*other_, 0, value)); }
  Value read(std::uint32_t node) { return *graph_.get(*node_, node); }
  void watch(std::uint32_t node) { want_ = std::move(*graph_.want(*node_, node)); }
  std::size_t evaluations() { return graph_.stats().evaluations; }
  std::string check() { return graph_.check(); }

 private:
  Shape shape_;
  larder::Graph graph_;
  std::optional<larder::Input<std::uint32_t, Value>> in_;
  std::optional<larder::Input<std::uint32_t, Value>> other_;
  std::optional<larder::Function<std::uint32_t, Value>> node_;
  larder::Want want_;
};

}  // namespace bench
