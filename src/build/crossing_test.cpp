#include "build/crossing.hpp"

#include <gtest/gtest.h>

namespace larder::build {
namespace {

const Root kTree({"/home/me/tree"});

Crossing look(std::string_view command, std::string_view words = {}) {
  return crossing_of(command, "x.rsp", words, kTree, false);
}

TEST(Crossing, IsOfCommandsThatPassPathsOn) {
  for (const char* command :
       {"rm -f liba.a && ar qc liba.a a.o && ranlib liba.a", ": && g++-12 -o a a.o /home/me/tree/libb.a && :",
        "cd /home/me/tree/out && cmake -E copy a b", "x86_64-linux-gnu-gcc-ar-12 qc a.a a.o", "echo a > made",
        "cc -Wl,-rpath,/home/me/tree/lib -L/home/me/tree/lib -o a a.o -lb", "ln -sf /home/me/tree/a b",
        "cc -o a @x.rsp", "cc -c /home/me/tree/binary.cpp -o binary.o"})
    EXPECT_EQ(look(command, "/home/me/tree/a.o b.o").why_not, "") << command;
}

TEST(Crossing, IsNoneOfCommandsThatMayMakeSomethingElseOfThem) {
  for (const char* command : {"pwd > a",
                              "echo $PWD > a",
                              "basename `pwd` > a",
                              "echo /home/me/tree/a | md5sum > a",
                              "python3 gen.py",
                              "./cc2 a.c",
                              "sh gen.sh",
                              ". ./gen.sh",
                              "eval cp a b",
                              "exec cp a b",
                              "CC=x cp a b",
                              "cd .. && cp a b",
                              "cd - && cp a b",
                              "cmake -P gen.cmake",
                              "cmake -E env sh gen.sh",
                              "ln -sr /opt/a b",
                              "objcopy -I binary /home/me/tree/a.png a.o",
                              "cc -r -Wl,-b,binary /home/me/tree/a.png -o a.o",
                              "cc -r -Wl,-bbinary /home/me/tree/a.png -o a.o",
                              "cp ../../tree/a b",
                              "cc @other",
                              "cc -DR='\"/home/me/tree\"' -c a.c",
                              "cc -D R=/home/me/tree -c a.c",
                              "cc -Wp,-DR=/home/me/tree -c a.c",
                              "cc -frandom-seed=/home/me/tree/a -c a.c",
                              "cc --define-macro R=/home/me/tree -c a.c",
                              "cc -fplugin=./p.so -c a.c",
                              "cc -ffile-prefix-map=a=/home/me/tree -c a.c"})
    EXPECT_NE(look(command).why_not, "") << command;
  EXPECT_NE(look("cc -c a.c @x.rsp", "-DR=/home/me/tree").why_not, "");
  EXPECT_NE(look("cc -c a.c @x.rsp", "@more").why_not, "");
  EXPECT_NE(look("cc -c a.c @x.rsp", "$(pwd)").why_not, "");
  EXPECT_NE(crossing_of("cp a b", "", "", Root({"/home/me/my tree"}), false).why_not, "");
}

TEST(Crossing, KnowsWhetherCompilersLeaveTheRootOut) {
  const auto is_left = [](std::string_view command) {
    const Crossing crossing = look(command);
    EXPECT_EQ(crossing.why_not, "") << command;
    EXPECT_TRUE(crossing.compiles) << command;
    return (crossing.root_names & ~crossing.mapped_names) != 0;
  };
  EXPECT_FALSE(is_left("cc -c ../a.c -o a.o"));
  EXPECT_TRUE(is_left("cc -c /home/me/tree/a.c -o a.o"));
  EXPECT_TRUE(is_left("cc -I/home/me/tree/inc -c ../a.c -o a.o"));
  EXPECT_FALSE(is_left("cc -ffile-prefix-map=/home/me/tree=. -c /home/me/tree/a.c -o a.o"));
  EXPECT_FALSE(is_left("cc -fmacro-prefix-map=/home/me/tree/= -c /home/me/tree/a.c -o a.o"));
  EXPECT_TRUE(is_left("cc -ffile-prefix-map=/home/me/tree/src=. -c /home/me/tree/a.c -o a.o"));
  EXPECT_TRUE(is_left("cc -fdebug-prefix-map=/home/me/tree=. -c /home/me/tree/a.c -o a.o"));
  EXPECT_TRUE(
      is_left("cc -ffile-prefix-map=/home/me/tree=. -c /home/me/tree/a.c && cc -c /home/me/tree/b.c"));
  EXPECT_FALSE(look("cp /home/me/tree/a b").compiles);
}

TEST(Crossing, IsHinderedByProgramsThatAreNotKnown) {
  trace::Report report;
  const auto ran = [&](const char* path) {
    report.touches = {{path, trace::kRun, trace::Was::file, 0, 0}};
    return program_that_stays(report);
  };
  for (const char* path : {"/usr/bin/dash", "/usr/bin/x86_64-linux-gnu-ar", "/usr/bin/cp", "/usr/bin/cmake",
                           "/usr/lib/gcc/x86_64-linux-gnu/12/collect2", "/usr/bin/x86_64-linux-gnu-ld.bfd"})
    EXPECT_EQ(ran(path), "") << path;
  for (const char* path : {"/usr/bin/python3.11", "/usr/bin/md5sum", "/home/me/tree/cp", "/home/me/tree/cc"})
    EXPECT_EQ(ran(path), path) << path;
}

}  // namespace
}  // namespace larder::build
