// At the pipeline's start: finds the functions that may be worth a table and keeps the optimiser from
// dissolving them. They stay pure functions until the very end, so that plain -O2 still removes and hoists
// calls of them.
#pragma once

#include "purity.hpp"

namespace larder::plugin {

void mark(llvm::Module& module, const Options& options, const Purity& purity);

// Annotations `__attribute__((annotate("noreuse")))` and "reuse" become attributes of their functions.
void read_annotations(llvm::Module& module);

// What -Rpass, -Rpass-missed and -Rpass-analysis=larder-reuse print.
void remark_memoized(llvm::Function& function, const llvm::Twine& what);
void remark_missed(llvm::Function& function, const llvm::Twine& why, llvm::Instruction* culprit = nullptr);
void remark_analysis(llvm::Function& function, const llvm::Twine& what);

}  // namespace larder::plugin
