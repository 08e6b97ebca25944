// One program of the paper's section 6.1 per file: a function of two ints that gives an int, and what calls
// it. Compiled as it stands: plain, and with the plugin. BY_HAND stands for what a programmer would write
// instead; COUNTED counts what is really executed, by a function that the plugin is told to believe pure.
#pragma once

// Runs the program once and gives a sum of its results, the same in every build.
extern "C" long long larder_bench_program();

#ifdef COUNTED
extern "C" int larder_bench_count(int) __attribute__((const));
#define EXECUTED(argument) larder_bench_count(argument)  // 0
#else
#define EXECUTED(argument) 0
#endif
