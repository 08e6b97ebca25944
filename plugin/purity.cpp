#include "purity.hpp"

#include <llvm/ADT/SCCIterator.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/ADT/StringSwitch.h>
#include <llvm/Analysis/CallGraph.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Operator.h>

#include "compat.hpp"

namespace larder::plugin {

using namespace llvm;

namespace {

// Only read in the whole module, and nobody outside can write it.
bool is_never_written(const GlobalVariable& global) {
  if (!global.hasLocalLinkage() || !global.hasInitializer()) return false;
  SmallVector<const User*, 8> users(global.users());
  while (!users.empty()) {
    const User* const user = users.pop_back_val();
    if (isa<GEPOperator>(user) || isa<BitCastOperator>(user)) {
      users.append(user->user_begin(), user->user_end());
    } else if (const auto* const load = dyn_cast<LoadInst>(user)) {
      if (load->isVolatile()) return false;
    } else {
      return false;
    }
  }
  return true;
}

// Both ends of a difference or comparison within one object: the same in every evaluation.
bool is_same_object(const Value* a, const Value* b) {
  SmallVector<const Value*, 4> objects;
  getUnderlyingObjects(a, objects);
  getUnderlyingObjects(b, objects);
  const Value* const first = objects.front();
  for (const Value* const object : objects)
    if (object != first) return false;
  if (const auto* const alloca = dyn_cast<AllocaInst>(first)) return alloca->isStaticAlloca();
  return isa<GlobalVariable>(first) || isa<Argument>(first);
}

bool is_address_harmless(const PtrToIntInst& cast) {
  for (const User* const user : cast.users()) {
    const auto* const difference = dyn_cast<BinaryOperator>(user);
    if (difference == nullptr || difference->getOpcode() != Instruction::Sub) return false;
    const auto* const left = dyn_cast<PtrToIntOperator>(difference->getOperand(0));
    const auto* const right = dyn_cast<PtrToIntOperator>(difference->getOperand(1));
    if (left == nullptr || right == nullptr) return false;
    if (!is_same_object(left->getPointerOperand(), right->getPointerOperand())) return false;
  }
  return true;
}

bool is_comparison_harmless(const ICmpInst& comparison) {
  const Value* const left = comparison.getOperand(0);
  const Value* const right = comparison.getOperand(1);
  if (!left->getType()->isPtrOrPtrVectorTy()) return true;
  if (is_same_object(left, right)) return true;
  if (!comparison.isEquality()) return false;
  // An object of its own is never null.
  return (isa<ConstantPointerNull>(right) && place_of(left) != Place::unknown) ||
         (isa<ConstantPointerNull>(left) && place_of(right) != Place::unknown);
}

// The language has sources say so by a pragma, and then the compiler does; many never did and rely on calls
// of functions being what they seem.
bool uses_fp_environment(const Module& module) {
  for (const Function& function : module) {
    if (!function.isDeclaration() || function.use_empty()) continue;
    const bool is_such = StringSwitch<bool>(function.getName())
                             .Cases("fesetround", "fesetenv", "feupdateenv", "fesetmode", true)
                             .Cases("feholdexcept", "feclearexcept", "feraiseexcept", "fesetexceptflag", true)
                             .Cases("fetestexcept", "fegetexceptflag", "feenableexcept", true)
                             .Cases("llvm.x86.sse.ldmxcsr", "llvm.x86.sse.stmxcsr", true)
                             .Cases("llvm.set.rounding", "llvm.set.fpenv.i256", "llvm.set.fpmode.i32", true)
                             .Default(false);
    if (is_such) return true;
  }
  return false;
}

bool computes_floats(const Instruction& instruction) {
  switch (instruction.getOpcode()) {
    case Instruction::FAdd:
    case Instruction::FSub:
    case Instruction::FMul:
    case Instruction::FDiv:
    case Instruction::FRem:
    case Instruction::FCmp:
    case Instruction::FPTrunc:
    case Instruction::FPExt:
    case Instruction::FPToSI:
    case Instruction::FPToUI:
    case Instruction::SIToFP:
    case Instruction::UIToFP:
      return true;
    default:
      break;
  }
  const auto* const call = dyn_cast<CallBase>(&instruction);
  if (call == nullptr || call->getCalledFunction() == nullptr || !call->getCalledFunction()->isDeclaration())
    return false;
  if (call->getType()->isFPOrFPVectorTy()) return true;
  return any_of(call->args(), [](const Use& argument) { return argument->getType()->isFPOrFPVectorTy(); });
}

// What these give depends on the rounding mode by what they are for.
bool rounds_as_set(const IntrinsicInst& call) {
  switch (call.getIntrinsicID()) {
    case Intrinsic::rint:
    case Intrinsic::nearbyint:
    case Intrinsic::lrint:
    case Intrinsic::llrint:
      return true;
    default:
      return false;
  }
}

bool is_harmless_intrinsic(const IntrinsicInst& call) {
  switch (call.getIntrinsicID()) {
    case Intrinsic::returnaddress:
    case Intrinsic::addressofreturnaddress:
    case Intrinsic::frameaddress:
    case Intrinsic::sponentry:
#if LLVM_VERSION_MAJOR >= 16
    case Intrinsic::threadlocal_address:
#endif
      return false;
    case Intrinsic::assume:
    case Intrinsic::lifetime_start:
    case Intrinsic::lifetime_end:
    case Intrinsic::invariant_start:
    case Intrinsic::invariant_end:
    case Intrinsic::launder_invariant_group:
    case Intrinsic::strip_invariant_group:
    case Intrinsic::experimental_noalias_scope_decl:
    case Intrinsic::sideeffect:
    case Intrinsic::donothing:
    case Intrinsic::stacksave:
    case Intrinsic::stackrestore:
    case Intrinsic::pseudoprobe:
    case Intrinsic::expect:
    case Intrinsic::expect_with_probability:
      return true;
    default:
      return isa<DbgInfoIntrinsic>(call) || call.doesNotAccessMemory();
  }
}

}  // namespace

bool holds_pointer(const Type* type) {
  if (type->isPtrOrPtrVectorTy()) return true;
  for (const Type* const part : type->subtypes())
    if (holds_pointer(part)) return true;
  return false;
}

bool is_math(StringRef name) {
  if (name.size() > 3 && (name.back() == 'f')) name = name.drop_back();
  return StringSwitch<bool>(name)
      .Cases("sin", "cos", "tan", "asin", "acos", "atan", "atan2", true)
      .Cases("sinh", "cosh", "tanh", "asinh", "acosh", "atanh", true)
      .Cases("exp", "exp2", "exp10", "expm1", "log", "log2", "log10", "log1p", true)
      .Cases("pow", "sqrt", "cbrt", "hypot", "erf", "erfc", "tgamma", true)
      .Cases("fmod", "remainder", "fdim", "ldexp", "scalbn", "fma", true)
      .Cases("floor", "ceil", "trunc", "round", "fabs", "copysign", "fmax", "fmin", true)
      .Default(false);
}

Place place_of(const Value* pointer, const GlobalVariable** global, const Argument** argument) {
  SmallVector<const Value*, 4> objects;
  getUnderlyingObjects(pointer, objects);
  Place result = Place::unknown;
  bool is_first = true;
  for (const Value* const object : objects) {
    Place place = Place::unknown;
    if (isa<AllocaInst>(object)) {
      place = Place::local;
    } else if (const auto* const variable = dyn_cast<GlobalVariable>(object)) {
      if (variable->isThreadLocal())
        place = Place::unknown;
      else if ((variable->isConstant() && variable->hasDefinitiveInitializer()) ||
               is_never_written(*variable))
        place = Place::constant;
      else
        place = Place::global;
      if (place == Place::global) {
        if (global != nullptr && *global != nullptr && *global != variable) return Place::unknown;
        if (global != nullptr) *global = variable;
      }
    } else if (const auto* const given = dyn_cast<Argument>(object)) {
      place = given->hasByValAttr() ? Place::local : Place::argument;
      if (place == Place::argument) {
        if (argument != nullptr && *argument != nullptr && *argument != given) return Place::unknown;
        if (argument != nullptr) *argument = given;
      }
    }
    if (!is_first && place != result) return Place::unknown;
    result = place;
    is_first = false;
  }
  return result;
}

// Reads one function's body.
class Purity::Reader {
 public:
  Reader(Purity& purity, Function& function, const SmallPtrSetImpl<Function*>& cycle)
      : purity_(purity), function_(function), cycle_(cycle), library_(purity.library_(function)) {}

