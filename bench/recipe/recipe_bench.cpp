// What a key costs: a recipe with a 20 kB source and its key (bar: 3 us), beside a plain copy of the same
// source and the standard library's hash of it; and what explaining a miss costs.
#include <benchmark/benchmark.h>

#include <functional>
#include <string>
#include <vector>

#include "larder/difference.hpp"
#include "larder/recipe.hpp"

namespace {

using namespace larder;

std::string source_of(std::size_t size) {
  std::string source;
  for (int line = 0; source.size() < size; ++line) {
    source.append("  sum").append(std::to_string(line)).append(" += input[index] * weight;\n");
  }
  source.resize(size);
  return source;
}

Recipe recipe_of(const std::string& source, std::string_view driver) {
  Recipe recipe("opencl-program");
  recipe.add("source", source).add("options", "-O2 -cl-mad-enable").add("driver", driver);
  return recipe;
}

void make_recipe_and_key(benchmark::State& state) {
  const std::string source = source_of(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) {
    const Recipe recipe = recipe_of(source, "22.43.24595");
    benchmark::DoNotOptimize(recipe.key());
  }
}
BENCHMARK(make_recipe_and_key)->Arg(200)->Arg(20'000)->Arg(64 * 1024)->Arg(1 << 20);

void key_of_a_recipe(benchmark::State& state) {
  const Recipe recipe = recipe_of(source_of(20'000), "22.43.24595");
  for (auto _ : state) benchmark::DoNotOptimize(recipe.key());
}
BENCHMARK(key_of_a_recipe);

// The peer: what a user writes, concatenation and std::hash, which takes different recipes for the same.
void concatenate_and_std_hash(benchmark::State& state) {
  const std::string source = source_of(20'000);
  for (auto _ : state) {
    const std::string all = source + "-O2 -cl-mad-enable" + "22.43.24595";
    benchmark::DoNotOptimize(std::hash<std::string>{}(all));
  }
}
BENCHMARK(concatenate_and_std_hash);

void explain_a_miss(benchmark::State& state) {
  const std::string source = source_of(20'000);
  std::string edited = source;
  edited.replace(10'000, 20, "edited in the middle");
  const Recipe before = recipe_of(source, "22.43.24595");
  const Recipe after = recipe_of(edited, "22.43.24595");
  for (auto _ : state) benchmark::DoNotOptimize(to_text(difference(before, after)));
}
BENCHMARK(explain_a_miss);

void nearest_of_ten_thousand(benchmark::State& state) {
  std::vector<Recipe> candidates;
  for (int i = 0; i < 10'000; ++i) candidates.push_back(recipe_of(source_of(2'000), std::to_string(i)));
  const Recipe wanted = recipe_of(source_of(2'000), "22.43.24595");
  for (auto _ : state) benchmark::DoNotOptimize(nearest(wanted, candidates));
}
BENCHMARK(nearest_of_ten_thousand)->Unit(benchmark::kMillisecond);

}  // namespace
