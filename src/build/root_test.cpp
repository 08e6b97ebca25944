#include "build/root.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include <elf.h>

namespace larder::build {
namespace {

const Root kHere({"/home/me/tree"});
const Root kThere({"/srv/two"});

TEST(Root, StandsAsAPlaceholderInTexts) {
  EXPECT_EQ(kHere.portable("cc -I/home/me/tree/inc /home/me/tree -o x"), "cc -I@{root}/inc @{root} -o x");
  EXPECT_EQ(kHere.portable("cc -I/home/me/tree/inc"), kThere.portable("cc -I/srv/two/inc"));
  EXPECT_EQ(kHere.portable("/home/me/tree2 /home/me/tree.old"), "/home/me/tree2 /home/me/tree.old");
}

TEST(Root, IsTakenForNoTextThatLooksLikeIt) {
  EXPECT_EQ(kHere.portable("a@b"), "a@@b");
  EXPECT_NE(kHere.portable("@{root}/a"), kHere.portable("/home/me/tree/a"));
  EXPECT_NE(kHere.portable("@@{root}/a"), kHere.portable("@{root}/a"));
}

TEST(Root, ComesBackInPaths) {
  for (const char* path :
       {"/home/me/tree/a@b.c", "a.c", "../a", "/usr/include/x.h", "@{root}/a", "@", "/home/me/tree"}) {
    EXPECT_EQ(kHere.path_of(kHere.portable_path(path)), path);
  }
  EXPECT_EQ(kThere.path_of(kHere.portable_path("/home/me/tree/a.c")), "/srv/two/a.c");
  EXPECT_FALSE(kHere.path_of("@x"));
  EXPECT_FALSE(kHere.path_of("@{root as called}/x"));
}

TEST(Root, HasAPlaceholderForEachOfItsNames) {
  const Root root({"/home/me/tree", "/link/tree"});
  EXPECT_NE(root.portable("/link/tree/a"), root.portable("/home/me/tree/a"));
  EXPECT_EQ(root.path_of(root.portable_path("/link/tree/a")), "/link/tree/a");
  EXPECT_TRUE(root.is_in("x/link/tree"));
}

TEST(Root, IsFoundInBytesOfAnyWidth) {
  EXPECT_TRUE(kHere.is_in("comp_dir /home/me/tree/out"));
  EXPECT_FALSE(kHere.is_in("comp_dir ./out"));
  for (const std::size_t width : {2u, 4u}) {
    std::string wide = "text";
    for (const char c : std::string("/home/me/tree")) {
      wide += c;
      wide.append(width - 1, '\0');
    }
    EXPECT_TRUE(kHere.is_in(wide)) << width;
  }
}

TEST(Root, IsNamedByEachOfItsNames) {
  const Root root({"/home/me/tree", "/link/tree"});
  EXPECT_EQ(root.named_in("cc -I/home/me/tree2 a.c"), 0u);
  EXPECT_EQ(root.named_in("cc /home/me/tree/a.c"), 1u);
  EXPECT_EQ(root.named_in("cc /link/tree/a.c -I/home/me/tree"), 3u);
}

TEST(Root, IsReenteredByItsName) {
  EXPECT_TRUE(kHere.is_reentered_by("-I../../tree/inc"));
  EXPECT_TRUE(kHere.is_reentered_by("../tree"));
  EXPECT_FALSE(kHere.is_reentered_by("../trees/inc ../src/tree"));
}

TEST(Root, IsPlainWhereNothingIsWrittenInAnotherWay) {
  EXPECT_TRUE(kHere.is_plain());
  EXPECT_FALSE(Root({"/home/me/my tree"}).is_plain());
  EXPECT_FALSE(Root({"/home/m\xc3\xa4/tree"}).is_plain());
}

TEST(Root, ThatIsTooShortIsEverywhere) {
  EXPECT_TRUE(Root({"/"}).is_in("nothing"));
  EXPECT_EQ(Root({"/"}).portable("/a"), "/a");
}

std::string elf(const char* section_name, std::uint64_t flags) {
  const std::string names = std::string(1, '\0') + section_name + '\0';
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = __BYTE_ORDER == __LITTLE_ENDIAN ? ELFDATA2LSB : ELFDATA2MSB;
  header.e_shoff = sizeof header;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 2;
  header.e_shstrndx = 1;
  Elf64_Shdr sections[2]{};
  sections[0].sh_name = 1;
  sections[0].sh_flags = flags;
  sections[1].sh_offset = sizeof header + sizeof sections;
  sections[1].sh_size = names.size();
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
  bytes.append(reinterpret_cast<const char*>(sections), sizeof sections);
  return bytes + names;
}

TEST(HiddenText, IsNeitherInTextNorInPlainObjects) {
  EXPECT_FALSE(can_hide_text(""));
  EXPECT_FALSE(can_hide_text("int x;\n\xc3\xa4"));
  EXPECT_FALSE(can_hide_text(elf(".text", 0)));
}

TEST(HiddenText, MayBeInAnythingElse) {
  EXPECT_TRUE(can_hide_text(std::string("a\0b", 3)));
  EXPECT_TRUE(can_hide_text("\x1f\x8b\x08"));
  EXPECT_TRUE(can_hide_text(elf(".debug_str", SHF_COMPRESSED)));
  EXPECT_TRUE(can_hide_text(elf(".gnu.lto_main", 0)));
  EXPECT_TRUE(can_hide_text(elf(".text", 0).substr(0, 70)));
}

}  // namespace
}  // namespace larder::build