  // Is there a path to a return that has no taint and calls only members of the cycle that have such a path?
  bool has_base(const SmallPtrSetImpl<const Function*>& with_base) {
    const Summary& summary = purity_.of(function_);
    SmallPtrSet<BasicBlock*, 16> blocked;
    for (Instruction* const taint : summary.taints) blocked.insert(taint->getParent());
    for (Instruction& instruction : instructions(function_)) {
      const auto* const call = dyn_cast<CallBase>(&instruction);
      Function* const callee = call == nullptr ? nullptr : call->getCalledFunction();
      if (callee != nullptr && cycle_.count(callee) != 0 && with_base.count(callee) == 0)
        blocked.insert(instruction.getParent());
    }
    return has_clean_path(blocked);
  }

  Summary read() {
    if (const char* const reason = taint_of_whole()) {
      result_.is_clean = false;
      result_.may_taint = true;
      result_.reason = reason;
      return std::move(result_);
    }
    const SmallPtrSet<BasicBlock*, 16> returning = blocks_that_return();
    SmallPtrSet<BasicBlock*, 16> tainted;
    for (BasicBlock& block : function_) {
      if (returning.count(&block) == 0) continue;  // does not return: nothing is stored whatever it does
      for (Instruction& instruction : block) {
        const char* const reason = taint_of(instruction);
        if (reason == nullptr) continue;
        result_.taints.push_back(&instruction);
        result_.calls_unknown |= isa<CallBase>(instruction) && !isa<IntrinsicInst>(instruction);
        tainted.insert(&block);
        if (result_.culprit == nullptr) {
          result_.culprit = &instruction;
          result_.reason = reason_ + reason;
        }
      }
    }
    result_.may_taint = result_.may_taint || !result_.taints.empty() || !result_.math.empty();
    result_.is_clean = has_clean_path(tainted);
    return std::move(result_);
  }

