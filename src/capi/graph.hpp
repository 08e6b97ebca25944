// What a graph is to the C ABI: its keys and values are bytes.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <utility>

#include "base/mutex.hpp"
#include "larder/c/graph.h"
#include "larder/graph.hpp"

namespace larder::capi {

using NodeKey = std::string;
using Of = Tracked<NodeKey, Bytes>;
using In = Input<NodeKey, Bytes>;

}  // namespace larder::capi

struct larder_tracked {
  larder::capi::Of of;
  const larder::capi::In* input;  // null: a function
  std::optional<larder::capi::In> owned;
};

struct larder_graph {
  larder::Graph graph;
  larder::Mutex mutex;
  std::deque<larder_tracked> tracked GUARDED_BY(mutex);

  explicit larder_graph(larder::GraphOptions options) : graph(std::move(options)) {}
  larder_tracked* add(larder::capi::Of of, std::optional<larder::capi::In> input) {
    const larder::MutexLock lock(mutex);
    larder_tracked& added = tracked.emplace_back(larder_tracked{of, nullptr, input});
    if (added.owned) added.input = &*added.owned;
    return &added;
  }
};
