// What the tests of this floor share.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace larder::testing {

using Log = std::vector<std::string>;

// What ran since it was last asked.
struct Ran {
  Log log;
  void operator()(std::string name) { log.push_back(std::move(name)); }
  Log take() {
    Log taken;
    taken.swap(log);
    return taken;
  }
};

}  // namespace larder::testing
