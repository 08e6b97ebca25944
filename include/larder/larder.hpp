// Everything a C++ program needs of larder.
#pragma once

#include "larder/bundle.hpp"
#include "larder/bytes.hpp"
#include "larder/cache.hpp"
#include "larder/cache_file.hpp"
#include "larder/compiler_options.hpp"
#include "larder/counters.hpp"
#include "larder/difference.hpp"
#include "larder/driver_identity.hpp"
#include "larder/event.hpp"
#include "larder/events.hpp"
#include "larder/memory.hpp"
#include "larder/options.hpp"
#include "larder/program.hpp"
#include "larder/recipe.hpp"
#include "larder/result.hpp"
#include "larder/shader_status.hpp"
