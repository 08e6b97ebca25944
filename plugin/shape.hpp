// What a function looks like from outside (its key and its value) and what it costs.
#pragma once

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/Function.h>

#include <cstdint>
#include <string>

#include "options.hpp"
#include "purity.hpp"

namespace larder::plugin {

enum class Recursion { none, linear, tree };

// Names that the plugin gives to attributes of functions.
inline constexpr char kCandidate[] = "larder-reuse-candidate";  // marked at the start; the value is its cost
inline constexpr char kPrint[] = "larder-reuse-print";          // fingerprint of the body at the start
inline constexpr char kName[] = "larder-reuse-name";            // as the source has it: copies have others
inline constexpr char kDone[] = "larder-reuse-done";            // never looked at again
inline constexpr char kModuleFlag[] = "larder-reuse";
inline constexpr char kPlainSuffix[] = ".larder.plain";

// Bytes behind a pointer argument that join the key; 0: the pointer is not read through.
struct Pointee {
  const llvm::Argument* argument;
  uint64_t bytes;
};

struct Signature {
  llvm::SmallVector<Pointee, 4> pointees;
  uint64_t key_words = 0;
  uint64_t value_words = 0;
  bool has_floats = false;
};

// Empty when all arguments and the result have bits that a table can hold; else what is in the way.
std::string read_signature(const llvm::Function& function, const Summary& summary, Signature& signature);

// Empty when the function may be memoized, whatever its body does.
std::string why_not(const llvm::Function& function, const Options& options);

Recursion recursion_of(const llvm::Function& function);

// Cycles, very roughly: loops count eight times, branches half.
uint64_t estimate(llvm::Function& function, const Purity& purity);

// Of the body, stable between compilations of the same source: taken at the pipeline's start.
uint64_t fingerprint(const llvm::Function& function);
uint64_t fingerprint_at_start(const llvm::Function& function);
llvm::StringRef name_at_start(const llvm::Function& function);

std::string readable(llvm::StringRef mangled);

}  // namespace larder::plugin
