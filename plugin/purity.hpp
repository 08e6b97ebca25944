// Purity is the proof that a function's result depends on its key alone.
//
// The theorem on which all rests: an evaluation that returned normally, did nothing that anyone else can see
// and read nothing but its key and constants, would go the same way and return the same bits for an equal key
// at any time. So it may be stored. Nothing else is needed: not that it always returns, nor that it never
// throws, nor that it is pure on other paths.
//
// What breaks the theorem is called a taint: an instruction that does or reads something else. A function is
// worth a table when some path through it has none; taints on other paths are executed as always, and noted
// at run time, so that such an evaluation is not stored (docs/reuse.md, rule 3).
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SetVector.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

#include <functional>
#include <string>

#include "options.hpp"

namespace larder::plugin {

struct Summary {
  bool is_clean = true;     // some path returns without a taint
  bool may_taint = false;   // some path that returns has one, here or in what it calls
  bool reads_args = false;  // memory behind its pointer arguments
  bool writes_args = false;
  bool calls_unknown = false;                       // some taint is a call that may come back to it
  bool is_recursive = false;                        // part of a cycle of calls
  llvm::SmallVector<llvm::Instruction*, 4> taints;  // own ones, in blocks that may return
  llvm::SmallVector<llvm::CallBase*, 4> math;       // taint when the result is not an ordinary number
  llvm::SetVector<llvm::GlobalVariable*> globals;   // read, not constant: their values join the key
  llvm::SmallVector<llvm::Function*, 8> callees;    // defined here
  std::string reason;                               // why it is not clean
  llvm::Instruction* culprit = nullptr;
};

class Purity {
 public:
  using Library = std::function<const llvm::TargetLibraryInfo&(llvm::Function&)>;
  // Analyses every function of the module, callees first, cycles together. At the pipeline's start bodies are
  // as the source has them, so that what holds for a function that the linker may take from another module
  // holds for that one as well; `is_start` says so. Later only bodies that are certain to be executed count.
  Purity(llvm::Module& module, const Options& options, Library library, bool is_start);

  const Summary& of(const llvm::Function& function) const;

 private:
  class Reader;
  void analyse(llvm::ArrayRef<llvm::Function*> cycle);

  const Options& options_;
  Library library_;
  bool is_start_;
  bool has_fp_environment_;  // the module sets the rounding mode, or looks at what computing left behind
  llvm::DenseMap<const llvm::Function*, Summary> summaries_;
};

// Behind which object a pointer points, as far as it can be told.
enum class Place { local, constant, argument, global, unknown };
Place place_of(const llvm::Value* pointer, const llvm::GlobalVariable** global = nullptr,
               const llvm::Argument** argument = nullptr);

// Functions that return as the C library says: results that are no ordinary numbers may come with errno.
bool is_math(llvm::StringRef name);

bool holds_pointer(const llvm::Type* type);

}  // namespace larder::plugin
