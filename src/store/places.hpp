// Where a user's store and locks are when nobody says otherwise. Any thread may call while nobody changes the
// environment.
#pragma once

#include <string>

#include "larder/result.hpp"

namespace larder {

// LARDER_DIR, else $XDG_CACHE_HOME/larder, else $HOME/.cache/larder, else that under the home directory of
// the password file. Relative values are not used. refused: no home, or a process with more rights than its
// user.
Result<std::string> default_store_root();

// $XDG_RUNTIME_DIR/larder, else /run/user/UID/larder, else /tmp/larder-UID. Not made and not checked here;
// who uses it does both.
std::string default_lock_directory();

}  // namespace larder
