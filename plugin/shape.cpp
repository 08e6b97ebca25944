#include "shape.hpp"

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/Demangle/Demangle.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Operator.h>

#include "compat.hpp"
#include "runtime/larder_reuse.h"

namespace larder::plugin {

using namespace llvm;

namespace {

// Words that a value of this type takes in a table; 0: it has no bits to compare.
uint64_t words_of(const Type* type, bool& has_floats) {
  if (type->isIntegerTy()) {
    const unsigned bits = type->getIntegerBitWidth();
    return bits <= 64 ? 1 : bits <= 128 ? 2 : 0;
  }
  if (type->isFloatTy() || type->isDoubleTy() || type->isHalfTy() || type->isBFloatTy()) {
    has_floats = true;
    return 1;
  }
  if (type->isX86_FP80Ty()) {
    has_floats = true;
    return 2;
  }
  if (const auto* const vector = dyn_cast<FixedVectorType>(type)) {
    if (vector->getElementType()->isPointerTy()) return 0;
    const uint64_t bits = vector->getPrimitiveSizeInBits().getFixedValue();
    if (bits == 0 || bits > 128) return 0;
    has_floats = true;
    return bits <= 64 ? 1 : 2;
  }
  if (const auto* const aggregate = dyn_cast<StructType>(type)) {
    uint64_t words = 0;
    for (const Type* const part : aggregate->elements()) {
      const uint64_t one = words_of(part, has_floats);
      if (one == 0) return 0;
      words += one;
    }
    return words;
  }
  return 0;
}

// All that is read through `argument` lies within its first `bytes` bytes, and it does not go anywhere else.
bool is_read_within(const Argument& argument, uint64_t bytes, bool& is_read) {
  const DataLayout& layout = argument.getParent()->getParent()->getDataLayout();
  SmallVector<std::pair<const Value*, int64_t>, 8> to_see{{&argument, 0}};
  while (!to_see.empty()) {
    const auto [value, offset] = to_see.pop_back_val();
    for (const User* const user : value->users()) {
      if (const auto* const load = dyn_cast<LoadInst>(user)) {
        if (load->getType()->isPtrOrPtrVectorTy() || load->isVolatile() || load->isAtomic()) return false;
        const uint64_t size = layout.getTypeStoreSize(load->getType()).getFixedValue();
        if (offset < 0 || static_cast<uint64_t>(offset) + size > bytes) return false;
        is_read = true;
      } else if (const auto* const step = dyn_cast<GEPOperator>(user)) {
        APInt constant(64, 0);
        if (step->getPointerOperand() != value || !step->accumulateConstantOffset(layout, constant))
          return false;
        to_see.push_back({step, offset + constant.getSExtValue()});
      } else if (isa<BitCastOperator>(user)) {
        to_see.push_back({user, offset});
      } else if (const auto* const call = dyn_cast<CallBase>(user)) {
        // A call of itself with the same bytes, or of something that was proved to read only: size unknown.
        if (isa<DbgInfoIntrinsic>(call)) continue;
        return false;
      } else {
        return false;
      }
    }
  }
  return true;
}

}  // namespace

StringRef name_at_start(const Function& function) {
  const StringRef name = function.getFnAttribute(kName).getValueAsString();
  return name.empty() ? function.getName() : name;
}

std::string readable(StringRef mangled) {
  return demangle(mangled.str());
}

std::string read_signature(const Function& function, const Summary& summary, Signature& signature) {
  const DataLayout& layout = function.getParent()->getDataLayout();
  signature.value_words = words_of(function.getReturnType(), signature.has_floats);
  if (function.getReturnType()->isVoidTy()) return "it returns nothing";
  if (function.getReturnType()->isPointerTy()) return "it returns an address";
  if (signature.value_words == 0) return "its result has no bits that a table can hold";
  if (signature.value_words > LARDER_REUSE_VALUE_WORDS_MAX) return "its result is too large";
  uint64_t narrow_bits = 0;  // integers of up to 32 bits share words
  for (const Argument& argument : function.args()) {
    Type* const type = argument.getType();
    if (argument.hasStructRetAttr()) return "it returns through memory";
    if (argument.hasInAllocaAttr() || argument.hasPreallocatedAttr() || argument.hasSwiftErrorAttr() ||
        argument.hasSwiftSelfAttr() || argument.hasNestAttr())
      return "an argument is passed in a way of its own";
    if (type->isPointerTy()) {
      uint64_t bytes = 0;
      if (argument.hasByValAttr()) {
        Type* const pointee = argument.getParamByValType();
        if (holds_pointer(pointee)) return "an argument holds an address";
        bytes = layout.getTypeAllocSize(pointee).getFixedValue();
      } else if (!argument.use_empty()) {
        bytes = argument.getDereferenceableBytes();
        if (bytes == 0) return "it is not known how much it reads behind a pointer";
        if (summary.writes_args) return "it may write behind a pointer";
        bool is_read = false;
        if (!is_read_within(argument, bytes, is_read))
          return "it is not known how much it reads behind a pointer";
        if (!is_read) bytes = 0;
      }
      if (bytes > LARDER_REUSE_KEY_WORDS_MAX * 8) return "an argument is too large";
      if (bytes == 0) continue;
      signature.has_floats = true;
      signature.pointees.push_back({&argument, bytes});
      signature.key_words += (bytes + 7) / 8;
      continue;
    }
    if (type->isIntegerTy() && type->getIntegerBitWidth() <= 32) {
      narrow_bits += 32;
      continue;
    }
    if (type->isFloatTy()) {
      signature.has_floats = true;
      narrow_bits += 32;
      continue;
    }
    const uint64_t words = type->isStructTy() ? 0 : words_of(type, signature.has_floats);
    if (words == 0) return "an argument has no bits that a table can compare";
    signature.key_words += words;
  }
  signature.key_words += (narrow_bits + 63) / 64 + summary.globals.size();
  if (signature.key_words == 0) return "it takes no arguments";
  if (signature.key_words > LARDER_REUSE_KEY_WORDS_MAX) return "its arguments are too large";
  return {};
}

std::string why_not(const Function& function, const Options& options) {
  if (function.isDeclaration()) return "its body is not known";
  if (function.hasFnAttribute(kDone)) return "it belongs to a function that has a table";
  if (function.isVarArg()) return "it takes any number of arguments";
  if (function.isInterposable()) return "it may be replaced at link time";
  if (function.getName() == "main") return "it is called once";
  for (const auto kind :
       {Attribute::OptimizeNone, Attribute::Naked, Attribute::ReturnsTwice, Attribute::StrictFP,
        Attribute::NoDuplicate, Attribute::Convergent, Attribute::AlwaysInline})
    if (function.hasFnAttribute(kind))
      return ("it has the attribute " + Attribute::getNameFromAttrKind(kind)).str();
  if (function.hasGC()) return "its frames belong to a garbage collector";
  for (const BasicBlock& block : function)
    if (block.getTerminatingMustTailCall() != nullptr) return "it promises a tail call";
  if (function.hasPrefixData() || function.hasPrologueData()) return "it has data before its code";
  for (const auto kind : {Attribute::SanitizeAddress, Attribute::SanitizeMemory, Attribute::SanitizeThread,
                          Attribute::SanitizeHWAddress})
    if (!options.has_sanitizers && function.hasFnAttribute(kind)) return "a sanitizer instruments it";
  for (const char* const name :
       {"instrument-function-entry", "instrument-function-entry-inlined", "instrument-function-exit",
        "instrument-function-exit-inlined", "fentry-call", "mnop-mcount", "xray-instruction-threshold",
        "function-instrument"})
    if (function.hasFnAttribute(name)) return "its calls are counted by a tool";
  for (const BasicBlock& block : function)
    if (const LandingPadInst* const pad = block.getLandingPadInst())
      if (pad->getNumClauses() != 0) return "it catches exceptions";
  if (options.denied.contains(function.getName())) return "a list denies it";
  const std::string name = readable(function.getName());
  if (options.denied.contains(name) || options.denied.contains(StringRef(name).split('(').first))
    return "a list denies it";
  if (function.hasFnAttribute("larder-noreuse")) return "an annotation denies it";
  return {};
}

// The most calls of itself on any path; a call in a loop counts as many.
Recursion recursion_of(const Function& function) {
  DenseMap<const BasicBlock*, unsigned> own;
  bool has_any = false;
  for (const BasicBlock& block : function) {
    unsigned count = 0;
    for (const Instruction& instruction : block)
      if (const auto* const call = dyn_cast<CallBase>(&instruction))
        count += call->getCalledFunction() == &function;
    own[&block] = count;
    has_any |= count != 0;
  }
  if (!has_any) return Recursion::none;
  DominatorTree tree(const_cast<Function&>(function));
  LoopInfo loops(tree);
  for (const BasicBlock& block : function)
    if (own[&block] > 1 || (own[&block] == 1 && loops.getLoopFor(&block) != nullptr)) return Recursion::tree;
  // Is there a block with a call from which another one is reached?
  for (const BasicBlock& block : function) {
    if (own[&block] == 0) continue;
    SmallPtrSet<const BasicBlock*, 16> seen;
    SmallVector<const BasicBlock*, 16> to_see(succ_begin(&block), succ_end(&block));
    while (!to_see.empty()) {
      const BasicBlock* const next = to_see.pop_back_val();
      if (!seen.insert(next).second) continue;
      if (own[next] != 0) return Recursion::tree;
      to_see.append(succ_begin(next), succ_end(next));
    }
  }
  return Recursion::linear;
}

uint64_t estimate(Function& function, const Purity& purity) {
  DominatorTree tree(function);
  LoopInfo loops(tree);
  uint64_t sum = 0;
  for (const BasicBlock& block : function) {
    uint64_t cycles = 0;
    for (const Instruction& instruction : block) {
      switch (instruction.getOpcode()) {
        case Instruction::UDiv:
        case Instruction::SDiv:
        case Instruction::URem:
        case Instruction::SRem:
          // By a constant it is a product and a shift.
          cycles += isa<Constant>(instruction.getOperand(1)) ? 4 : 20;
          continue;
        case Instruction::FDiv:
        case Instruction::FRem:
          cycles += 12;
          continue;
        case Instruction::FAdd:
        case Instruction::FSub:
        case Instruction::FMul:
          cycles += 3;
          continue;
        case Instruction::Mul:
          cycles += 3;
          continue;
        case Instruction::PHI:
        case Instruction::BitCast:
        case Instruction::Alloca:
        case Instruction::GetElementPtr:
        case Instruction::ZExt:
        case Instruction::SExt:
        case Instruction::Trunc:
        case Instruction::Ret:
          continue;
        case Instruction::Br:
          cycles += instruction.getNumOperands() > 1;  // jumps alone vanish
          continue;
        default:
          break;
      }
      const auto* const call = dyn_cast<CallBase>(&instruction);
      if (call == nullptr) {
        ++cycles;
        continue;
      }
      const Function* const callee = call->getCalledFunction();
      if (callee == nullptr) {
        cycles += 10;
      } else if (callee->isIntrinsic()) {
        switch (callee->getIntrinsicID()) {
          case Intrinsic::sqrt:
            cycles += 15;
            break;
          case Intrinsic::sin:
          case Intrinsic::cos:
          case Intrinsic::exp:
          case Intrinsic::exp2:
          case Intrinsic::log:
          case Intrinsic::log2:
          case Intrinsic::log10:
          case Intrinsic::pow:
            cycles += 60;
            break;
          default:
            cycles += isa<DbgInfoIntrinsic>(call) ? 0 : 1;
        }
      } else if (callee->isDeclaration()) {
        cycles += is_math(callee->getName()) ? 60 : 10;
      } else {
        uint64_t inner = 40;
        if (callee->hasFnAttribute(kCandidate))
          (void)callee->getFnAttribute(kCandidate).getValueAsString().getAsInteger(10, inner);
        cycles += callee == &function ? 10 : 5 + std::min<uint64_t>(inner, 1000);
      }
    }
    for (unsigned depth = std::min(3u, loops.getLoopDepth(&block)); depth > 0; --depth) cycles *= 8;
    sum += cycles;
  }
  (void)purity;
  return sum;
}

uint64_t fingerprint(const Function& function) {
  uint64_t hash = 0xcbf29ce484222325;
  const auto add = [&hash](uint64_t value) { hash = (hash ^ value) * 0x100000001b3; };
  for (const BasicBlock& block : function) {
    for (const Instruction& instruction : block) {
      if (isa<DbgInfoIntrinsic>(instruction)) continue;
      add(instruction.getOpcode());
      add(instruction.getType()->getTypeID());
      add(instruction.getNumOperands());
      if (const auto* const comparison = dyn_cast<CmpInst>(&instruction)) add(comparison->getPredicate());
      for (const Use& operand : instruction.operands()) {
        if (const auto* const number = dyn_cast<ConstantInt>(operand))
          add(number->getValue().getLimitedValue());
        else if (const auto* const real = dyn_cast<ConstantFP>(operand))
          add(real->getValueAPF().bitcastToAPInt().getLimitedValue());
        else if (const auto* const global = dyn_cast<GlobalValue>(operand))
          for (const char letter : global->getName()) add(static_cast<unsigned char>(letter));
      }
    }
    add(0);
  }
  return hash >> 1;
}

uint64_t fingerprint_at_start(const Function& function) {
  uint64_t print = 0;
  (void)function.getFnAttribute(kPrint).getValueAsString().getAsInteger(10, print);
  return print;
}

}  // namespace larder::plugin
