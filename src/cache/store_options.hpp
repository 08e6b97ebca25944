// What settings say of a store.
#pragma once

#include "larder/options.hpp"
#include "store/store.hpp"

namespace larder {

// `said` says everything, as settings::Settings::values does. Files, clock, counters and read_only stay as
// they are by default.
StoreOptions to_store_options(const Options& said);

}  // namespace larder
