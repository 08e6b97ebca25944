#include "build/archive.hpp"

#include <gtest/gtest.h>

#include <string>

#include "build/root.hpp"

namespace larder::build {
namespace {

std::string member(const std::string& name, const std::string& bytes, bool has_bytes = true) {
  const auto field = [](std::string text, std::size_t size) {
    text.resize(size, ' ');
    return text;
  };
  return field(name, 16) + field("0", 12) + field("0", 6) + field("0", 6) + field("644", 8) +
         field(std::to_string(bytes.size()), 10) + "`\n" +
         (has_bytes ? bytes + (bytes.size() % 2 != 0 ? "\n" : "") : std::string());
}

TEST(Archive, HasItsFilesAsMembersAndNotItsTables) {
  const std::string bytes = "!<arch>\n" + member("/", std::string("\0\0\0\1", 4)) +
                            member("//", "long_name.o/\n") + member("/0", "odd") + member("b.o/", "even");
  const auto members = archive_members(bytes);
  ASSERT_TRUE(members);
  ASSERT_EQ(members->size(), 2u);
  EXPECT_EQ((*members)[0], "odd");
  EXPECT_EQ((*members)[1], "even");
}

TEST(Archive, HoldsNothingWhenItIsThin) {
  const auto members =
      archive_members("!<thin>\n" + member("/", "abcd") + member("a.o/", std::string(100, 'x'), false));
  ASSERT_TRUE(members);
  EXPECT_TRUE(members->empty());
}

TEST(Archive, IsNoneWhenItIsCutOrOtherwise) {
  const std::string whole = "!<arch>\n" + member("a.o/", "text") + member("b.o/", "more");
  const std::size_t first_end = 8 + 60 + 4;
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const bool is_whole = size == 8 || size == first_end;
    EXPECT_EQ(archive_members(std::string_view(whole).substr(0, size)).has_value(), is_whole) << size;
  }
  EXPECT_FALSE(archive_members("text"));
  std::string odd = whole;
  odd[8 + 48] = 'x';
  EXPECT_FALSE(archive_members(odd));
}

TEST(HiddenText, MayBeInAMemberOfAnArchive) {
  EXPECT_FALSE(can_hide_text("!<arch>\n" + member("a/", "text")));
  EXPECT_TRUE(can_hide_text("!<arch>\n" + member("a/", "text") + member("b/", "\x1f\x8b\x08")));
  EXPECT_TRUE(can_hide_text("!<arch>\n" + member("a/", "!<arch>\n")));
}

}  // namespace
}  // namespace larder::build