 private:
  const char* taint_of_whole() {
    if (function_.hasFnAttribute(Attribute::StrictFP)) return "depends on the floating-point environment";
    if (function_.hasFnAttribute(Attribute::Naked)) return "is written in assembly";
    if (function_.hasFnAttribute("coroutine.presplit") || function_.isPresplitCoroutine())
      return "is a coroutine";
    // A copy's jumps would lead into the function that it is a copy of.
    for (const BasicBlock& block : function_)
      if (block.hasAddressTaken()) return "takes the addresses of its labels";
    return nullptr;
  }

  SmallPtrSet<BasicBlock*, 16> blocks_that_return() {
    SmallPtrSet<BasicBlock*, 16> found;
    SmallVector<BasicBlock*, 16> to_see;
    for (BasicBlock& block : function_)
      if (isa<ReturnInst>(block.getTerminator())) to_see.push_back(&block);
    while (!to_see.empty()) {
      BasicBlock* const block = to_see.pop_back_val();
      if (!found.insert(block).second) continue;
      to_see.append(pred_begin(block), pred_end(block));
    }
    return found;
  }

  bool has_clean_path(const SmallPtrSetImpl<BasicBlock*>& tainted) {
    SmallPtrSet<BasicBlock*, 16> seen;
    SmallVector<BasicBlock*, 16> to_see{&function_.getEntryBlock()};
    while (!to_see.empty()) {
      BasicBlock* const block = to_see.pop_back_val();
      if (tainted.count(block) != 0 || !seen.insert(block).second) continue;
      if (isa<ReturnInst>(block->getTerminator())) return true;
      to_see.append(succ_begin(block), succ_end(block));
    }
    if (result_.reason.empty()) result_.reason = "it never returns";
    return false;
  }

  // Null: none.
  const char* reads(const Value* pointer, const Type* type) {
    const GlobalVariable* global = nullptr;
    switch (place_of(pointer, &global)) {
      case Place::local:
      case Place::constant:
        return nullptr;
      case Place::argument:
        result_.reads_args = true;
        return nullptr;
      case Place::global:
        break;
      case Place::unknown:
        return "reads memory that is neither its own nor constant";
    }
    reason_ = global->getName().str() + ": ";
    if (!purity_.options_.has_globals) return "reads a global variable";
    const Type* const value = global->getValueType();
    const bool is_scalar = value->isIntegerTy() || value->isFloatTy() || value->isDoubleTy();
    if (pointer->stripPointerCasts() != global || type != value || !is_scalar ||
        value->getPrimitiveSizeInBits() > 64)
      return "reads a global variable that is no single number";
    result_.globals.insert(const_cast<GlobalVariable*>(global));
    return nullptr;
  }
  const char* writes(const Value* pointer) {
    switch (place_of(pointer)) {
      case Place::local:
        return nullptr;
      case Place::argument:
        result_.writes_args = true;
        return nullptr;
      default:
        return "writes memory that is not its own";
    }
  }

