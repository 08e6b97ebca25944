#include "build/depfile.hpp"

#include <gtest/gtest.h>

#include "build/dyndep.hpp"

namespace larder::build {
namespace {

using Names = std::vector<std::string>;

Names names(std::string_view text) {
  auto read = read_depfile("x.d", text);
  return read ? *read : Names{"error: " + read.error().what};
}

TEST(Depfile, GivesWhatStandsBehindTheColon) {
  EXPECT_EQ(names("a.o: a.c a.h \\\n  b.h\n"), (Names{"a.c", "a.h", "b.h"}));
  EXPECT_EQ(names("a.o b.o: a.c"), (Names{"a.c"}));
  EXPECT_EQ(names("a.o:\n"), Names{});
  EXPECT_EQ(names(""), Names{});
  EXPECT_EQ(names("a.o: a.c\n\na.h:\n"), (Names{"a.c"}));
  EXPECT_EQ(names("a.o : a.c\r\nb.o: b.c\r\n"), (Names{"a.c", "b.c"}));
}

TEST(Depfile, ReadsEscapedNames) {
  EXPECT_EQ(names("o: a\\ b c\\#d e$$f g\\:h i:j k\\l\n"),
            (Names{"a b", "c#d", "e$f", "g:h", "i:j", "k\\l"}));
  EXPECT_EQ(names("o: a\\\\\\ b a\\\\ b\n"), (Names{"a\\ b", "a\\\\", "b"}));
}

TEST(Depfile, EndsAtCarriageReturnsThatEndNoLine) {
  EXPECT_EQ(names("a: b\rc \r d\r"), (Names{"b\rc", "\r", "d\r"}));
}

TEST(Depfile, SaysWhereItIsWrong) {
  EXPECT_EQ(names("a.o a.c\n")[0].substr(0, 40),
            std::string("error: x.d:1:8: expected `:` after the target").substr(0, 40));
  EXPECT_EQ(names(": a\n")[0].substr(0, 14), "error: x.d:1:1");
  EXPECT_EQ(names("a: b c: d\n")[0].substr(0, 14), "error: x.d:1:6");
}

TEST(Dyndep, GivesWhatIsSaidOfEachStep) {
  const auto read = read_dyndep(
      "dd", "ninja_dyndep_version = 1\nbuild a | b ./c: dyndep | d\n  restat = 1\nbuild e: dyndep\n");
  ASSERT_TRUE(read) << read.error().what;
  ASSERT_EQ(read->size(), 2u);
  EXPECT_EQ((*read)[0].output, "a");
  EXPECT_EQ((*read)[0].implicit_outputs, (Names{"b", "c"}));
  EXPECT_EQ((*read)[0].implicit_inputs, (Names{"d"}));
  EXPECT_EQ((*read)[1].output, "e");
}

TEST(Dyndep, RefusesWhatIsNone) {
  for (const std::string text :
       {"", "build a: dyndep\n", "ninja_dyndep_version = 2\n", "ninja_dyndep_version = 1\nbuild a: phony\n",
        "ninja_dyndep_version = 1\nbuild a b: dyndep\n", "ninja_dyndep_version = 1\nbuild a: dyndep || b\n",
        "ninja_dyndep_version = 1\nbuild a: dyndep\n  pool = x\n", "ninja_dyndep_version = 1\nrule x\n"}) {
    const auto read = read_dyndep("dd", text);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().what.substr(0, 3), "dd:") << text;
  }
}

}  // namespace
}  // namespace larder::build
