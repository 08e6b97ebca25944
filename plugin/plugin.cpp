// The plugin's entry: marks at the pipeline's start, rewrites at its end.
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/IR/PassManager.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Passes/PassPlugin.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

#if LLVM_VERSION_MAJOR >= 17
#include <llvm/TargetParser/Triple.h>
#else
#include <llvm/ADT/Triple.h>
#endif

#include "mark.hpp"
#include "options.hpp"
#include "purity.hpp"
#include "rewrite.hpp"
#include "shape.hpp"

namespace larder::plugin {

using namespace llvm;

namespace {

Purity::Library library_of(Module& module, ModuleAnalysisManager& analyses) {
  auto& functions = analyses.getResult<FunctionAnalysisManagerModuleProxy>(module).getManager();
  return [&functions](Function& function) -> const TargetLibraryInfo& {
    return functions.getResult<TargetLibraryAnalysis>(function);
  };
}

// A module that has been through the plugin (compiled with it, now linked with it again) is left as it is.
bool is_done(const Module& module) {
  return module.getModuleFlag(kModuleFlag) != nullptr;
}

// The library is built for this machine alone; a compilation for another one, or for a graphics card beside
// this one, goes on as if the plugin were not there.
bool is_for_this_machine(const Module& module) {
  const Triple target(module.getTargetTriple());
  return target.getArch() == Triple(LLVM_HOST_TRIPLE).getArch() && target.isOSLinux() &&
         module.getDataLayout().getPointerSizeInBits() == 64;
}

bool is_ours(const Module& module) {
  return !is_done(module) && is_for_this_machine(module);
}

struct MarkPass : PassInfoMixin<MarkPass> {
  PreservedAnalyses run(Module& module, ModuleAnalysisManager& analyses) {
    Options options;
    if (!is_ours(module)) return PreservedAnalyses::all();
    if (!read_options(module, options)) {
      module.addModuleFlag(Module::Max, kModuleFlag, 1);  // what is wrong is said once
      return PreservedAnalyses::all();
    }
    read_annotations(module);
    mark(module, options, Purity(module, options, library_of(module, analyses), true));
    return PreservedAnalyses::none();
  }
  static bool isRequired() { return true; }
};

struct RewritePass : PassInfoMixin<RewritePass> {
  PreservedAnalyses run(Module& module, ModuleAnalysisManager& analyses) {
    Options options;
    if (!is_ours(module) || !read_options(module, options)) return PreservedAnalyses::all();
    rewrite(module, options, Purity(module, options, library_of(module, analyses), false));
    return PreservedAnalyses::none();
  }
  static bool isRequired() { return true; }
};

void add_start(ModulePassManager& passes, OptimizationLevel level) {
  if (level == OptimizationLevel::O0) return;
  FunctionPassManager simplify;
#if LLVM_VERSION_MAJOR >= 16
  simplify.addPass(SROAPass(SROAOptions::ModifyCFG));
#else
  simplify.addPass(SROAPass());
#endif
  simplify.addPass(EarlyCSEPass());
  simplify.addPass(SimplifyCFGPass());
  passes.addPass(createModuleToFunctionPassAdaptor(std::move(simplify)));
  passes.addPass(MarkPass());
}

void register_passes(PassBuilder& builder) {
  builder.registerPipelineStartEPCallback(
      [](ModulePassManager& passes, OptimizationLevel level) { add_start(passes, level); });
  builder.registerOptimizerLastEPCallback([](ModulePassManager& passes, OptimizationLevel level, auto...) {
    if (level != OptimizationLevel::O0) passes.addPass(RewritePass());
  });
  // For tests: opt -passes=larder-reuse-mark,larder-reuse-rewrite.
  builder.registerPipelineParsingCallback(
      [](StringRef name, ModulePassManager& passes, ArrayRef<PassBuilder::PipelineElement>) {
        if (name == "larder-reuse-mark") return passes.addPass(MarkPass()), true;
        if (name == "larder-reuse-rewrite") return passes.addPass(RewritePass()), true;
        return false;
      });
}

}  // namespace
}  // namespace larder::plugin

extern "C" LLVM_ATTRIBUTE_WEAK __attribute__((visibility("default"))) llvm::PassPluginLibraryInfo
llvmGetPassPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "larder-reuse", "1", larder::plugin::register_passes};
}
