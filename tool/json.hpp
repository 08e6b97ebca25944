// What --json prints.
#pragma once

#include "base/json.hpp"

namespace larder::tool {

// An object that begins with "schema": 1, as every --json output does.
inline Json begin_json() {
  Json json;
  json.begin_object().member("schema", 1);
  return json;
}

}  // namespace larder::tool
