// Replacing gives a path another content in one step: who opens it sees all of the old or all of the new.
// Any thread and any process may call at once; the last one wins.
//
// What is written stands in `.NAME.new` beside the file until it is whole. That file is locked while it is
// written; one that a dead writer left is taken over, so at most one is ever left behind.
#pragma once

#include <string>
#include <string_view>

#include "base/file.hpp"
#include "base/file_system.hpp"
#include "larder/bytes.hpp"

namespace larder::replace {

// `head` and then `body` become the content of the file `name` in the directory `dir` (0600, this user's).
// 0 or minus errno; then the file is as it was.
int replace(FileSystem& files, int dir, const std::string& name, std::string_view head,
            BytesView body) noexcept;

}  // namespace larder::replace
