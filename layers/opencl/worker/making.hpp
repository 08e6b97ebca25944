// Builds one program that the layer has wished for, and keeps its binary under the very recipe by which the
// layer has looked for it; where this process would say another recipe, nothing is kept. One thread.
#pragma once

#include <functional>
#include <string>

namespace larder::layer {

bool has_wishes(const std::string& folder);

// One of the folder's wishes, which is gone from there before anything is done for it; `begin` is called when
// that is so. False: there is none.
bool make_one(const std::string& folder, const std::function<void()>& begin);

}  // namespace larder::layer
