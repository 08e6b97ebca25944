// Walks the graph and says which invariant of engine.hpp does not hold, for tests.
#include "larder/graph.hpp"
#include "reactive/engine.hpp"

namespace larder::reactive {

using namespace larder::detail;

std::string Engine::check() {
  std::uint32_t present = 0;
  for (NodeId id = 0; id < node_count_; ++id) {
    Node& node = this->node(id);
    if (node.function == kNoFunction) continue;
    ++present;
    const auto wrong = [&](const char* what) { return name(id) + ": " + what; };
    if (find(function(node), hash_of(function(node), node.key.load()), node.key.load()) != id)
      return wrong("is not found by its key");
    std::uint32_t live = extras_.contains(id) ? 1 : 0;
    if (node.has(kExtra) != extras_.contains(id)) return wrong("flag and record of being wanted differ");
    for (unsigned list : {kSub, kSup}) {
      for (std::uint32_t i = 0; i < node.count(list); ++i) {
        const Edge edge = node.edge(list)[i];
        if (edge.node >= node_count_ || this->node(edge.node).function == kNoFunction)
          return wrong("has an edge to no node");
        Node& other = this->node(edge.node);
        if (edge.back >= other.count(1 - list)) return wrong("I1: the other end is beyond the list");
        const Edge mirror = other.edge(1 - list)[edge.back];
        if (mirror.node != id || mirror.back != i) return wrong("I1: sub and sup are no mirror images");
        if (list == kSup) {
          live += other.live != 0 ? 1 : 0;
          continue;
        }
        if (other.height >= node.height) return wrong("I2: is not higher than what it depends on");
        if (!has_queued() && node.condition() == kClean && other.condition() != kClean)
          return wrong("I4: is clean, and what it depends on is not");
      }
    }
    if (live != node.live) return wrong("I3: live consumers are miscounted");
    if (node.live != 0 && node.condition() == kDirty && !has_queued() && !node.has(kBusy))
      return wrong("I5: is live and dirty, and nothing is queued");
    if (node.has(kBusy) && active_ == 0) return wrong("is busy, and nobody is inside");
  }
  if (present != nodes_present_) return "nodes are miscounted";
  return {};
}

}  // namespace larder::reactive
