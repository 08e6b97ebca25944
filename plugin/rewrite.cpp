// What becomes of a function F:
//
//   F        [what F does for the simplest arguments, if that is cheap] then: look into the table, inline.
//            Hit: return. Miss: F.miss. No table at present: F.slow. A leaf: no frame, no call on the way to
//            a hit.
//            While the table is off, F counts down and goes on as F.plain.
//   F.slow   asks the library what to do.
//   F.miss   works and stores. Where F calls itself it holds F's body, whose calls go to F again.
//   F.plain  the body as plain -O2 made it. A tree of calls has four copies that call each other in turn, and
//   only
//            the first call of the last one counts down and may go to F: so most pay nothing while the table
//            is off.
//   F.outer  a linear recursion's other way: F.plain works, only the call from outside is stored.
//
// Every key word and value is frozen: padding and undefined bits may be anything, but must be one thing.
// Slots are read by volatile loads and their key is read again after the value: a signal handler of the same
// thread may have replaced it in between (larder_reuse.h).
#include "rewrite.hpp"

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include "compat.hpp"
#include "mark.hpp"
#include "runtime/larder_reuse.h"
#include "shape.hpp"

namespace larder::plugin {

using namespace llvm;

namespace {

constexpr uint64_t kOdd[LARDER_REUSE_KEY_WORDS_MAX] = {
    0x9e3779b97f4a7c15, 0xc2b2ae3d27d4eb4f, 0xd6e8feb86659fd93, 0xa0761d6478bd642f,
    0xe7037ed1a0b428db, 0x8ebc6af09c88c6e3, 0x589965cc75374cc3, 0x1d8e4e27c47d124f};
constexpr unsigned kStride = 4;           // copies of a tree's plain body
constexpr unsigned kStrideSizeMax = 400;  // instructions; larger bodies have one
// Words of a larder_reuse_place.
enum { kSlots, kShift, kCountdown, kStackFloor, kStackSpan, kTable, kRoom, kBusy, kPlaceWords };

class Rewriter {
 public:
  Rewriter(Module& module, const Options& options)
      : module_(module),
        options_(options),
        context_(module.getContext()),
        word_(Type::getInt64Ty(context_)),
        words_(PointerType::getUnqual(word_)) {}

  void rewrite(Function& function, const Summary& summary, const Signature& signature, uint64_t cost);
  // Marks where a stored evaluation must not have been.
  void note_taints(const Summary& summary);
  void finish();

 private:
  struct Key {
    SmallVector<Value*, 8> words;
    Value* hash = nullptr;
  };
  using Builder = IRBuilder<>;

  GlobalVariable* taint() {
    if (taint_ == nullptr) {
      taint_ =
          new GlobalVariable(module_, word_, false, GlobalValue::InternalLinkage, ConstantInt::get(word_, 0),
                             "larder_reuse_taint", nullptr, GlobalValue::GeneralDynamicTLSModel);
    }
    return taint_;
  }
  Function* sibling(Function& of, const char* suffix);
  Value* to_word(Builder& build, Value* value);
  void to_words(Builder& build, Value* value, SmallVectorImpl<Value*>& words);
  Value* from_words(Builder& build, Type* type, ArrayRef<Value*>& words);
  Key read_key(Builder& build, Function& function);
  Value* place_word(Builder& build, unsigned word) {
    return build.CreateConstInBoundsGEP1_64(word_, place_pointer(build), word);
  }
  Value* place_pointer(Builder& build) { return build.CreatePointerCast(place_, words_); }
  void tail_call(Builder& build, Function& from, Function& to);
  void put(Instruction* before, const Key& key, Value* result);
  void call_put(Builder& build, const Key& key, ArrayRef<Value*> values);
  void store_unless_tainted(Instruction* before, const Key& key, Value* result, Value* taint_before);
  BasicBlock* peel(Function& function);
  void fill_front(Function& function, BasicBlock* lookup);
  void fill_slow();
  Value* is_still_off(Builder& build);
  void count_down_at(CallBase& call, Function& first, Function& function);
  void fill_miss(Recursion recursion, bool is_recursive);
  void fill_outer();
  void guard_stack(Function& function, BasicBlock* body, Function& low);
  SmallVector<CallBase*, 4> self_calls(Function& in, Function& callee);
  Constant* make_site(Function& function, uint64_t cost, uint64_t flags);