  const char* taint_of(Instruction& instruction) {
    reason_.clear();
    if (purity_.has_fp_environment_ && computes_floats(instruction))
      return "computes with floating point in a source that uses the floating-point environment";
    if (const auto* const load = dyn_cast<LoadInst>(&instruction)) {
      if (load->isVolatile()) return "reads a volatile object";
      if (load->isAtomic()) return "reads an atomic object";
      return reads(load->getPointerOperand(), load->getType());
    }
    if (const auto* const store = dyn_cast<StoreInst>(&instruction)) {
      if (store->isVolatile()) return "writes a volatile object";
      if (store->isAtomic()) return "writes an atomic object";
      // Read back as a number, an address would be a result that differs from run to run.
      if (!purity_.is_start_ && holds_pointer(store->getValueOperand()->getType())) return "keeps an address";
      return writes(store->getPointerOperand());
    }
    if (const auto* const cast = dyn_cast<PtrToIntInst>(&instruction))
      return is_address_harmless(*cast) ? nullptr : "uses an address as a number";
    if (const auto* const comparison = dyn_cast<ICmpInst>(&instruction))
      return is_comparison_harmless(*comparison) ? nullptr : "compares addresses";
    if (isa<LandingPadInst>(instruction)) return "catches an exception";
    if (auto* const call = dyn_cast<CallBase>(&instruction)) return taint_of_call(*call);
    if (isa<AllocaInst>(instruction) || isa<ReturnInst>(instruction)) return nullptr;
    if (instruction.mayReadOrWriteMemory() || instruction.isAtomic())
      return "does something that others may see";
    return nullptr;
  }

  const char* taint_of_call(CallBase& call) {
    if (call.isInlineAsm()) return "contains assembly";
    if (call.isConvergent()) return "depends on what other threads do";
    if (call.hasFnAttr(Attribute::ReturnsTwice)) return "may return twice";
    if (call.hasFnAttr(Attribute::StrictFP)) return "depends on the floating-point environment";
    if (const auto* const intrinsic = dyn_cast<IntrinsicInst>(&call)) return taint_of_intrinsic(*intrinsic);
    Function* const callee = call.getCalledFunction();
    if (callee == nullptr) return "calls through a pointer";
    if (call.getFunctionType() != callee->getFunctionType()) return "calls with other types than are defined";
    if (callee->isDeclaration()) return taint_of_declared(call, *callee);
    if (const char* const reason = taint_of_copies(call)) return reason;
    if (callee->isInterposable())
      return reason_ = callee->getName().str() + ": ", "calls what may be replaced at link time";
    // The body that will be executed, or at the start, what every body of that name refines.
    if (!purity_.is_start_ && !callee->hasExactDefinition())
      return reason_ = callee->getName().str() + ": ", "calls what the linker may take from elsewhere";
    result_.callees.push_back(callee);
    if (cycle_.count(callee) != 0) {
      result_.is_recursive = true;
      const auto assumed = purity_.summaries_.find(callee);
      if (assumed == purity_.summaries_.end()) return nullptr;  // assumed clean until seen otherwise
    }
    const Summary& summary = purity_.of(*callee);
    if (!summary.is_clean)
      return reason_ = callee->getName().str() + ": ", "calls a function that is not pure";
    result_.may_taint |= summary.may_taint;
    result_.calls_unknown |= summary.calls_unknown;
    for (GlobalVariable* const global : summary.globals) result_.globals.insert(global);
    if (!summary.reads_args && !summary.writes_args) return nullptr;
    return taint_of_pointers(call, summary.writes_args);
  }

  const char* taint_of_pointee(const Value* pointer) {
    if (place_of(pointer) == Place::global) return "passes a global variable on";
    return reads(pointer, nullptr);
  }

  // The callee sees a copy of its own: it is the call that reads.
  const char* taint_of_copies(CallBase& call) {
    for (unsigned i = 0; i < call.arg_size(); ++i)
      if (call.isByValArgument(i))
        if (const char* const reason = taint_of_pointee(call.getArgOperand(i))) return reason;
    return nullptr;
  }

  const char* taint_of_pointers(CallBase& call, bool is_written) {
    for (const Use& argument : call.args()) {
      if (!argument->getType()->isPtrOrPtrVectorTy() || isa<ConstantPointerNull>(argument)) continue;
      if (const char* const reason = taint_of_pointee(argument)) return reason;
      if (is_written && place_of(argument) != Place::constant)
        if (const char* const reason = writes(argument)) return reason;
    }
    return nullptr;
  }

