// The floor: an array of pointers to values, no key and no policy. What no cache can beat on this machine.
#include <cstdlib>
#include <new>

#include "bench/memory/harness.hpp"

namespace larder::bench {
namespace {

class Floor {
 public:
  using Asked = const Value*;
  // Each value in a cache line of its own.
  struct alignas(64) Line {
    Value value;
  };

  explicit Floor(std::size_t) {}
  std::vector<Asked> make_keys(std::size_t count) {
    lines_.reserve(count);
    std::vector<Asked> keys(count);
    for (std::size_t i = 0; i < count; ++i) {
      keys[i] = &lines_.emplace_back(Line{Value(static_cast<std::uint32_t>(i))}).value;
    }
    return keys;
  }
  void insert(const Asked&, std::uint32_t) {}
  template <class Use>
  bool hit(const Asked& key, Use&& use) {
    use(*key);
    return true;
  }
  std::size_t size() const { return lines_.size(); }

 private:
  std::vector<Line> lines_;
};

}  // namespace
}  // namespace larder::bench

int main(int argc, char** argv) {
  using namespace larder::bench;
  return run_design("floor", {form<Floor>("index", "pointer")}, argc, argv);
}
