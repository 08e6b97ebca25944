// Any bytes given as a graph's snapshot, as they are and with a header that fits them: nothing but a sound
// snapshot comes out, it encodes to the very bytes it came from, and a graph that loads it keeps its own
// rules.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "format/graph_snapshot.hpp"
#include "larder/graph.hpp"

namespace {

using namespace larder;

void check(bool holds) {
  if (!holds) std::abort();
}

void try_one(BytesView bytes) {
  const auto decoded = format::decode_graph(bytes);
  if (decoded) check(format::encode_graph(*decoded) == as_text(bytes));
  Graph graph;
  auto in = graph.input<int, std::string>("in");
  auto f = graph.function("f", [=](Context& c, int n) { return c.try_get(in, n).value_or("none"); });
  auto g = graph.function(
      "g", [=](Context& c, std::string n) { return c.get(f, static_cast<int>(n.size())).size(); });
  check(graph.load(bytes).has_value() == decoded.has_value());
  check(graph.check().empty());
  for (int n = 0; n < 3; ++n) static_cast<void>(graph.get(f, n));
  static_cast<void>(graph.get(g, "ab"));
  check(graph.check().empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const BytesView bytes(reinterpret_cast<const std::byte*>(data), size);
  try_one(bytes);
  // A payload for which the header is made, so that what stands behind the checksum is reached.
  std::string whole = format::encode_graph({});
  whole.replace(40, std::string::npos, as_text(bytes));
  format::seal_graph(whole);
  try_one(as_bytes(std::string_view(whole)));
  return 0;
}
