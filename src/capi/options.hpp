// Options at the border of the C ABI.
#pragma once

#include "larder/c/options.h"
#include "larder/options.hpp"

struct larder_options {
  larder::Options options;
};
