"""What each soundness rule rests on, and which test must fail without it: see mutate.py.

A mutation is (rule, what is taken away, edits, tests); an edit is (file, text that is there once, what replaces it).
Tests are sources beside this file, `generate` for random programs, or tests of the run-time library (Suite.Name).
"""

PURITY, MARK, REWRITE, SHAPE, PLUGIN = "purity.cpp", "mark.cpp", "rewrite.cpp", "shape.cpp", "plugin.cpp"
TABLE, THREADS = "runtime/table.cpp", "runtime/threads.cpp"


def without(file, text):
    return (file, text, "")


def never(file, condition):
    """The condition is taken for false, whatever it says."""
    return (file, f"if ({condition})", f"if (false && ({condition}))")


MUTATIONS = [
    ("1", "a global variable joins the key or is in the way",
     [(PURITY, "      case Place::global:\n        break;\n      case Place::unknown:\n        return \"reads memory",
       "      case Place::global:\n        return nullptr;\n      case Place::unknown:\n        return \"reads memory")],
     ["rule_01_globals_and_tls.c"]),
    ("1", "what is passed by value is read", [without(PURITY, "    if (const char* const reason = taint_of_copies(call)) return reason;\n")],
     ["rule_01_globals_by_value.c"]),
    ("1", "globals=off", [never(PURITY, "!purity_.options_.has_globals")], ["rule_01_globals_switched_off.c"]),
    ("2", "writes", [(PURITY, 'return "writes memory that is not its own";', "return nullptr;")], ["rule_02_effects.c"]),
    ("2", "assembly", [(PURITY, 'if (call.isInlineAsm()) return "contains assembly";',
                        "if (call.isInlineAsm()) return nullptr;")], ["rule_02_effects.c"]),
    ("2", "calls through pointers", [(PURITY, 'if (callee == nullptr) return "calls through a pointer";',
                                      "if (callee == nullptr) return nullptr;")], ["rule_02_effects.c"]),
    ("2", "volatile objects", [without(PURITY, 'if (load->isVolatile()) return "reads a volatile object";'),
                               without(PURITY, 'if (store->isVolatile()) return "writes a volatile object";')],
     ["rule_02_effects.c"]),
    ("2", "atomic objects", [without(PURITY, 'if (load->isAtomic()) return "reads an atomic object";'),
                             without(PURITY, 'if (store->isAtomic()) return "writes an atomic object";')],
     ["rule_02_effects.c"]),
    ("3", "evaluations that came through an impure path are not stored",
     [without(REWRITE, "      rewriter.note_taints(summary);\n")], ["rule_03_cold_impure_paths.cpp"]),
    ("4", "a result of the mathematics library is stored only if it is ordinary",
     [without(REWRITE, "    add(build, build.CreateZExt(is_odd, word_));\n")], ["rule_04_errno.c"]),
    ("5", "strict floating point",
     [without(PURITY, 'if (function_.hasFnAttribute(Attribute::StrictFP)) return "depends on the floating-point environment";'),
      without(PURITY, 'if (call.hasFnAttr(Attribute::StrictFP)) return "depends on the floating-point environment";'),
      without(PURITY, 'if (isa<ConstrainedFPIntrinsic>(call) || rounds_as_set(call))\n      return "depends on the floating-point environment";'),
      (SHAPE, "Attribute::ReturnsTwice, Attribute::StrictFP,", "Attribute::ReturnsTwice,"),
      (PURITY, "return isa<DbgInfoIntrinsic>(call) || call.doesNotAccessMemory();", "return true;")],
     ["rule_05_floating_point_environment.c"]),
    ("5", "a source that uses the environment", [never(PURITY, "purity_.has_fp_environment_ && computes_floats(instruction)")],
     ["rule_05_environment_without_a_pragma.c"]),
    ("5", "rounding by the mode", [(PURITY, "isa<ConstrainedFPIntrinsic>(call) || rounds_as_set(call)", "isa<ConstrainedFPIntrinsic>(call)")],
     ["rule_05_rounding_by_the_mode.c"]),
    ("6", "keys are bits, not values",
     [(REWRITE, "    value = build.CreateBitCast(value, build.getIntNTy(bits));",
       "    if (type->isFloatingPointTy()) value = build.CreateFAdd(value, ConstantFP::get(type, 0.0));\n"
       "    value = build.CreateBitCast(value, build.getIntNTy(bits));")], ["rule_06_bits_not_values.c"]),
    ("6", "all 80 bits", [(REWRITE, "words.push_back(build.CreateTrunc(build.CreateLShr(wide, 64), word_));",
                           "words.push_back(build.getInt64(0));")], ["rule_06_long_double.c"]),
    ("7", "undefined bits are frozen",
     [without(REWRITE, "  value = build.CreateFreeze(value);\n"),
      (REWRITE, "to_word(build, build.CreateFreeze(&argument))", "to_word(build, &argument)"),
      (REWRITE, "build.CreateZExt(build.CreateFreeze(word), word_)", "build.CreateZExt(word, word_)")],
     ["rule_07_padding_is_frozen.c"]),
    ("8", "the extent of what is read is known",
     [without(SHAPE, 'if (bytes == 0) return "it is not known how much it reads behind a pointer";'),
      never(SHAPE, "!is_read_within(argument, bytes, is_read)")], ["rule_08_pointers.cpp"]),
    ("8", "nothing is read outside of that extent",
     [without(SHAPE, "if (offset < 0 || static_cast<uint64_t>(offset) + size > bytes) return false;")],
     ["rule_08_pointers.cpp"]),
    ("8", "nothing is written behind a pointer",
     [without(SHAPE, 'if (summary.writes_args) return "it may write behind a pointer";')], ["rule_08_pointers.cpp"]),
    ("8", "returned addresses", [without(SHAPE, 'if (function.getReturnType()->isPointerTy()) return "it returns an address";')],
     ["rule_08_pointers.cpp"]),
    ("9", "addresses are no numbers", [(PURITY, 'is_address_harmless(*cast) ? nullptr : "uses an address as a number"', "nullptr")],
     ["rule_09_addresses.c"]),
    ("9", "addresses are not compared", [(PURITY, 'is_comparison_harmless(*comparison) ? nullptr : "compares addresses"', "nullptr")],
     ["rule_09_addresses.c"]),
    ("10", "variable arguments", [never(SHAPE, "function.isVarArg()")], ["rule_10_what_is_left_alone.cpp"]),
    ("10", "optnone", [(SHAPE, "{Attribute::OptimizeNone, Attribute::Naked,", "{Attribute::Naked,")],
     ["rule_10_what_is_left_alone.cpp"]),
    ("10", "setjmp", [without(PURITY, 'if (call.hasFnAttr(Attribute::ReturnsTwice)) return "may return twice";'),
                      (PURITY, 'return call.doesNotAccessMemory() ? "calls a function of which only a promise is known"',
                       'if (call.hasFnAttr(Attribute::ReturnsTwice)) return nullptr;\n'
                       '    return call.doesNotAccessMemory() ? "calls a function of which only a promise is known"')],
     ["rule_10_what_is_left_alone.cpp"]),
    ("10", "catch clauses", [never(SHAPE, "pad->getNumClauses() != 0"),
                             (PURITY, 'if (isa<LandingPadInst>(instruction)) return "catches an exception";',
                              "if (isa<LandingPadInst>(instruction)) return nullptr;")],
     ["rule_10_what_is_left_alone.cpp"]),
    ("11", "nothing is stored before it returned",
     [(REWRITE, "    CallInst* const result = build.CreateCall(off_, arguments);\n    result->setCallingConv(off_->getCallingConv());\n"
       "    result->setAttributes(off_->getAttributes());\n    forget_purity(*result);\n    ReturnInst* const end = build.CreateRet(result);\n"
       "    store_unless_tainted(end, key, result, before);\n    if (is_recursive ||",
       "    CallInst* const result = build.CreateCall(off_, arguments);\n    result->setCallingConv(off_->getCallingConv());\n"
       "    result->setAttributes(off_->getAttributes());\n    forget_purity(*result);\n    ReturnInst* const end = build.CreateRet(result);\n"
       "    put(result, key, Constant::getNullValue(function.getReturnType()));\n"
       "    store_unless_tainted(end, key, result, before);\n    if (is_recursive ||")],
     ["rule_11_throws.cpp"]),
    ("12", "that it returns need not be known",
     [(SHAPE, '  if (function.isVarArg())',
       '  if (!function.hasFnAttribute(Attribute::WillReturn)) return "it may not return";\n  if (function.isVarArg())')],
     ["rule_12_endless.c"]),
    ("13", "what may be replaced", [never(SHAPE, "function.isInterposable()"), never(PURITY, "callee->isInterposable()")],
     ["rule_13_replaceable.cpp", "rule_13_semantic_interposition.c"]),
    ("13", "a copy of inline functions", [(MARK, "return !function.isDeclaration() && !function.hasExactDefinition()", "return false && !function.hasExactDefinition()")], ["rule_13_replaceable.cpp"]),
    ("14", "no longer called pure", [(REWRITE, "    forget_purity(*function);\n    for (User* const user : function->users())",
                                      "    for (User* const user : function->users())"),
                                     (REWRITE, "  forget_purity(*made);\n  made->addFnAttr(kDone);", "  made->addFnAttr(kDone);")],
     ["rule_14_no_longer_pure.c"]),
    ("15", "pure until the last pass", [(PLUGIN, "  passes.addPass(MarkPass());\n}", "  passes.addPass(MarkPass());\n  passes.addPass(RewritePass());\n}")],
     ["rule_15_callers_keep_what_they_had.c"]),
    ("16", "candidates are not inlined", [without(MARK, "    function->addFnAttr(Attribute::NoInline);\n")],
     ["rule_16_candidates_survive.c"]),
    ("16", "candidates do not become loops", [without(MARK, '    function->addFnAttr("disable-tail-calls", "true");\n')],
     ["rule_16_candidates_survive.c"]),
    ("17", "a table per thread", [(REWRITE, 'ConstantAggregateZero::get(place_type), "larder_reuse_place", nullptr,\n'
                                   "                              GlobalValue::GeneralDynamicTLSModel);",
                                   'ConstantAggregateZero::get(place_type), "larder_reuse_place", nullptr,\n'
                                   "                              GlobalValue::NotThreadLocal);")],
     ["rule_17_threads.c"]),
    ("18", "the key is read again", [(REWRITE, "  build.CreateCondBr(is_key(), hit, miss, likely);\n\n  build.SetInsertPoint(hit);",
                                      "  build.CreateBr(hit);\n\n  build.SetInsertPoint(hit);")],
     ["rule_18_signal_handlers.c"]),
    ("19", "while slots are being written nobody grows them",
     [without(TABLE, "  if (place->busy != 0) return LARDER_REUSE_LEAVE;\n")],
     ["ReuseTable.IsToldToWorkWithoutWhileAStoreIsUnderWay"]),
    ("20", "threads give their tables back", [(THREADS, "has_key = pthread_key_create(&end_key, end_thread) == 0;",
                                               "has_key = pthread_key_create(&end_key, nullptr) == 0;")],
     ["ReuseTable.FreesWhatAThreadHadWhenItEnds"]),
    ("21", "deep in the stack the plain body runs",
     [(REWRITE, "  guard_stack(function, start, recursion == Recursion::linear ? *outer_ : *off_);\n", "")],
     ["rule_21_deep_recursion.c"]),
    ("21", "so it is for what comes back by way of the unknown",
     [(REWRITE, "if (is_recursive || summary_->calls_unknown) guard_stack", "if (is_recursive) guard_stack")],
     ["rule_21_reentered.c"]),
    ("22", "off under sanitizers", [(SHAPE, "if (!options.has_sanitizers && function.hasFnAttribute(kind))", "if (false)")],
     ["rule_22_sanitizers.c"]),
    ("22", "off where calls are counted", [(SHAPE, '    if (function.hasFnAttribute(name)) return "its calls are counted by a tool";',
                                            "    (void)name;")],
     ["rule_22_instrumented.c"]),
    ("23", "only once", [without(REWRITE, "  if (module.getModuleFlag(kModuleFlag) == nullptr) module.addModuleFlag(Module::Max, kModuleFlag, 1);\n")],
     ["rule_23_only_once.c"]),
    ("23", "off where a profile is recorded", [never(REWRITE, 'module.getNamedGlobal("__llvm_profile_raw_version") != nullptr')],
     ["rule_23_profile_generate.c"]),
    ("24", "rewritten code has places in the source",
     [(REWRITE, "  Builder build(lookup);\n  if (DISubprogram* const subprogram = function.getSubprogram())\n"
       "    build.SetCurrentDebugLocation(", "  Builder build(lookup);\n  if (DISubprogram* const subprogram = nullptr)\n"
       "    build.SetCurrentDebugLocation(")], ["rule_24_debug_information.c"]),
    ("25", "the optimiser is told of no call that it may make early",
     [(MARK, "    function->addFnAttr(Attribute::NoInline);\n",
       "    function->addFnAttr(Attribute::NoInline);\n    function->addFnAttr(Attribute::Speculatable);\n"
       "    function->addFnAttr(Attribute::WillReturn);\n    function->setDoesNotAccessMemory();\n    function->setDoesNotThrow();\n")],
     ["rule_25_nothing_is_executed_early.c"]),
    ("26", "clocks and chance", [(PURITY, '    return call.doesNotAccessMemory() ? "calls a function of which only a promise is known"\n'
                                  '                                      : "calls a function whose body is not known";', "    return nullptr;"),
                                 (PURITY, "return isa<DbgInfoIntrinsic>(call) || call.doesNotAccessMemory();", "return true;")],
     ["rule_26_time_and_chance.c"]),
    ("27", "annotations", [never(SHAPE, 'function.hasFnAttribute("larder-noreuse")')], ["rule_27_annotations_and_lists.c"]),
    ("27", "lists", [never(SHAPE, "options.denied.contains(function.getName())"),
                     never(SHAPE, "options.denied.contains(name) || options.denied.contains(StringRef(name).split('(').first)")],
     ["rule_27_annotations_and_lists.c"]),
    ("28", "values are bits: all words of a key count",
     [(TABLE, "  if (is_equal(slot, key, keys)) {\n    ++table.hits;", "  if (slot[0] == key[0]) {\n    ++table.hits;")], ["generate"]),
]
