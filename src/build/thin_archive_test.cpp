#include "build/thin_archive.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "build/content.hpp"

namespace larder::build {
namespace {

class ThinArchive : public testing::Test {
 protected:
  ThinArchive() {
    std::string name = (std::filesystem::temp_directory_path() / "larder-thin-XXXXXX").string();
    top_ = ::mkdtemp(name.data());
    std::filesystem::create_directory(top_ + "/sub");
    write("sub/short.o", "one");
    write("sub/an_object_whose_name_is_long.o", "two");
    ar("crDT sub/lib.a sub/short.o sub/an_object_whose_name_is_long.o");
  }
  ~ThinArchive() override { std::filesystem::remove_all(top_); }
  void write(const std::string& name, const std::string& text) { std::ofstream(top_ + '/' + name) << text; }
  void ar(const std::string& words) {
    ASSERT_EQ(std::system(("cd " + top_ + " && ar " + words + " 2>/dev/null").c_str()), 0);
  }
  std::string read() const {
    std::ifstream file(archive(), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  std::string archive() const { return top_ + "/sub/lib.a"; }
  Digest digest_now() const { return digest(archive().c_str(), true).digest; }

  std::string top_;
};

TEST_F(ThinArchive, NamesItsMembersFromItsDirectory) {
  const auto members = thin_members(archive(), read());
  ASSERT_TRUE(members);
  EXPECT_EQ(*members,
            (std::vector<std::string>{top_ + "/sub/short.o", top_ + "/sub/an_object_whose_name_is_long.o"}));
  EXPECT_EQ(thin_members("lib.a", read())->front(), "short.o");
}

TEST_F(ThinArchive, HasAnotherContentWhenAMemberHas) {
  const Digest before = digest_now();
  EXPECT_EQ(digest_now(), before);
  const std::string bytes = read();
  write("sub/short.o", "ONE");  // as long as before, so that the archive itself comes out the same
  ar("crDT sub/lib.a sub/short.o sub/an_object_whose_name_is_long.o");
  ASSERT_EQ(read(), bytes);
  EXPECT_NE(digest_now(), before);
}

TEST_F(ThinArchive, IsNoneWhereverItIsCut) {
  const std::string bytes = read();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const auto members = thin_members("lib.a", std::string_view(bytes).substr(0, size));
    if (members) {
      EXPECT_LT(members->size(), 2u) << size;
    }
  }
  EXPECT_FALSE(thin_members("lib.a", "!<arch>\n"));
}

TEST_F(ThinArchive, IsReadWithoutHarmWithAnyByteAnother) {
  const std::string bytes = read();
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (const char c : {'\0', '/', '9', '\n', '\xff'}) {
      std::string other = bytes;
      other[i] = c;
      const auto members = thin_members("lib.a", other);
      if (members) {
        EXPECT_LE(members->size(), bytes.size() / 60);
      }
    }
  }
}

}  // namespace
}  // namespace larder::build