  const char* taint_of_intrinsic(const IntrinsicInst& call) {
    if (const auto* const copy = dyn_cast<AnyMemTransferInst>(&call)) {
      if (copy->isVolatile()) return "copies a volatile object";
      if (place_of(copy->getRawSource()) == Place::global) return "copies a global variable";
      if (const char* const reason = reads(copy->getRawSource(), nullptr)) return reason;
      return writes(copy->getRawDest());
    }
    if (const auto* const set = dyn_cast<AnyMemSetInst>(&call))
      return set->isVolatile() ? "writes a volatile object" : writes(set->getRawDest());
    if (isa<ConstrainedFPIntrinsic>(call) || rounds_as_set(call))
      return "depends on the floating-point environment";
    return is_harmless_intrinsic(call) ? nullptr : "uses a compiler intrinsic with an effect";
  }

  const char* taint_of_declared(CallBase& call, Function& callee) {
    LibFunc which;
    if (is_math(callee.getName()) && call.getType()->isFloatingPointTy() && !call.isNoBuiltin() &&
        library_.getLibFunc(callee, which) && library_.has(which)) {
      for (const Use& argument : call.args())
        if (argument->getType()->isPointerTy()) return "calls a function that writes through a pointer";
      if (!call.doesNotAccessMemory()) result_.math.push_back(&call);
      return nullptr;
    }
    if (call.doesNotAccessMemory() && purity_.options_.has_trust) return nullptr;
    reason_ = callee.getName().str() + ": ";
    return call.doesNotAccessMemory() ? "calls a function of which only a promise is known"
                                      : "calls a function whose body is not known";
  }

  Purity& purity_;
  Function& function_;
  const SmallPtrSetImpl<Function*>& cycle_;
  const TargetLibraryInfo& library_;
  Summary result_;
  std::string reason_;
};

Purity::Purity(Module& module, const Options& options, Library library, bool is_start)
    : options_(options),
      library_(std::move(library)),
      is_start_(is_start),
      has_fp_environment_(uses_fp_environment(module)) {
  CallGraph graph(module);
  for (auto scc = scc_begin(&graph); !scc.isAtEnd(); ++scc) {
    SmallVector<Function*, 4> cycle;
    for (const CallGraphNode* const node : *scc)
      if (Function* const function = node->getFunction())
        if (!function->isDeclaration()) cycle.push_back(function);
    analyse(cycle);
  }
}

// A cycle begins with nothing known and is read until nothing changes: each reading can only find more. Then
// those are left out whose every path comes to a taint in the end, which is seen from the other side: a
// function is let in when some path of it needs only functions that are in already.
void Purity::analyse(ArrayRef<Function*> cycle) {
  SmallPtrSet<Function*, 4> members(cycle.begin(), cycle.end());
  SmallPtrSet<const Function*, 4> left_out;
  for (;;) {
    for (bool has_changed = true; has_changed;) {
      has_changed = false;
      for (Function* const function : cycle) {
        Summary fresh = Reader(*this, *function, members).read();
        if (left_out.count(function) != 0 && fresh.is_clean) {
          fresh.is_clean = false;
          if (fresh.reason.empty()) fresh.reason = "its simplest cases are not pure";
        }
        const auto old = summaries_.find(function);
        has_changed |= old == summaries_.end() ? cycle.size() > 1 || fresh.is_recursive
                                               : old->second.is_clean != fresh.is_clean ||
                                                     old->second.may_taint != fresh.may_taint ||
                                                     old->second.calls_unknown != fresh.calls_unknown ||
                                                     old->second.reads_args != fresh.reads_args ||
                                                     old->second.writes_args != fresh.writes_args ||
                                                     old->second.globals.size() != fresh.globals.size() ||
                                                     old->second.taints.size() != fresh.taints.size();
        summaries_[function] = std::move(fresh);
      }
    }
    SmallPtrSet<const Function*, 4> with_base;
    for (size_t before = 1; before != with_base.size();) {
      before = with_base.size();
      for (Function* const function : cycle)
        if (of(*function).is_clean && Reader(*this, *function, members).has_base(with_base))
          with_base.insert(function);
      if (with_base.size() == before) break;
    }
    const size_t known = left_out.size();
    for (Function* const function : cycle)
      if (of(*function).is_clean && with_base.count(function) == 0) left_out.insert(function);
    if (left_out.size() == known) return;
  }
}

const Summary& Purity::of(const Function& function) const {
  static const Summary kUnknown = [] {
    Summary unknown;
    unknown.is_clean = false;
    unknown.reason = "its body is not known";
    return unknown;
  }();
  const auto found = summaries_.find(&function);
  return found == summaries_.end() ? kUnknown : found->second;
}

}  // namespace larder::plugin
