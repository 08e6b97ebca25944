// A cache at the border of the C ABI.
#pragma once

#include "larder/c/cache.h"
#include "larder/cache.hpp"

struct larder_cache {
  larder::Cache cache;
};
