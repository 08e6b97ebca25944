#include "larder/compiler_options.hpp"

#include <gtest/gtest.h>

#include "larder/opencl.hpp"

namespace larder {
namespace {

std::string text(std::string_view options) {
  return OpenclApi::canonicalise(options).text;
}

TEST(OpenclOptions, BlanksBetweenWordsDecideNothing) {
  EXPECT_EQ(text("  -cl-mad-enable \t -DA=2\n"), "-cl-mad-enable -DA=2");
  EXPECT_EQ(text(""), "");
}

TEST(OpenclOptions, QuotedBlanksStay) {
  EXPECT_EQ(text("-DA=\"1  2\"  -w"), "-DA=\"1  2\" -w");
}

TEST(OpenclOptions, DefinesAreOneWord) {
  EXPECT_EQ(text("-D A=2"), text("-DA=2"));
  EXPECT_EQ(text("-D A"), "-DA");
  EXPECT_EQ(text("-DA=1"), "-DA");
  EXPECT_NE(text("-DA=11"), text("-DA"));
  EXPECT_NE(text("-DA="), text("-DA"));
  EXPECT_EQ(text("-DF(x)=x=1"), "-DF(x)=x=1");
}

TEST(OpenclOptions, IncludeFoldersAreOneWord) {
  EXPECT_EQ(text("-I a -I b"), "-Ia -Ib");
  EXPECT_NE(text("-Ia -Ib"), text("-Ib -Ia"));
}

TEST(OpenclOptions, WhatIsSaidTwiceIsSaidOnce) {
  for (const std::string option :
       {"-w", "-Werror", "-cl-single-precision-constant", "-cl-denorms-are-zero",
        "-cl-fp32-correctly-rounded-divide-sqrt", "-cl-opt-disable", "-cl-strict-aliasing",
        "-cl-uniform-work-group-size", "-cl-no-subgroup-ifp", "-cl-mad-enable", "-cl-no-signed-zeros",
        "-cl-unsafe-math-optimizations", "-cl-finite-math-only", "-cl-fast-relaxed-math",
        "-cl-kernel-arg-info"}) {
    EXPECT_EQ(text(option + " -DX " + option), option + " -DX");
  }
}

TEST(OpenclOptions, TheLastStandardWinsSoEachStays) {
  EXPECT_EQ(text("-cl-std=CL1.2 -cl-std=CL2.0 -cl-std=CL1.2"), "-cl-std=CL1.2 -cl-std=CL2.0 -cl-std=CL1.2");
}

TEST(OpenclOptions, WhatNoRuleKnowsStaysAsItIs) {
  EXPECT_EQ(text("-vendor x -vendor x"), "-vendor x -vendor x");
}

TEST(OpenclOptions, OrderCounts) {
  EXPECT_NE(text("-DA -UA"), text("-UA -DA"));
  EXPECT_NE(text("-w -cl-mad-enable"), text("-cl-mad-enable -w"));
}

TEST(OpenclOptions, SideEffectsForbidKeeping) {
  for (const std::string option :
       {"-o x", "-MD", "-s x.cl", "-save-temps=d", "--save-temps", "-cl-intel-dump-x", "-dump-opt-llvm=f",
        "-fdump-record", "-ftime-report", "-fsave-optimization-record", "-serialize-diagnostics f",
        "--serialize-diagnostics f", "-fmodules", "-fplugin=x", "-fpass-plugin=x", "-load x", "@file"}) {
    EXPECT_NE(OpenclApi::canonicalise(option).why_not, "") << option;
  }
  EXPECT_EQ(OpenclApi::canonicalise("-cl-std=CL1.2 -DA -Ib -w -x y").why_not, "");
}

TEST(OpenclOptions, FilesThatAreReadAreTold) {
  for (const std::string option : {"-include x.h", "-includex.h", "-imacros x.h", "-include-pch x"}) {
    EXPECT_TRUE(OpenclApi::canonicalise(option).reads_files) << option;
  }
  EXPECT_FALSE(OpenclApi::canonicalise("-I a").reads_files);
}

}  // namespace
}  // namespace larder
