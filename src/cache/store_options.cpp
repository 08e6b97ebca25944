#include "cache/store_options.hpp"

namespace larder {

StoreOptions to_store_options(const Options& said) {
  StoreOptions options;
  options.root = *said.dir;
  options.durable = *said.durable;
  options.bytes_max = *said.size_max;
  options.age_max = *said.age_max;
  options.entry_bytes_min = *said.entry_size_min;
  options.entry_bytes_max = *said.entry_size_max;
  options.free_bytes_min = *said.free_min;
  options.evicts = *said.eviction;
  options.low_water = *said.low_water / 100.0;
  options.lock_directory = *said.runtime_dir;
  options.wait_min = *said.wait_min;
  options.wait_max = *said.wait_max;
  options.policy = policy::from_name(*said.policy).value_or(options.policy);
  return options;
}

}  // namespace larder
