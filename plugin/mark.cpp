#include "mark.hpp"

#include <llvm/Analysis/OptimizationRemarkEmitter.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/Operator.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include "compat.hpp"
#include "shape.hpp"

namespace larder::plugin {

using namespace llvm;

namespace {

constexpr char kPassName[] = "larder-reuse";

// Calls in this module, directly.
SmallVector<CallBase*, 8> direct_calls(Function& function) {
  SmallVector<CallBase*, 8> calls;
  for (User* const user : function.users())
    if (auto* const call = dyn_cast<CallBase>(user))
      if (call->getCalledFunction() == &function && call->getFunctionType() == function.getFunctionType())
        calls.push_back(call);
  return calls;
}

Function* clone(Function& function, const Twine& name) {
  ValueToValueMapTy values;
  Function* const copy = CloneFunction(&function, values);
  copy->setName(name);
  copy->setLinkage(GlobalValue::InternalLinkage);
  copy->setVisibility(GlobalValue::DefaultVisibility);
  copy->setDSOLocal(true);
  copy->setComdat(nullptr);
  for (CallBase* const call : direct_calls(function))
    if (call->getFunction() == copy) call->setCalledFunction(copy);
  return copy;
}

// The linker may take another module's copy of an inline function, whose taints nobody notes: this module's
// calls go to a copy of its own.
Function* own_copy(Function& function) {
  Function* const copy = clone(function, function.getName() + ".larder");
  for (CallBase* const call : direct_calls(function))
    if (call->getFunction() != &function) call->setCalledFunction(copy);
  return copy;
}

bool is_shared(const Function& function) {
  return !function.isDeclaration() && !function.hasExactDefinition() && !function.isInterposable();
}

// The same for what `function` calls, and what that calls; only there, others go on as they were.
void own_callees(Function& function, DenseMap<Function*, Function*>& copies) {
  SmallVector<Function*, 8> to_see{&function};
  while (!to_see.empty()) {
    for (Instruction& instruction : instructions(*to_see.pop_back_val())) {
      auto* const call = dyn_cast<CallBase>(&instruction);
      Function* const callee = call == nullptr ? nullptr : call->getCalledFunction();
      if (callee == nullptr || callee->isIntrinsic() || !is_shared(*callee)) continue;
      if (call->getFunctionType() != callee->getFunctionType()) continue;
      Function*& copy = copies[callee];
      if (copy == nullptr) {
        copy = clone(*callee, callee->getName() + ".larder");
        to_see.push_back(copy);
      }
      call->setCalledFunction(copy);
    }
  }
}

}  // namespace

void remark_memoized(Function& function, const Twine& what) {
  OptimizationRemarkEmitter emitter(&function);
  emitter.emit([&] {
    return OptimizationRemark(kPassName, "Memoized", &function)
           << readable(function.getName()) << ": memoized" << what.str();
  });
}
void remark_missed(Function& function, const Twine& why, Instruction* culprit) {
  OptimizationRemarkEmitter emitter(&function);
  emitter.emit([&] {
    const bool has_place = culprit != nullptr && culprit->getFunction() == &function;
    OptimizationRemarkMissed remark = has_place
                                          ? OptimizationRemarkMissed(kPassName, "NotMemoized", culprit)
                                          : OptimizationRemarkMissed(kPassName, "NotMemoized", &function);
    remark << readable(function.getName()) << ": not memoized: " << why.str();
    return remark;
  });
}
void remark_analysis(Function& function, const Twine& what) {
  OptimizationRemarkEmitter emitter(&function);
  emitter.emit([&] {
    return OptimizationRemarkAnalysis(kPassName, "Cost", &function)
           << readable(function.getName()) << ": " << what.str();
  });
}

void read_annotations(Module& module) {
  const GlobalVariable* const annotations = module.getNamedGlobal("llvm.global.annotations");
  if (annotations == nullptr || !annotations->hasInitializer()) return;
  const auto* const all = dyn_cast<ConstantArray>(annotations->getInitializer());
  if (all == nullptr) return;
  for (const Use& one : all->operands()) {
    const auto* const fields = dyn_cast<ConstantStruct>(one);
    if (fields == nullptr || fields->getNumOperands() < 2) continue;
    auto* const function = dyn_cast<Function>(fields->getOperand(0)->stripPointerCasts());
    const auto* const text = dyn_cast<GlobalVariable>(fields->getOperand(1)->stripPointerCasts());
    if (function == nullptr || text == nullptr || !text->hasInitializer()) continue;
    const auto* const characters = dyn_cast<ConstantDataArray>(text->getInitializer());
    if (characters == nullptr || !characters->isCString()) continue;
    if (characters->getAsCString() == "noreuse") function->addFnAttr("larder-noreuse");
    if (characters->getAsCString() == "reuse") function->addFnAttr("larder-reuse");
  }
}

void mark(Module& module, const Options& options, const Purity& purity) {
  struct Candidate {
    Function* function;
    uint64_t cost;
    uint64_t print;
    Recursion recursion;
  };
  SmallVector<Candidate, 16> candidates;
  for (Function& function : module) {
    if (function.isDeclaration()) continue;
    std::string reason = why_not(function, options);
    if (!reason.empty()) {
      remark_missed(function, reason);
      continue;
    }
    const Summary& summary = purity.of(function);
    if (!summary.is_clean) {
      remark_missed(function, summary.reason, summary.culprit);
      continue;
    }
    Signature signature;
    reason = read_signature(function, summary, signature);
    if (!reason.empty()) {
      remark_missed(function, reason);
      continue;
    }
    const Recursion recursion = recursion_of(function);
    const uint64_t cost = estimate(function, purity);
    const bool is_asked_for =
        options.is_all || options.is_recording || function.hasFnAttribute("larder-reuse") ||
        options.allowed.contains(function.getName()) ||
        options.allowed.contains(StringRef(readable(function.getName())).split('(').first);
    // Before anything is changed: the same whatever is chosen.
    const uint64_t print = fingerprint(function);
    const reuse::ProfileLine* const known = options.profile_of(function.getName(), print);
    if (known == nullptr && options.profiled.contains(function.getName()))
      remark_missed(function, "the profile is of other code and was ignored");
    if (known != nullptr && !is_asked_for &&
        !reuse::choose_table(*known, signature.key_words + signature.value_words).pays) {
      remark_missed(function, "the profile shows nothing to gain (" + Twine(known->calls) + " calls, " +
                                  Twine(known->keys) + " distinct)");
      continue;
    }
    if (recursion == Recursion::none && !summary.is_recursive && cost < options.cost_min && !is_asked_for &&
        known == nullptr) {
      remark_missed(function, "it is too cheap (" + Twine(cost) + " cycles estimated, " +
                                  Twine(options.cost_min) + " needed)");
      continue;
    }
    candidates.push_back({&function, cost, print, recursion});
  }
  SmallVector<GlobalValue*, 16> kept;
  DenseMap<Function*, Function*> copies;
  for (const Candidate& candidate : candidates) {
    Function* function = candidate.function;
    function->addFnAttr(kName, function->getName());
    if (is_shared(*function)) function = own_copy(*function);
    if (function->use_empty() && function->hasLocalLinkage()) {
      function->eraseFromParent();  // an inline function that nobody here calls
      continue;
    }
    function->addFnAttr(kPrint, std::to_string(candidate.print));
    own_callees(*function, copies);
    function->addFnAttr(Attribute::NoInline);
    function->removeFnAttr(Attribute::InlineHint);
    function->addFnAttr(kCandidate, std::to_string(candidate.cost));
    kept.push_back(function);
    if (candidate.recursion == Recursion::none) continue;
    // What runs where memoizing does not pay: optimised as ever, loops made of tail calls included.
    Function* const plain = clone(*function, function->getName() + kPlainSuffix);
    plain->addFnAttr(kDone);
    plain->removeFnAttr(kCandidate);
    kept.push_back(plain);
    function->addFnAttr("disable-tail-calls", "true");
  }
  if (!kept.empty()) appendToCompilerUsed(module, kept);
}

}  // namespace larder::plugin
