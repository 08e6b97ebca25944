// Where LLVM 14, 16 and 19 differ.
#pragma once

#include <llvm/Config/llvm-config.h>
#include <llvm/IR/Attributes.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/GlobalVariable.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/ModuleUtils.h>

namespace larder::plugin {

// What LLVM concluded about a function that this module shall not believe any more: it now has a table.
template <typename FunctionOrCall>
void forget_purity(FunctionOrCall& of) {
#if LLVM_VERSION_MAJOR >= 16
  of.removeFnAttr(llvm::Attribute::Memory);
#else
  of.removeFnAttr(llvm::Attribute::ReadNone);
  of.removeFnAttr(llvm::Attribute::ReadOnly);
  of.removeFnAttr(llvm::Attribute::WriteOnly);
  of.removeFnAttr(llvm::Attribute::ArgMemOnly);
  of.removeFnAttr(llvm::Attribute::InaccessibleMemOnly);
  of.removeFnAttr(llvm::Attribute::InaccessibleMemOrArgMemOnly);
#endif
  of.removeFnAttr(llvm::Attribute::NoSync);
  of.removeFnAttr(llvm::Attribute::NoFree);
  of.removeFnAttr(llvm::Attribute::Speculatable);
}

inline bool starts_with(llvm::StringRef text, llvm::StringRef prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

inline bool takes_struct_return(const llvm::Function& function) {
  for (const llvm::Argument& argument : function.args())
    if (argument.hasStructRetAttr()) return true;
  return false;
}

// Takes `function` out of llvm.compiler.used; the others stay.
inline void release(llvm::Module& module, llvm::ArrayRef<llvm::GlobalValue*> released) {
  llvm::GlobalVariable* const used = module.getGlobalVariable("llvm.compiler.used");
  if (used == nullptr) return;
  llvm::SmallVector<llvm::GlobalValue*, 16> kept;
  if (const auto* values = llvm::dyn_cast<llvm::ConstantArray>(used->getInitializer()))
    for (const llvm::Use& value : values->operands()) {
      auto* const global = llvm::cast<llvm::GlobalValue>(value.get()->stripPointerCasts());
      if (!llvm::is_contained(released, global)) kept.push_back(global);
    }
  used->eraseFromParent();
  if (!kept.empty()) llvm::appendToCompilerUsed(module, kept);
}

}  // namespace larder::plugin