  Module& module_;
  const Options& options_;
  LLVMContext& context_;
  Type* word_;
  PointerType* words_;
  GlobalVariable* taint_ = nullptr;
  SmallVector<Constant*, 8> sites_;
  // Of the function at work.
  const Summary* summary_ = nullptr;
  const Signature* signature_ = nullptr;
  GlobalVariable* place_ = nullptr;
  Constant* site_ = nullptr;
  Function* miss_ = nullptr;
  Function* slow_ = nullptr;
  Function* outer_ = nullptr;
  Function* off_ = nullptr;
};

// An empty function of the same type.
Function* Rewriter::sibling(Function& of, const char* suffix) {
  Function* const made =
      Function::Create(of.getFunctionType(), GlobalValue::InternalLinkage, of.getName() + suffix, module_);
  made->setCallingConv(of.getCallingConv());
  made->setAttributes(of.getAttributes());
  forget_purity(*made);
  made->addFnAttr(kDone);
  made->addFnAttr(Attribute::NoInline);
  made->setDSOLocal(true);
  for (size_t i = 0; i < of.arg_size(); ++i) made->getArg(i)->setName(of.getArg(i)->getName());
  return made;
}

Value* Rewriter::to_word(Builder& build, Value* value) {
  Type* const type = value->getType();
  if (!type->isIntegerTy()) {
    const unsigned bits = type->getPrimitiveSizeInBits().getFixedValue();
    value = build.CreateBitCast(value, build.getIntNTy(bits));
  }
  return build.CreateZExt(value, word_);
}

void Rewriter::to_words(Builder& build, Value* value, SmallVectorImpl<Value*>& words) {
  Type* const type = value->getType();
  if (auto* const aggregate = dyn_cast<StructType>(type)) {
    for (unsigned i = 0; i < aggregate->getNumElements(); ++i)
      to_words(build, build.CreateExtractValue(value, i), words);
    return;
  }
  value = build.CreateFreeze(value);
  const unsigned bits = type->getPrimitiveSizeInBits().getFixedValue();
  if (bits <= 64) return words.push_back(to_word(build, value));
  Value* const wide =
      build.CreateZExt(build.CreateBitCast(value, build.getIntNTy(bits)), build.getIntNTy(128));
  words.push_back(build.CreateTrunc(wide, word_));
  words.push_back(build.CreateTrunc(build.CreateLShr(wide, 64), word_));
}

Value* Rewriter::from_words(Builder& build, Type* type, ArrayRef<Value*>& words) {
  if (auto* const aggregate = dyn_cast<StructType>(type)) {
    Value* result = UndefValue::get(type);
    for (unsigned i = 0; i < aggregate->getNumElements(); ++i)
      result = build.CreateInsertValue(result, from_words(build, aggregate->getElementType(i), words), i);
    return result;
  }
  const unsigned bits = type->getPrimitiveSizeInBits().getFixedValue();
  Value* value = words[0];
  if (bits > 64) {
    Value* const high = build.CreateShl(build.CreateZExt(words[1], build.getIntNTy(128)), 64);
    value = build.CreateOr(build.CreateZExt(words[0], build.getIntNTy(128)), high);
  }
  words = words.drop_front(bits > 64 ? 2 : 1);
  return build.CreateBitCast(build.CreateTrunc(value, build.getIntNTy(bits)), type);
}

// In the order and packing that read_signature() counts.
Rewriter::Key Rewriter::read_key(Builder& build, Function& function) {
  Key key;
  SmallVector<Value*, 8> narrow;
  for (Argument& argument : function.args()) {
    Type* const type = argument.getType();
    if (type->isPointerTy()) {
      for (const Pointee& pointee : signature_->pointees) {
        if (pointee.argument->getArgNo() != argument.getArgNo()) continue;
        Value* const bytes = build.CreatePointerCast(&argument, PointerType::getUnqual(build.getInt8Ty()));
        for (uint64_t at = 0; at < pointee.bytes; at += 8) {
          const uint64_t size = std::min<uint64_t>(8, pointee.bytes - at);
          Type* const part = build.getIntNTy(static_cast<unsigned>(size * 8));
          Value* const from = build.CreateConstInBoundsGEP1_64(build.getInt8Ty(), bytes, at);
          Value* const word = build.CreateAlignedLoad(
              part, build.CreatePointerCast(from, PointerType::getUnqual(part)), Align(1));
          key.words.push_back(build.CreateZExt(build.CreateFreeze(word), word_));
        }
      }
    } else if ((type->isIntegerTy() && type->getIntegerBitWidth() <= 32) || type->isFloatTy()) {
      narrow.push_back(to_word(build, build.CreateFreeze(&argument)));
    } else {
      to_words(build, &argument, key.words);
    }
  }
  for (size_t i = 0; i < narrow.size(); i += 2)
    key.words.push_back(
        i + 1 == narrow.size() ? narrow[i] : build.CreateOr(narrow[i], build.CreateShl(narrow[i + 1], 32)));
  for (GlobalVariable* const global : summary_->globals)
    to_words(build, build.CreateLoad(global->getValueType(), global), key.words);
  for (size_t i = 0; i < key.words.size(); ++i) {
    Value* word = key.words[i];
    if (signature_->has_floats) word = build.CreateXor(word, build.CreateLShr(word, 32));
    word = build.CreateMul(word, ConstantInt::get(word_, kOdd[i]));
    key.hash = key.hash == nullptr ? word : build.CreateXor(key.hash, word);
  }
  return key;
}

// A jump, where the convention allows to promise one.
void Rewriter::tail_call(Builder& build, Function& from, Function& to) {
  SmallVector<Value*, 8> arguments;
  bool has_memory = false;
  for (Argument& argument : from.args()) {
    arguments.push_back(&argument);
    has_memory |= argument.hasByValAttr();
  }
  CallInst* const call = build.CreateCall(&to, arguments);
  call->setCallingConv(to.getCallingConv());
  call->setAttributes(AttributeList::get(context_, AttributeSet(), to.getAttributes().getRetAttrs(), [&] {
    SmallVector<AttributeSet, 8> sets;
    for (unsigned i = 0; i < to.arg_size(); ++i) sets.push_back(to.getAttributes().getParamAttrs(i));
    return sets;
  }()));
  call->setTailCallKind(has_memory ? CallInst::TCK_None : CallInst::TCK_MustTail);
  build.CreateRet(call);
}

void Rewriter::call_put(Builder& build, const Key& key, ArrayRef<Value*> values) {
  Value* const place = place_pointer(build);
  if (key.words.size() == 1 && values.size() == 1) {
    const FunctionCallee callee = module_.getOrInsertFunction("larder_reuse_put_small", build.getVoidTy(),
                                                              words_, words_, word_, word_, word_);
    build.CreateCall(callee, {place, site_, key.hash, key.words[0], values[0]})->setDoesNotThrow();
    return;
  }
  // In the entry block, so that a loop of returns takes no stack.
  Function& function = *build.GetInsertBlock()->getParent();
  Builder entry(&function.getEntryBlock(), function.getEntryBlock().begin());
  const auto spill = [&](ArrayRef<Value*> words) {
    Value* const memory = entry.CreateAlloca(word_, entry.getInt64(words.size()));
    for (size_t i = 0; i < words.size(); ++i)
      build.CreateStore(words[i], build.CreateConstInBoundsGEP1_64(word_, memory, i));
    return memory;
  };
  Value* const key_memory = spill(key.words);
  Value* const value_memory = spill(values);
  const FunctionCallee callee = module_.getOrInsertFunction("larder_reuse_put", build.getVoidTy(), words_,
                                                            words_, word_, words_, words_);
  build.CreateCall(callee, {place, site_, key.hash, key_memory, value_memory})->setDoesNotThrow();
}

// In place while there is room, as larder_reuse.h has it; else, and for a sample of the keys, by a call.
void Rewriter::put(Instruction* before, const Key& key, Value* result) {
  Builder build(before);
  SmallVector<Value*, 4> values;
  to_words(build, result, values);
  BasicBlock* const head = before->getParent();
  BasicBlock* const rest = SplitBlock(head, before);
  Function* const function = head->getParent();
  BasicBlock* const begin = BasicBlock::Create(context_, "larder.store", function, rest);
  BasicBlock* const write = BasicBlock::Create(context_, "larder.write", function, rest);
  BasicBlock* const shut = BasicBlock::Create(context_, "larder.shut", function, rest);
  BasicBlock* const call = BasicBlock::Create(context_, "larder.put", function, rest);
  MDNode* const likely = MDBuilder(context_).createBranchWeights(15, 1);
  const auto load = [&](unsigned word) { return build.CreateLoad(word_, place_word(build, word), true); };
  const auto store = [&](Value* value, unsigned word) {
    build.CreateStore(value, place_word(build, word), true);
  };
  if (DebugLoc where = before->getDebugLoc()) build.SetCurrentDebugLocation(where);

  head->getTerminator()->eraseFromParent();
  build.SetInsertPoint(head);
  Value* const room = load(kRoom);
  Value* const mixed = build.CreateMul(build.CreateXor(key.hash, build.CreateLShr(key.hash, 32)),
                                       ConstantInt::get(word_, kOdd[1]));
  Value* const is_sampled =
      build.CreateICmpULT(mixed, build.getInt64(uint64_t{1} << LARDER_REUSE_SAMPLE_SHIFT));
  Value* const is_here =
      build.CreateAnd(build.CreateICmpNE(room, build.getInt64(0)), build.CreateNot(is_sampled));
  build.CreateCondBr(is_here, begin, call, likely);

  build.SetInsertPoint(begin);
  Value* const busy = load(kBusy);
  store(build.CreateAdd(busy, build.getInt64(1)), kBusy);
  Value* const slots = load(kSlots);
  build.CreateCondBr(build.CreateICmpNE(slots, build.getInt64(0)), write, shut, likely);

  build.SetInsertPoint(write);
  const uint64_t words = signature_->key_words + signature_->value_words;
  Value* const index = build.CreateMul(build.CreateLShr(key.hash, load(kShift)), build.getInt64(words));
  Value* const slot = build.CreateInBoundsGEP(word_, build.CreateIntToPtr(slots, words_), index);
  store(build.getInt64(0), kSlots);
  uint64_t at = 0;
  const auto keep = [&](Value* value) {
    build.CreateStore(value, build.CreateConstInBoundsGEP1_64(word_, slot, at++), true);
  };
  for (Value* const word : key.words) keep(word);
  for (Value* const word : values) keep(word);
  store(slots, kSlots);
  store(build.CreateSub(room, build.getInt64(1)), kRoom);
  store(busy, kBusy);
  build.CreateBr(rest);

  build.SetInsertPoint(shut);
  store(busy, kBusy);
  build.CreateBr(call);

  build.SetInsertPoint(call);
  call_put(build, key, values);
  build.CreateBr(rest);
}

void Rewriter::store_unless_tainted(Instruction* before, const Key& key, Value* result, Value* taint_before) {
  if (taint_before == nullptr) return put(before, key, result);
  Builder build(before);
  Value* const is_clean = build.CreateICmpEQ(build.CreateLoad(word_, taint()), taint_before);
  put(SplitBlockAndInsertIfThen(is_clean, before, false), key, result);
}

// Blocks from the entry on that are cheap and lead to a return stay; the others make way for the look-up.
// Gives the look-up's block.
BasicBlock* Rewriter::peel(Function& function) {
  BasicBlock* const lookup = BasicBlock::Create(context_, "larder.lookup", &function);
  const auto is_cheap = [](BasicBlock& block) {
    unsigned count = 0;
    for (Instruction& instruction : block) {
      if (isa<PHINode>(instruction) || isa<DbgInfoIntrinsic>(instruction)) continue;
      if (instruction.isTerminator())
        return isa<BranchInst>(instruction) || isa<SwitchInst>(instruction) || isa<ReturnInst>(instruction);
      if (instruction.mayReadOrWriteMemory() || isa<CallBase>(instruction) || isa<AllocaInst>(instruction) ||
          instruction.getOpcode() == Instruction::UDiv || instruction.getOpcode() == Instruction::SDiv ||
          instruction.getOpcode() == Instruction::URem || instruction.getOpcode() == Instruction::SRem ||
          ++count > 6)
        return false;
    }
    return false;
  };
  BasicBlock* const entry = &function.getEntryBlock();
  SmallPtrSet<BasicBlock*, 8> kept;
  bool has_return = false;
  if (is_cheap(*entry) && !isa<ReturnInst>(entry->getTerminator()) && pred_empty(entry)) {
    SmallVector<BasicBlock*, 8> to_see{entry};
    kept.insert(entry);
    while (!to_see.empty()) {
      BasicBlock* const block = to_see.pop_back_val();
      for (BasicBlock* const next : successors(block)) {
        if (kept.count(next) != 0 || kept.size() >= 8 || !is_cheap(*next)) continue;
        const bool returns = isa<ReturnInst>(next->getTerminator());
        if (!returns && next->getSinglePredecessor() == nullptr) continue;
        has_return |= returns;
        kept.insert(next);
        if (!returns) to_see.push_back(next);
      }
    }
  }
  // Where all of it stays, nothing would lead to the look-up.
  const bool leads_on = any_of(kept, [&](BasicBlock* block) {
    return any_of(successors(block), [&](BasicBlock* next) { return kept.count(next) == 0; });
  });
  if (!has_return || !leads_on) {
    lookup->moveBefore(entry);
  } else {
    for (BasicBlock* const block : kept) {
      Instruction* const terminator = block->getTerminator();
      for (unsigned i = 0; i < terminator->getNumSuccessors(); ++i) {
        BasicBlock* const next = terminator->getSuccessor(i);
        if (kept.count(next) != 0) continue;
        next->removePredecessor(block, true);
        terminator->setSuccessor(i, lookup);
      }
    }
  }
  new UnreachableInst(context_, lookup);
  EliminateUnreachableBlocks(function, nullptr, false);
  lookup->getTerminator()->eraseFromParent();
  return lookup;
}

void Rewriter::fill_front(Function& function, BasicBlock* lookup) {
  Builder build(lookup);
  if (DISubprogram* const subprogram = function.getSubprogram())
    build.SetCurrentDebugLocation(DILocation::get(context_, subprogram->getLine(), 0, subprogram));
  BasicBlock* const probe = BasicBlock::Create(context_, "larder.probe", &function);
  BasicBlock* const found = BasicBlock::Create(context_, "larder.found", &function);
  BasicBlock* const hit = BasicBlock::Create(context_, "larder.hit", &function);
  BasicBlock* const miss = BasicBlock::Create(context_, "larder.miss", &function);
  BasicBlock* const slow = BasicBlock::Create(context_, "larder.slow", &function);
  MDNode* const likely = MDBuilder(context_).createBranchWeights(2000, 1);

  const Key key = read_key(build, function);
  Value* const slots = build.CreateLoad(word_, place_word(build, kSlots), true);
  build.CreateCondBr(build.CreateICmpNE(slots, build.getInt64(0)), probe, slow, likely);

  build.SetInsertPoint(probe);
  const uint64_t words = signature_->key_words + signature_->value_words;
  Value* const shift = build.CreateLoad(word_, place_word(build, kShift));
  Value* const index = build.CreateMul(build.CreateLShr(key.hash, shift), build.getInt64(words));
  Value* const slot = build.CreateInBoundsGEP(word_, build.CreateIntToPtr(slots, words_), index);
  const auto word_at = [&](uint64_t i) {
    return build.CreateLoad(word_, build.CreateConstInBoundsGEP1_64(word_, slot, i), true);
  };
  const auto is_key = [&] {
    Value* difference = nullptr;
    for (size_t i = 0; i < key.words.size(); ++i) {
      Value* const one = build.CreateXor(word_at(i), key.words[i]);
      difference = difference == nullptr ? one : build.CreateOr(difference, one);
    }
    return build.CreateICmpEQ(difference, build.getInt64(0));
  };
  build.CreateCondBr(is_key(), found, miss, likely);

  build.SetInsertPoint(found);
  SmallVector<Value*, 4> values;
  for (uint64_t i = 0; i < signature_->value_words; ++i) values.push_back(word_at(signature_->key_words + i));
  build.CreateCondBr(is_key(), hit, miss, likely);

  build.SetInsertPoint(hit);
  ArrayRef<Value*> rest = values;
  build.CreateRet(from_words(build, function.getReturnType(), rest));

  build.SetInsertPoint(miss);
  tail_call(build, function, *miss_);
  build.SetInsertPoint(slow);
  BasicBlock* const off = BasicBlock::Create(context_, "larder.off", &function);
  BasicBlock* const ask = BasicBlock::Create(context_, "larder.ask", &function);
  build.CreateCondBr(is_still_off(build), off, ask, likely);
  build.SetInsertPoint(off);
  tail_call(build, function, *off_);
  build.SetInsertPoint(ask);
  tail_call(build, function, *slow_);
}

// Counts down; true while the table stays off.
Value* Rewriter::is_still_off(Builder& build) {
  Value* const countdown = place_word(build, kCountdown);
  Value* const left = build.CreateSub(build.CreateLoad(word_, countdown), build.getInt64(1));
  build.CreateStore(left, countdown);
  return build.CreateICmpSGE(left, build.getInt64(0));
}

// In the last copy of a tree's plain body: a call of the first copy while the table is off, else of the
// function.
void Rewriter::count_down_at(CallBase& call, Function& first, Function& function) {
  call.setCalledFunction(&function);
  forget_purity(call);
  if (!isa<CallInst>(call)) return;
  Builder build(&call);
  Instruction* off = nullptr;
  Instruction* on = nullptr;
  SplitBlockAndInsertIfThenElse(is_still_off(build), &call, &off, &on,
                                MDBuilder(context_).createBranchWeights(2000, 1));
  Instruction* const plain = call.clone();
  Instruction* const asked = call.clone();
  plain->insertBefore(off);
  asked->insertBefore(on);
  cast<CallBase>(plain)->setCalledFunction(&first);
  Builder join(&call);
  PHINode* const result = join.CreatePHI(call.getType(), 2);
  result->addIncoming(plain, off->getParent());
  result->addIncoming(asked, on->getParent());
  call.replaceAllUsesWith(result);
  call.eraseFromParent();
}

void Rewriter::fill_slow() {
  Function& function = *slow_;
  BasicBlock* const entry = BasicBlock::Create(context_, "", &function);
  BasicBlock* const off = BasicBlock::Create(context_, "off", &function);
  BasicBlock* const hit = BasicBlock::Create(context_, "hit", &function);
  BasicBlock* const compute = BasicBlock::Create(context_, "compute", &function);
  Builder build(entry);
  Value* const key_memory = build.CreateAlloca(word_, build.getInt64(signature_->key_words));
  Value* const value_memory = build.CreateAlloca(word_, build.getInt64(signature_->value_words));
  const Key key = read_key(build, function);
  for (size_t i = 0; i < key.words.size(); ++i)
    build.CreateStore(key.words[i], build.CreateConstInBoundsGEP1_64(word_, key_memory, i));
  const FunctionCallee callee = module_.getOrInsertFunction("larder_reuse_slow", build.getInt32Ty(), words_,
                                                            words_, word_, words_, words_);
  CallInst* const answer =
      build.CreateCall(callee, {place_pointer(build), site_, key.hash, key_memory, value_memory});
  answer->setDoesNotThrow();
  SwitchInst* const branch = build.CreateSwitch(answer, off, 2);
  branch->addCase(build.getInt32(LARDER_REUSE_HIT), hit);
  branch->addCase(build.getInt32(LARDER_REUSE_COMPUTE), compute);

  build.SetInsertPoint(hit);
  SmallVector<Value*, 4> values;
  for (uint64_t i = 0; i < signature_->value_words; ++i)
    values.push_back(build.CreateLoad(word_, build.CreateConstInBoundsGEP1_64(word_, value_memory, i)));
  ArrayRef<Value*> rest = values;
  build.CreateRet(from_words(build, function.getReturnType(), rest));

  build.SetInsertPoint(compute);
  tail_call(build, function, *miss_);
  build.SetInsertPoint(off);
  tail_call(build, function, *off_);
}

// At the entry of `function`: deep in the stack, memoized frames make way for `low`.
void Rewriter::guard_stack(Function& function, BasicBlock* body, Function& low) {
  BasicBlock* const guard = BasicBlock::Create(context_, "larder.guard", &function, body);
  BasicBlock* const deep = BasicBlock::Create(context_, "larder.deep", &function, body);
  Builder build(guard);
  if (DISubprogram* const subprogram = function.getSubprogram())
    build.SetCurrentDebugLocation(DILocation::get(context_, subprogram->getLine(), 0, subprogram));
  Value* const here = build.CreatePtrToInt(build.CreateAlloca(build.getInt8Ty()), word_);
  Value* const above = build.CreateSub(here, build.CreateLoad(word_, place_word(build, kStackFloor)));
  Value* const is_high = build.CreateICmpULT(above, build.CreateLoad(word_, place_word(build, kStackSpan)));
  build.CreateCondBr(is_high, body, deep, MDBuilder(context_).createBranchWeights(2000, 1));
  build.SetInsertPoint(deep);
  tail_call(build, function, low);
  // Variables of fixed size belong into the entry block.
  SmallVector<AllocaInst*, 8> allocas;
  for (Instruction& instruction : *body)
    if (auto* const alloca = dyn_cast<AllocaInst>(&instruction))
      if (isa<ConstantInt>(alloca->getArraySize())) allocas.push_back(alloca);
  for (AllocaInst* const alloca : allocas) alloca->moveBefore(guard->getTerminator());
}

void Rewriter::fill_miss(Recursion recursion, bool is_recursive) {
  Function& function = *miss_;
  if (recursion == Recursion::none) {
    BasicBlock* const body = BasicBlock::Create(context_, "", &function);
    Builder build(body);
    const Key key = read_key(build, function);
    Value* const before = summary_->may_taint ? build.CreateLoad(word_, taint()) : nullptr;
    SmallVector<Value*, 8> arguments;
    for (Argument& argument : function.args()) arguments.push_back(&argument);
    CallInst* const result = build.CreateCall(off_, arguments);
    result->setCallingConv(off_->getCallingConv());
    result->setAttributes(off_->getAttributes());
    forget_purity(*result);
    ReturnInst* const end = build.CreateRet(result);
    store_unless_tainted(end, key, result, before);
    if (is_recursive || summary_->calls_unknown) guard_stack(function, body, *off_);
    return;
  }
  // Its body is a copy of the function's.
  BasicBlock* const body = &function.getEntryBlock();
  SmallVector<ReturnInst*, 4> returns;
  for (BasicBlock& block : function)
    if (auto* const end = dyn_cast<ReturnInst>(block.getTerminator())) returns.push_back(end);
  BasicBlock* const start = BasicBlock::Create(context_, "larder.start", &function, body);
  Builder build(start);
  if (DISubprogram* const subprogram = function.getSubprogram())
    build.SetCurrentDebugLocation(DILocation::get(context_, subprogram->getLine(), 0, subprogram));
  const Key key = read_key(build, function);
  Value* const before = summary_->may_taint ? build.CreateLoad(word_, taint()) : nullptr;
  build.CreateBr(body);
  for (ReturnInst* const end : returns) store_unless_tainted(end, key, end->getReturnValue(), before);
  for (Instruction& instruction : make_early_inc_range(*body))
    if (auto* const alloca = dyn_cast<AllocaInst>(&instruction))
      if (isa<ConstantInt>(alloca->getArraySize())) alloca->moveBefore(&*start->getFirstInsertionPt());
  guard_stack(function, start, recursion == Recursion::linear ? *outer_ : *off_);
}

void Rewriter::fill_outer() {
  Builder build(BasicBlock::Create(context_, "", outer_));
  const Key key = read_key(build, *outer_);
  Value* const before = summary_->may_taint ? build.CreateLoad(word_, taint()) : nullptr;
  SmallVector<Value*, 8> arguments;
  for (Argument& argument : outer_->args()) arguments.push_back(&argument);
  CallInst* const result = build.CreateCall(off_, arguments);
  result->setCallingConv(off_->getCallingConv());
  result->setAttributes(off_->getAttributes());
  forget_purity(*result);
  ReturnInst* const end = build.CreateRet(result);
  store_unless_tainted(end, key, result, before);
}

SmallVector<CallBase*, 4> Rewriter::self_calls(Function& in, Function& callee) {
  SmallVector<CallBase*, 4> calls;
  for (Instruction& instruction : instructions(in))
    if (auto* const call = dyn_cast<CallBase>(&instruction))
      if (call->getCalledFunction() == &callee) calls.push_back(call);
  return calls;
}

Constant* Rewriter::make_site(Function& function, uint64_t cost, uint64_t flags) {
  Constant* const text = ConstantDataArray::getString(context_, name_at_start(function));
  auto* const name = new GlobalVariable(module_, text->getType(), true, GlobalValue::PrivateLinkage, text,
                                        "larder_reuse_name");
  reuse::TableChoice choice;
  choice.replacement = static_cast<reuse::Replacement>(options_.strategy);
  const uint64_t print = fingerprint_at_start(function);
  const reuse::ProfileLine* const known = options_.profile_of(name_at_start(function), print);
  if (known != nullptr) {
    const reuse::TableChoice best =
        reuse::choose_table(*known, signature_->key_words + signature_->value_words);
    if (best.pays && options_.strategy == 0) choice = best;
    if (best.pays) flags |= LARDER_REUSE_ALWAYS;
    static const char* const kNames[] = {"adaptive", "round_robin", "lru_vector", "lru_hash"};
    const uint64_t entries = choice.entries_max != 0 ? choice.entries_max : uint64_t{1} << choice.log2_start;
    remark_analysis(function, "the profile chooses " + Twine(kNames[static_cast<int>(choice.replacement)]) +
                                  " with " + Twine(entries) + " entries");
  }
  const auto number = [&](uint64_t value) { return ConstantInt::get(word_, value); };
  Constant* const fields[] = {number(LARDER_REUSE_VERSION),
                              number(signature_->key_words),
                              number(signature_->value_words),
                              number(flags),
                              number(cost),
                              ConstantExpr::getPtrToInt(name, word_),
                              number(choice.log2_start),
                              number(choice.entries_max),
                              number(static_cast<uint64_t>(choice.replacement)),
                              number(print)};
  auto* const type = ArrayType::get(word_, std::size(fields));
  auto* const site = new GlobalVariable(module_, type, true, GlobalValue::InternalLinkage,
                                        ConstantArray::get(type, fields), "larder_reuse_site");
  site->setAlignment(Align(8));
  Constant* const pointer = ConstantExpr::getPointerCast(site, words_);
  sites_.push_back(pointer);
  return pointer;
}

void Rewriter::rewrite(Function& function, const Summary& summary, const Signature& signature,
                       uint64_t cost) {
  summary_ = &summary;
  signature_ = &signature;
  const Recursion recursion = recursion_of(function);
  uint64_t flags = signature.has_floats ? LARDER_REUSE_FOLD : 0;
  if (recursion == Recursion::linear) flags |= LARDER_REUSE_LINEAR;
  if (recursion == Recursion::tree || (recursion == Recursion::none && summary.is_recursive))
    flags |= LARDER_REUSE_TREE;
  else if (recursion == Recursion::none && summary.calls_unknown)
    flags |= LARDER_REUSE_REENTERED;
  if (options_.is_recording) flags |= LARDER_REUSE_PROFILE;
  site_ = make_site(function, cost, flags);
  auto* const place_type = ArrayType::get(word_, kPlaceWords);
  place_ = new GlobalVariable(module_, place_type, false, GlobalValue::InternalLinkage,
                              ConstantAggregateZero::get(place_type), "larder_reuse_place", nullptr,
                              GlobalValue::GeneralDynamicTLSModel);
  place_->setAlignment(Align(64));

  const std::string name = function.getName().str();
  Function* plain = module_.getFunction(name + kPlainSuffix);
  if (plain != nullptr && plain->getFunctionType() != function.getFunctionType()) plain = nullptr;
  function.removeFnAttr("disable-tail-calls");
  const auto copy = [&](Function& of, const Twine& as) {
    ValueToValueMapTy values;
    Function* const made = CloneFunction(&of, values);
    made->setName(as);
    made->setLinkage(GlobalValue::InternalLinkage);
    made->setVisibility(GlobalValue::DefaultVisibility);
    made->setDSOLocal(true);
    made->setComdat(nullptr);
    made->removeFnAttr(kCandidate);
    made->addFnAttr(kDone);
    return made;
  };
  if (recursion == Recursion::none) {
    off_ = copy(function, name + kPlainSuffix);
    if (summary.is_recursive) forget_purity(*off_);
  } else {
    if (plain == nullptr) {
      plain = copy(function, name + kPlainSuffix);
      for (CallBase* const call : self_calls(*plain, function)) call->setCalledFunction(plain);
    }
    off_ = plain;
    if (recursion == Recursion::tree) {
      unsigned size = 0;
      for (Instruction& instruction : instructions(*plain)) size += !isa<DbgInfoIntrinsic>(instruction);
      const unsigned count = size > kStrideSizeMax ? 1 : kStride;
      SmallVector<Function*, kStride> levels{plain};
      while (levels.size() < count) levels.push_back(copy(*plain, name + kPlainSuffix));
      // Small bodies that call each other all the time: across cache lines they lose what the stride saves.
      if (count > 1)
        for (Function* const level : levels) level->setAlignment(Align(64));
      for (unsigned i = 0; i < count; ++i) {
        bool is_first = true;
        for (CallBase* const call : self_calls(*levels[i], *plain)) {
          if (i + 1 == count && is_first) {
            count_down_at(*call, *levels[0], function);
            is_first = false;
            continue;
          }
          call->setCalledFunction(levels[(i + 1) % count]);
          forget_purity(*call);
        }
        forget_purity(*levels[i]);
      }
    }
  }
  slow_ = sibling(function, ".larder.slow");
  slow_->addFnAttr(Attribute::Cold);
  outer_ = recursion == Recursion::linear ? sibling(function, ".larder.outer") : nullptr;
  miss_ = recursion == Recursion::none ? sibling(function, ".larder.miss")
                                       : copy(function, name + ".larder.miss");
  forget_purity(*miss_);
  for (CallBase* const call : self_calls(*miss_, function)) forget_purity(*call);

  BasicBlock* const lookup = peel(function);
  fill_front(function, lookup);
  fill_slow();
  if (outer_ != nullptr) fill_outer();
  fill_miss(recursion, summary.is_recursive);
  function.addFnAttr(kDone);
  function.removeFnAttr(kCandidate);
  if (function.hasPersonalityFn() && !is_contained(successors(&function.getEntryBlock()), nullptr))
    function.setPersonalityFn(nullptr);
}

void Rewriter::note_taints(const Summary& summary) {
  const auto add = [&](Builder& build, Value* by) {
    build.CreateStore(build.CreateAdd(build.CreateLoad(word_, taint()), by), taint());
  };
  for (Instruction* const instruction : summary.taints) {
    Instruction* before = instruction;
    if (isa<LandingPadInst>(before)) before = before->getNextNode();
    Builder build(before);
    add(build, build.getInt64(1));
  }
  for (CallBase* const call : summary.math) {
    Instruction* after = call->getNextNode();
    if (auto* const invoke = dyn_cast<InvokeInst>(call))
      after = &*invoke->getNormalDest()->getFirstInsertionPt();
    if (after == nullptr) continue;
    Builder build(after);
    // Finite, not zero, not subnormal: exponent neither all zeroes nor all ones.
    Type* const type = call->getType();
    const bool is_double = type->isDoubleTy();
    Type* const bits = build.getIntNTy(is_double ? 64 : 32);
    const uint64_t low = is_double ? uint64_t{0x7ff} << 52 : uint64_t{0xff} << 23;
    const uint64_t one = is_double ? uint64_t{1} << 52 : uint64_t{1} << 23;
    Value* const exponent =
        build.CreateAnd(build.CreateBitCast(build.CreateFreeze(call), bits), ConstantInt::get(bits, low));
    Value* const is_odd = build.CreateICmpUGE(build.CreateSub(exponent, ConstantInt::get(bits, one)),
                                              ConstantInt::get(bits, low - one));
    add(build, build.CreateZExt(is_odd, word_));
  }
}

// What was concluded from purity is not true of functions that now have tables, nor of who calls them: a
// value read from a table before a call could be taken to be there still after it.
void Rewriter::finish() {
  SmallVector<Function*, 16> to_see;
  SmallPtrSet<Function*, 32> seen;
  for (Function& function : module_)
    if (function.hasFnAttribute(kDone) && !function.isDeclaration()) to_see.push_back(&function);
  while (!to_see.empty()) {
    Function* const function = to_see.pop_back_val();
    if (!seen.insert(function).second) continue;
    forget_purity(*function);
    for (User* const user : function->users()) {
      auto* const call = dyn_cast<CallBase>(user);
      if (call == nullptr || call->getCalledFunction() != function) continue;
      forget_purity(*call);
      to_see.push_back(call->getFunction());
    }
  }
  if (sites_.empty()) return;
  // Unloaded modules take their thread-local places along: tell the library.
  Type* const nothing = Type::getVoidTy(context_);
  Function* const end = Function::Create(FunctionType::get(nothing, false), GlobalValue::InternalLinkage,
                                         "larder_reuse_end", module_);
  end->addFnAttr(kDone);
  Builder build(BasicBlock::Create(context_, "", end));
  const FunctionCallee forget = module_.getOrInsertFunction("larder_reuse_forget", nothing, words_);
  for (Constant* const site : sites_) build.CreateCall(forget, {site});
  build.CreateRetVoid();
  appendToGlobalDtors(module_, end, 65535);
}

}  // namespace

bool rewrite(Module& module, const Options& options, const Purity& purity) {
  struct Chosen {
    Function* function;
    Signature signature;
    uint64_t cost;
  };
  SmallVector<Chosen, 16> chosen;
  SmallVector<GlobalValue*, 16> released;
  SmallVector<Function*, 16> unused;
  for (Function& function : module) {
    if (starts_with(StringRef(function.getName()).take_back(strlen(kPlainSuffix)), kPlainSuffix))
      released.push_back(&function);
    if (!function.hasFnAttribute(kCandidate)) continue;
    released.push_back(&function);
    if (function.isDeclaration()) continue;
    uint64_t cost = 0;
    (void)function.getFnAttribute(kCandidate).getValueAsString().getAsInteger(10, cost);
    const Summary& summary = purity.of(function);
    Signature signature;
    std::string reason = why_not(function, options);
    if (module.getNamedGlobal("__llvm_profile_raw_version") != nullptr)
      reason = "the build records an execution profile";
    if (reason.empty() && !summary.is_clean) reason = summary.reason;
    if (reason.empty()) reason = read_signature(function, summary, signature);
    if (reason.empty()) {
      chosen.push_back({&function, signature, cost});
    } else {
      remark_missed(function, reason, summary.culprit);
    }
  }
  release(module, released);
  for (Function& function : module)
    if (function.hasLocalLinkage() && function.use_empty() &&
        (function.hasFnAttribute(kCandidate) || is_contained(released, &function)) &&
        none_of(chosen, [&](const Chosen& one) {
          return one.function == &function ||
                 one.function->getName().str() + kPlainSuffix == function.getName();
        }))
      unused.push_back(&function);
  Rewriter rewriter(module, options);
  if (!chosen.empty()) {
    // Taints are noted in every function that a memoized one may reach, once.
    SmallPtrSet<const Function*, 16> noted;
    SmallVector<Function*, 16> to_see;
    for (const Chosen& one : chosen) {
      to_see.push_back(one.function);
      if (Function* const plain = module.getFunction(one.function->getName().str() + kPlainSuffix))
        to_see.push_back(plain);
    }
    while (!to_see.empty()) {
      Function* const function = to_see.pop_back_val();
      if (!noted.insert(function).second) continue;
      const Summary& summary = purity.of(*function);
      rewriter.note_taints(summary);
      to_see.append(summary.callees.begin(), summary.callees.end());
    }
    for (const Chosen& one : chosen) {
      const Summary& summary = purity.of(*one.function);
      remark_analysis(*one.function, Twine(one.cost) + " cycles estimated, key of " +
                                         Twine(one.signature.key_words) + " words, value of " +
                                         Twine(one.signature.value_words));
      remark_memoized(*one.function, summary.may_taint ? ", where it stays pure" : "");
      rewriter.rewrite(*one.function, summary, one.signature, one.cost);
    }
  }
  for (Function* const function : unused) function->eraseFromParent();
  rewriter.finish();
  if (module.getModuleFlag(kModuleFlag) == nullptr) module.addModuleFlag(Module::Max, kModuleFlag, 1);
  return true;
}

}  // namespace larder::plugin
