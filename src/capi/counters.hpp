// Readings of counters at the border of the C ABI.
#pragma once

#include "capi/convert.hpp"
#include "larder/c/counters.h"
#include "larder/counters.hpp"

struct larder_totals {
  larder::CounterTotals totals;
};
