#include "build/known_command.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "build/ingredients.hpp"

namespace larder::build {
namespace {

class KnownCommandLook : public testing::Test {
 protected:
  KnownCommand look(const std::string& command) { return known_.look(command, "x.o", "x.d", ""); }
  StopSignals signals_;
  KnownCommands known_{signals_};
};

TEST_F(KnownCommandLook, IsOneCompilationWithADepfile) {
  if (find_program("cc").empty()) GTEST_SKIP() << "no C compiler called cc";
  const KnownCommand known = look("cc -Iinc -isystem sys -DX=1 -MD -MF x.d -MT x.o -o x.o -c x.c");
  EXPECT_EQ(known.why_not, "");
  EXPECT_EQ(known.includes, (std::vector<std::string>{"inc", "sys"}));
  EXPECT_NE(std::find(known.named.begin(), known.named.end(), "x.c"), known.named.end());
  // The compiler is more than the program that the command names.
  EXPECT_GE(known.tools.size(), 3u);
  EXPECT_NE(std::find(known.tools.begin(), known.tools.end(), find_program("cc")), known.tools.end());
}

TEST_F(KnownCommandLook, IsNoneThatAShellReads) {
  EXPECT_NE(look("cc -MD -MF x.d -o x.o -c x.c && touch y").why_not, "");
  EXPECT_NE(look("cc -MD -MF x.d -o x.o -c $FILE").why_not, "");
}

TEST_F(KnownCommandLook, IsNoneOfAnotherProgram) {
  for (const char* command :
       {"python3 gen.py -o x.o -c", "sh cc -o x.o -c", "ccache", "nowhere-gcc -c x.c -o x.o"})
    EXPECT_NE(look(command).why_not, "") << command;
}

TEST_F(KnownCommandLook, IsNoneThatWritesOrReadsMore) {
  for (const char* flag : {"--coverage",
                           "-fprofile-use",
                           "-gsplit-dwarf",
                           "-save-temps=obj",
                           "-march=native",
                           "-fplugin=./p.so",
                           "@more",
                           "-MF y.d",
                           "-o y.o",
                           "-Wa,-a=listing",
                           "-Wa,@options",
                           "-da",
                           "-ftime-trace",
                           "-B tools",
                           "-specs=my",
                           "-Xclang -load",
                           "-fbasic-block-sections=list=f",
                           "-save-stats",
                           "-save-stats=obj",
                           "-fproc-stat-report",
                           "-fproc-stat-report=f",
                           "-fthinlto-index=f",
                           "-fsanitize-coverage-allowlist=f",
                           "-fxray-attr-list=f",
                           "-ftime-report",
                           "-dependency-file f",
                           "-mllvm -stats",
                           "--config f",
                           "-fopenmp-targets=x",
                           "-fmodule-mapper=f",
                           "-ivfsoverlay f",
                           "-vfsoverlay f",
                           "-include-pch f",
                           "-fnever-heard-of",
                           "--never-heard-of",
                           "-never",
                           "-DX=__has_include",
                           "-DX=__TIME__",
                           "-mrelax-all-of-it",
                           "-E",
                           "-v",
                           "-H",
                           "-",
                           "-x c",
                           "-pg",
                           "-mtune=native"})
    EXPECT_NE(look("cc -MD -MF x.d -c x.c -o x.o " + std::string(flag)).why_not, "") << flag;
}

TEST_F(KnownCommandLook, IsOneWithTheUsualFlags) {
  for (const char* flags :
       {"-O2 -g -DNDEBUG -Wall -Wextra -Werror -std=gnu++20 -fPIC -pthread -pipe",
        "-O3 -march=x86-64-v3 -msse4.2 -mno-avx -fno-exceptions -fno-rtti -fvisibility=hidden",
        "-fvisibility-inlines-hidden -fdiagnostics-color=always -ffile-prefix-map=/a=. "
        "-fstack-protector-strong",
        "-g3 -gdwarf-5 -gno-record-gcc-switches -flto=auto -fno-fat-lto-objects -D_FORTIFY_SOURCE=2",
        "-ffunction-sections -fdata-sections -fno-strict-aliasing -fwrapv -fsanitize=address,undefined",
        "-Winvalid-pch -include x.h -fcf-protection -fstack-clash-protection -frandom-seed=x "
        "-fcolor-diagnostics"})
    EXPECT_EQ(look("cc -MD -MF x.d -c x.c -o x.o " + std::string(flags)).why_not, "") << flags;
}

TEST_F(KnownCommandLook, IsNoneWhoseDepfileLeavesHeadersOut) {
  EXPECT_EQ(look("cc -MD -MF x.d -c x.c -o x.o").why_not, "");
  EXPECT_NE(look("cc -MMD -MF x.d -c x.c -o x.o").why_not, "");
  EXPECT_NE(look("cc -c x.c -o x.o").why_not, "");
}

TEST_F(KnownCommandLook, IsNoneThatLinks) {
  EXPECT_NE(look("cc -MD -MF x.d -o x.o x.c").why_not, "");
  EXPECT_NE(look("cc -MD -MF x.d -c x.c").why_not, "");
}

}  // namespace
}  // namespace larder::build
