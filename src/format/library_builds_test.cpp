#include "format/library_builds.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace larder::format {
namespace {

LibraryBuilds two() {
  return {{"/lib/a.so\t",
           {"a.so 12ab\n\nlibc.so.6 34\n",
            {{"/lib/", {1, 2, 3, -4, INT64_MAX}}, {"/lib/a b.so", {}}, {"/x", {UINT64_MAX, 0, 0, 0, 0}}}}},
          {"/lib/b.so\t/plugins", {}}};
}

TEST(LibraryBuilds, ComeBackAsTheyWere) {
  EXPECT_EQ(decode_library_builds(encode_library_builds(two())), two());
  EXPECT_EQ(decode_library_builds(encode_library_builds({})), LibraryBuilds());
}

// Cut anywhere, it is a part of what it was, or nothing: never something else.
TEST(LibraryBuilds, ThatAreCutAreNotTakenForOthers) {
  const std::string whole = encode_library_builds(two());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto builds = decode_library_builds(std::string_view(whole).substr(0, size));
    if (!builds) continue;
    for (const auto& [name, build] : *builds) {
      const LibraryBuilds all = two();
      const auto of = all.find(name);  // none: its name is cut, and nothing else of it is there
      const std::string one = encode_library_builds({{name, of == all.end() ? LibraryBuild() : of->second}});
      EXPECT_TRUE(one.starts_with(encode_library_builds({{name, build}}))) << size;
    }
  }
}

TEST(LibraryBuilds, OfAnythingElseAreNone) {
  for (const char* const text :
       {"", "\n", "larder builds 2", "larder builds 10", "larder builds 1\nI line\n", "larder builds 1\n\n",
        "larder builds 1\nS 1 2 3 4 5 /x", "larder builds 1\nB a\nS 1 2 x", "larder builds 1\nB a\nQ",
        "larder builds 1\nB ", "larder builds 1\nB a\nS 1 2 3 4 5 ", "larder builds 1\nB a\nS 1 2 3 4 5/x",
        "larder builds 1\nB a\nS -1 2 3 4 5 /x", "larder builds 1\nB a\nS 1  2 3 4 5 /x",
        "larder builds 1\nB a\nB a", "larder builds 1\nB a\nS 1 2 3 4 5 /x\nI late",
        "larder builds 1\nB a\nS 1 2 3 4 99999999999999999999 /x"})
    EXPECT_EQ(decode_library_builds(text), std::nullopt) << text;
}

}  // namespace
}  // namespace larder::format
