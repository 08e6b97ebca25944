// At the pipeline's end: puts a table in front of each candidate whose final body is proved pure.
#pragma once

#include "purity.hpp"

namespace larder::plugin {

// True when anything was changed.
bool rewrite(llvm::Module& module, const Options& options, const Purity& purity);

}  // namespace larder::plugin
