#include "store/cache_file.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "base/faulty_file_system.hpp"
#include "format/entry.hpp"
#include "larder/events.hpp"
#include "store/store_test_kit.hpp"

namespace larder {
namespace {

using namespace std::chrono_literals;

class CacheFileTest : public ::testing::Test {
 protected:
  const std::string& dir() const { return scratch_.path(); }
  std::string path() const { return dir() + "/app.cache"; }
  CacheFile file() { return CacheFileFor::open(path(), files_, clock_).value(); }
  // What stands in the directory.
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& one : std::filesystem::directory_iterator(dir())) all.push_back(one.path().filename());
    std::sort(all.begin(), all.end());
    return all;
  }
  // get_or_make with a maker of `text` that counts.
  CacheFileAnswer ask(const Recipe& recipe, const std::string& text = "made") {
    return file()
        .get_or_make(
            recipe, [](const Bytes&) { return true; },
            [&]() -> CacheFile::Made {
              ++makes_;
              return Bytes(text);
            })
        .value();
  }

  ScratchDirectory scratch_;
  FaultyFileSystem files_;
  FakeClock clock_;
  int makes_ = 0;
  const Recipe recipe_ = recipe_for("program");
};
using GuestFile = CacheFileTest;

TEST_F(GuestFile, TouchesNothingUntilItIsAsked) {
  const CacheFile opened = file();
  EXPECT_TRUE(names().empty());
  EXPECT_EQ(files_.calls(), 0u);
  EXPECT_EQ(opened.path(), path());
}

TEST_F(GuestFile, MakesOnceAndThenLoads) {
  const CacheFileAnswer first = ask(recipe_);
  EXPECT_EQ(first.outcome, Outcome::made);
  EXPECT_EQ(first.reason, Reason::absent);
  EXPECT_EQ(first.not_kept, Reason::none);
  const CacheFileAnswer second = ask(recipe_);
  EXPECT_EQ(second.outcome, Outcome::disk_hit);
  EXPECT_EQ(second.reason, Reason::none);
  EXPECT_EQ(second.product.text(), "made");
  EXPECT_EQ(makes_, 1);
  EXPECT_EQ(names(), std::vector<std::string>{"app.cache"});
  EXPECT_EQ(mode_of(path()) & 07777, 0600u);
}

TEST_F(GuestFile, ReplacesTheFileWhenTheProgramChanges) {
  ask(recipe_, "old");
  const CacheFileAnswer changed = ask(recipe_for("changed program"), "new");
  EXPECT_EQ(changed.reason, Reason::other_recipe);
  EXPECT_EQ(changed.product.text(), "new");
  EXPECT_EQ(ask(recipe_for("changed program")).product.text(), "new");
  EXPECT_EQ(ask(recipe_, "old again").reason, Reason::other_recipe);
  EXPECT_EQ(names(), std::vector<std::string>{"app.cache"});
}

TEST_F(GuestFile, KeepsAnyPayloadOfAnySize) {
  for (const std::size_t size : {0u, 1u, 191u, 4096u, 300'000u, 3'000'000u}) {
    std::string payload(size, '\0');
    for (std::size_t i = 0; i < size; ++i) payload[i] = static_cast<char>(i * 2654435761u >> 11);
    ASSERT_TRUE(file().save(recipe_, as_bytes(payload)));
    const CacheFileLoad load = file().load(recipe_);
    ASSERT_TRUE(load) << size;
    EXPECT_EQ(load.product.text(), payload);
  }
}

TEST_F(GuestFile, RemembersWhatMakingCost) {
  const CacheFile::Made product = Bytes(std::string("slow"));
  CacheFile opened = file();
  const auto answer = opened.get_or_make(
      recipe_, [](const Bytes&) { return true; },
      [&] {
        clock_.advance(3s);
        return product;
      });
  EXPECT_EQ(answer->cost, 3s);
  EXPECT_EQ(opened.load(recipe_).cost, 3s);
  EXPECT_EQ(ask(recipe_).cost, 3s);
}

TEST_F(GuestFile, AProductThatIsNotAcceptedIsRemovedAndMadeAgain) {
  ask(recipe_, "for an old driver");
  int offered = 0;
  CacheFile opened = file();
  const auto answer =
      opened.get_or_make(
          recipe_,
          [&](const Bytes& product) {
            ++offered;
            EXPECT_EQ(product.text(), "for an old driver");
            EXPECT_TRUE(exists(path()));
            return false;
          },
          [&]() -> CacheFile::Made {
            EXPECT_FALSE(exists(path()))
                << "it is gone before the maker runs, so that a crash there cannot bring it back";
            return Bytes(std::string("for the new driver"));
          });
  EXPECT_EQ(offered, 1);
  EXPECT_EQ(answer->outcome, Outcome::made);
  EXPECT_EQ(answer->reason, Reason::refused);
  EXPECT_EQ(ask(recipe_).product.text(), "for the new driver");
}

TEST_F(GuestFile, RejectRemovesOnlyWhatWasLoaded) {
  CacheFile opened = file();
  EXPECT_FALSE(opened.reject()) << "nothing was loaded";
  ask(recipe_, "old");
  ASSERT_TRUE(opened.load(recipe_));
  file().save(recipe_, as_bytes("somebody's newer one"));
  EXPECT_FALSE(opened.reject());
  EXPECT_EQ(file().load(recipe_).product.text(), "somebody's newer one");
  ASSERT_TRUE(opened.load(recipe_));
  EXPECT_TRUE(opened.reject());
  EXPECT_EQ(opened.load(recipe_).reason, Reason::refused);
  EXPECT_EQ(file().load(recipe_).reason, Reason::absent);
  ASSERT_TRUE(opened.save(recipe_, as_bytes("again")));
  EXPECT_TRUE(opened.load(recipe_));
}

TEST_F(GuestFile, AMakerWithNothingToStoreCreatesNoFile) {
  const auto answer = file().get_or_make(
      recipe_, [](const Bytes&) { return true; }, []() -> CacheFile::Made { return std::nullopt; });
  EXPECT_EQ(answer->outcome, Outcome::made);
  EXPECT_EQ(answer->not_kept, Reason::nothing_to_store);
  EXPECT_TRUE(names().empty());
}

TEST_F(GuestFile, AMakersFailurePassesThroughUntouched) {
  const auto answer = file().get_or_make(
      recipe_, [](const Bytes&) { return true; },
      []() -> CacheFile::Made { return fail(Code::maker_failed, "line 3: no such kernel"); });
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().code, Code::maker_failed);
  EXPECT_EQ(answer.error().what, "line 3: no such kernel");
  EXPECT_TRUE(names().empty());
  CacheFile opened = file();
  EXPECT_THROW(
      (void)opened.get_or_make(
          recipe_, [](const Bytes&) { return true; }, []() -> CacheFile::Made { throw std::string("mine"); }),
      std::string);
}

TEST_F(GuestFile, AForgottenDirectoryIsSeenAtOnce) {
  CacheFile opened = CacheFileFor::open(dir() + "/not/made/app.cache", files_, clock_).value();
  const CacheFileLoad load = opened.load(recipe_);
  EXPECT_EQ(load.reason, Reason::unreadable);
  EXPECT_EQ(load.detail,
            "the directory " + dir() + "/not/made does not exist; make it, or name another file");
  const CacheFileSave save = opened.save(recipe_, as_bytes("x"));
  EXPECT_EQ(save.reason, Reason::unwritable);
  EXPECT_EQ(save.detail, load.detail);
  EXPECT_TRUE(names().empty()) << "a guest makes no directories";
}

TEST_F(GuestFile, StaysWhereItWasMeantWhenTheProgramChangesItsDirectory) {
  char before[4096];
  ASSERT_NE(::getcwd(before, sizeof before), nullptr);
  ASSERT_EQ(::chdir(dir().c_str()), 0);
  CacheFile opened = CacheFileFor::open("app.cache", files_, clock_).value();
  ASSERT_EQ(::chdir(before), 0);
  ASSERT_TRUE(opened.save(recipe_, as_bytes("x")));
  EXPECT_TRUE(exists(path()));
}

TEST_F(GuestFile, RefusesPathsThatNameNoFile) {
  EXPECT_FALSE(CacheFile::open("").has_value());
  EXPECT_FALSE(CacheFile::open("/tmp/").has_value());
  EXPECT_FALSE(CacheFile::open(std::string("/tmp/a\0b", 8)).has_value());
}

TEST_F(GuestFile, StandsAsideWhenLarderIsDisabled) {
  ASSERT_EQ(::setenv("LARDER_DISABLE", "1", 1), 0);
  const CacheFileAnswer answer = ask(recipe_);
  ASSERT_EQ(::unsetenv("LARDER_DISABLE"), 0);
  EXPECT_EQ(answer.outcome, Outcome::bypassed);
  EXPECT_EQ(answer.reason, Reason::disabled);
  EXPECT_TRUE(names().empty());
}

TEST_F(GuestFile, TellsHowItAnsweredAsAnEvent) {
  std::vector<std::pair<Outcome, Reason>> heard;
  std::vector<EventKind> kinds;
  auto subscription = subscribe([&](const Event& event) {
    kinds.push_back(event.kind);
    if (event.kind == EventKind::request) heard.emplace_back(event.outcome, event.reason);
  });
  ASSERT_TRUE(subscription.has_value());
  ask(recipe_);
  ask(recipe_);
  write_file(path(), read_file(path()).substr(0, 190));
  ask(recipe_);
  subscription->reset();
  const std::vector<std::pair<Outcome, Reason>> expected{
      {Outcome::made, Reason::absent}, {Outcome::disk_hit, Reason::none}, {Outcome::made, Reason::truncated}};
  EXPECT_EQ(heard, expected);
  EXPECT_EQ(std::count(kinds.begin(), kinds.end(), EventKind::stored), 2);
  EXPECT_EQ(std::count(kinds.begin(), kinds.end(), EventKind::damaged), 1);
}

// --- What is on disk is not what was written.

class DamagedGuestFile : public CacheFileTest {
 protected:
  void SetUp() override {
    ask(recipe_, "a product of some bytes");
    sound_ = read_file(path());
    makes_ = 0;
  }
  std::string sound_;
};

TEST_F(DamagedGuestFile, EveryTruncationIsMadeAgain) {
  for (std::size_t size = 0; size < sound_.size(); ++size) {
    write_file(path(), sound_.substr(0, size));
    const CacheFileLoad load = file().load(recipe_);
    EXPECT_EQ(load.reason, Reason::truncated) << size;
    ASSERT_EQ(ask(recipe_, "again").not_kept, Reason::none);
    ASSERT_EQ(ask(recipe_).product.text(), "again") << size;
  }
  EXPECT_EQ(makes_, static_cast<int>(sound_.size()));
  EXPECT_EQ(names(), std::vector<std::string>{"app.cache"}) << "nothing of it was taken for somebody else's";
}

TEST_F(DamagedGuestFile, EveryFlippedBitIsAMissAndHeals) {
  CacheFile opened = file();
  for (std::size_t bit = 0; bit < sound_.size() * 8; ++bit) {
    std::string flipped = sound_;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    write_file(path(), flipped);
    const CacheFileLoad load = opened.load(recipe_);
    ASSERT_FALSE(load) << bit;
    ASSERT_TRUE(opened.save(recipe_, as_bytes("again")));
  }
  EXPECT_EQ(opened.load(recipe_).product.text(), "again");
  EXPECT_EQ(names(), std::vector<std::string>{"app.cache"});
}

TEST_F(DamagedGuestFile, AppendedBytesZerosAndOtherVersionsAreMisses) {
  write_file(path(), sound_ + "x");
  EXPECT_EQ(file().load(recipe_).reason, Reason::corrupt);
  write_file(path(), std::string(sound_.size(), '\0'));
  EXPECT_EQ(file().load(recipe_).reason, Reason::corrupt);
  std::string newer = sound_;
  newer[8] = 99;
  newer[12] = static_cast<char>(~99);
  write_file(path(), newer);
  EXPECT_EQ(file().load(recipe_).reason, Reason::other_version);
  EXPECT_EQ(ask(recipe_, "by this version").not_kept, Reason::none);
  EXPECT_TRUE(file().load(recipe_));
}

TEST_F(DamagedGuestFile, ClaimsOfHugeSizesAllocateNothing) {
  for (const std::size_t at : {32u, 40u, 48u, 56u}) {
    for (const std::uint64_t claim : {~std::uint64_t{0}, std::uint64_t{1} << 63, std::uint64_t{1} << 40}) {
      std::string lying = sound_;
      for (std::size_t i = 0; i < 8; ++i) lying[at + i] = static_cast<char>(claim >> (8 * i));
      write_file(path(), lying);
      EXPECT_FALSE(file().load(recipe_));
    }
  }
  // A hole of a terabyte with a sound beginning.
  write_file(path(), sound_);
  ASSERT_EQ(::truncate(path().c_str(), off_t{1} << 40), 0);
  EXPECT_FALSE(file().load(recipe_));
}

TEST_F(DamagedGuestFile, AStrangersFileIsLeftAsItIs) {
  const std::string precious =
      "int main() { return 0; } // the only copy of a program, at least 128 bytes long, in the "
      "place where somebody said that a cache file is";
  for (const std::string& text : {precious, std::string("short"), std::string("x")}) {
    write_file(path(), text);
    ASSERT_EQ(::chmod(path().c_str(), 0644), 0);
    EXPECT_FALSE(file().load(recipe_));
    const CacheFileSave save = file().save(recipe_, as_bytes("product"));
    EXPECT_EQ(save.reason, Reason::untrusted);
    EXPECT_NE(save.detail.find("is no cache file"), std::string::npos) << save.detail;
    const auto answer = file().get_or_make(
        recipe_, [](const Bytes&) { return true; },
        []() -> CacheFile::Made { return Bytes(std::string("product")); });
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->not_kept, Reason::untrusted);
    EXPECT_EQ(answer->product.size(), 7u);
    EXPECT_EQ(read_file(path()), text);
    struct stat status {};
    ASSERT_EQ(::stat(path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777u, 0644u);
  }
}

TEST_F(DamagedGuestFile, NoLinkDirectoryPipeSocketOrDeviceIsReadOrReplaced) {
  const std::string target = dir() + "/target";
  const auto check = [&](const char* what) {
    EXPECT_EQ(file().load(recipe_).reason, Reason::untrusted) << what;
    EXPECT_EQ(file().save(recipe_, as_bytes("x")).reason, Reason::untrusted) << what;
    ASSERT_TRUE(exists(path())) << what;
    std::filesystem::remove_all(path());
  };
  std::filesystem::remove(path());
  write_file(target, sound_);
  ASSERT_EQ(::symlink("target", path().c_str()), 0);
  check("link");
  EXPECT_EQ(read_file(target), sound_);
  ASSERT_EQ(::symlink("nowhere", path().c_str()), 0);
  check("dangling link");
  EXPECT_FALSE(exists(dir() + "/nowhere"));
  ASSERT_EQ(::mkdir(path().c_str(), 0700), 0);
  check("directory");
  ASSERT_EQ(::mkfifo(path().c_str(), 0600), 0);
  check("pipe");
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  ASSERT_LT(path().size(), sizeof address.sun_path);
  path().copy(address.sun_path, path().size());
  ASSERT_EQ(::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  check("socket");
  ::close(socket);
  if (::mknod(path().c_str(), S_IFCHR | 0600, 0x0103) == 0) check("device");
}

TEST_F(DamagedGuestFile, AFileThatOthersCouldHaveWrittenIsNotUsed) {
  ASSERT_EQ(::chmod(path().c_str(), 0620), 0);
  EXPECT_EQ(file().load(recipe_).reason, Reason::untrusted);
  EXPECT_TRUE(file().save(recipe_, as_bytes("x"))) << "ours again, with our mode";
  EXPECT_EQ(mode_of(path()) & 07777, 0600u);
  if (::chown(path().c_str(), 4711, 4711) != 0) GTEST_SKIP() << "only root can give files away";
  EXPECT_EQ(file().load(recipe_).reason, Reason::untrusted);
  EXPECT_EQ(file().save(recipe_, as_bytes("y")).reason, Reason::untrusted);
}

TEST_F(DamagedGuestFile, ReadsTheLayoutOfFutharkForInspectionOnly) {
  std::string futhark("FUTHARK\0", 8);
  const std::string payload = "compiled for some device";
  const std::uint64_t size = 48 + payload.size();
  for (int i = 0; i < 8; ++i) futhark.push_back(static_cast<char>(size >> (8 * i)));
  for (int i = 0; i < 32; ++i) futhark.push_back(static_cast<char>(i));
  futhark += payload;
  write_file(path(), futhark);
  auto info = CacheFile::inspect(path());
  ASSERT_TRUE(info.has_value());
  EXPECT_EQ(info->layout, CacheFileInfo::Layout::futhark);
  EXPECT_EQ(info->reason, Reason::none);
  EXPECT_EQ(info->said_bytes, size);
  EXPECT_EQ(info->product_bytes, payload.size());
  EXPECT_EQ(info->futhark_key[31], 31);
  EXPECT_EQ(file().load(recipe_).reason, Reason::other_version);
  for (std::size_t cut = 8; cut < futhark.size(); ++cut) {
    write_file(path(), futhark.substr(0, cut));
    info = CacheFile::inspect(path());
    ASSERT_TRUE(info.has_value());
    EXPECT_EQ(info->reason, Reason::truncated) << cut;
  }
  write_file(path(), futhark + "x");
  EXPECT_EQ(CacheFile::inspect(path())->reason, Reason::corrupt);
}

TEST_F(DamagedGuestFile, InspectShowsRecipeAndCost) {
  const auto info = CacheFile::inspect(path());
  ASSERT_TRUE(info.has_value());
  EXPECT_EQ(info->layout, CacheFileInfo::Layout::larder);
  EXPECT_EQ(info->reason, Reason::none);
  ASSERT_TRUE(info->recipe.has_value());
  EXPECT_EQ(*info->recipe, recipe_);
  EXPECT_EQ(info->key, recipe_.key());
  EXPECT_EQ(info->file_bytes, sound_.size());
  for (std::size_t size = 0; size < sound_.size(); ++size) {
    write_file(path(), sound_.substr(0, size));
    const auto cut = CacheFile::inspect(path());
    EXPECT_TRUE(!cut || cut->reason == Reason::truncated) << size;
  }
  EXPECT_EQ(CacheFile::inspect(dir() + "/none").error().code, Code::not_found);
  write_file(path(), std::string(300, 'x'));
  EXPECT_EQ(CacheFile::inspect(path()).error().code, Code::unsupported);
}

// --- The operating system says no.

TEST_F(GuestFile, SurvivesEverySystemCallFailingOnceAndForEver) {
  for (const int error :
       {EIO, ENOSPC, EDQUOT, EROFS, EACCES, EMFILE, ENFILE, ENOMEM, EINTR, ESTALE, ENOENT}) {
    for (const bool for_ever : {false, true}) {
      for (std::uint64_t at = 0;; ++at) {
        ASSERT_LT(at, 100u);
        files_.clear();
        std::filesystem::remove(path());
        ask(recipe_, "old");
        files_.set({.at = at, .error = error, .for_ever = for_ever});
        const Recipe changed = recipe_for("changed program");
        const CacheFileAnswer answer = ask(changed, "new");
        const bool was_struck = files_.calls() > at;
        ASSERT_EQ(answer.product.text(), "new") << error << ' ' << at;
        ASSERT_EQ(files_.open_descriptors(), 0);
        files_.clear();
        // Old or new, whole, and never a mixture.
        const CacheFileLoad old_one = file().load(recipe_);
        const CacheFileLoad new_one = file().load(changed);
        ASSERT_TRUE(old_one ? old_one.product.text() == "old" : new_one.product.text() == "new")
            << error << ' ' << at << ' ' << for_ever;
        ASSERT_TRUE(answer.not_kept != Reason::none || new_one) << error << " " << at;
        if (!was_struck) break;
      }
    }
  }
}

TEST_F(GuestFile, SaysWhatTheSystemSaid) {
  ask(recipe_);

  files_.set({.at = 0, .error = EIO, .for_ever = true, .only = FileCall::read});
  const CacheFileLoad load = file().load(recipe_);
  EXPECT_EQ(load.reason, Reason::unreadable);
  EXPECT_NE(load.detail.find("Input/output error"), std::string::npos) << load.detail;
  files_.set({.at = 0, .error = ENOSPC, .for_ever = true, .only = FileCall::write});
  EXPECT_EQ(file().save(recipe_for("b"), as_bytes("x")).reason, Reason::out_of_space);
  files_.set({.at = 0, .error = EROFS, .for_ever = true, .only = FileCall::open});
  EXPECT_EQ(file().save(recipe_for("b"), as_bytes("x")).reason, Reason::read_only);
}

TEST_F(GuestFile, ADiskThatFillsUpLeavesTheOldFile) {
  ask(recipe_, "old");
  files_.cut_writes(1000);
  files_.set({.at = 2, .error = ENOSPC, .for_ever = true, .only = FileCall::write});
  const CacheFileSave save = file().save(recipe_for("big"), as_bytes(std::string(100'000, 'x')));
  EXPECT_EQ(save.reason, Reason::out_of_space);
  files_.clear();
  EXPECT_EQ(file().load(recipe_).product.text(), "old");
  EXPECT_EQ(names(), std::vector<std::string>{"app.cache"});
}

TEST_F(GuestFile, ShortReadsAndWritesAreGoneOnWith) {
  files_.cut_writes(7);
  files_.cut_reads(5);
  ask(recipe_, "a product that needs many calls");
  EXPECT_EQ(ask(recipe_).product.text(), "a product that needs many calls");
}

TEST_F(GuestFile, IsOursAloneUnderAnyUmask) {
  for (const mode_t mask : {0000u, 0077u, 0777u}) {
    std::filesystem::remove(path());
    const mode_t before = ::umask(mask);
    const CacheFileSave save = file().save(recipe_, as_bytes("x"));
    ::umask(before);
    EXPECT_TRUE(save) << save.detail;
    EXPECT_EQ(mode_of(path()) & 07777, 0600u);
  }
}

TEST_F(GuestFile, WorksWhereNothingCanBeLocked) {
  files_.lack(FileCall::lock, ENOLCK);
  ask(recipe_, "one");
  ask(recipe_for("b"), "two");
  EXPECT_EQ(file().load(recipe_for("b")).product.text(), "two");
  EXPECT_EQ(names(), std::vector<std::string>{"app.cache"}) << "and leaves nothing behind";
}

TEST_F(GuestFile, ALinkInThePlaceOfTheTemporaryFileIsNotFollowed) {
  const std::string precious = dir() + "/precious";
  write_file(precious, "untouched");
  ASSERT_EQ(::symlink("precious", (dir() + "/.app.cache.new").c_str()), 0);
  EXPECT_TRUE(file().save(recipe_, as_bytes("x")));
  EXPECT_EQ(read_file(precious), "untouched");
  std::filesystem::remove(dir() + "/.app.cache.new");
  ASSERT_EQ(::link(precious.c_str(), (dir() + "/.app.cache.new").c_str()), 0);
  EXPECT_TRUE(file().save(recipe_, as_bytes("y")));
  EXPECT_EQ(read_file(precious), "untouched");
  EXPECT_EQ(file().load(recipe_).product.text(), "y");
}

// --- Others are at it too.

// Runs `work` in a child and gives its exit status.
template <typename Work>
int in_child(const Work& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    work();
    ::_exit(0);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return status;
}

TEST_F(GuestFile, KilledAtAnyStepLeavesOldOrNewAndAtMostOneLeaving) {
  const Recipe changed = recipe_for("changed program");
  for (std::uint64_t at = 0;; ++at) {
    ASSERT_LT(at, 100u);
    std::filesystem::remove_all(path());
    files_.clear();
    ask(recipe_, std::string(5000, 'o'));
    const int status = in_child([&] {
      files_.set({.at = at, .kill = true});
      ask(changed, std::string(5000, 'n'));
    });
    const CacheFileLoad old_one = file().load(recipe_);
    const CacheFileLoad new_one = file().load(changed);
    ASSERT_TRUE(old_one ? old_one.product.text() == std::string(5000, 'o')
                        : new_one.product.text() == std::string(5000, 'n'))
        << at;
    ASSERT_LE(names().size(), 2u) << at;
    ASSERT_TRUE(file().save(changed, as_bytes("next"))) << "what the dead left is no obstacle";
    ASSERT_EQ(names(), std::vector<std::string>{"app.cache"}) << "and is taken over";
    if (WIFEXITED(status)) break;
    ASSERT_EQ(WTERMSIG(status), SIGKILL);
  }
}

TEST_F(GuestFile, ManyProcessesAtOnceNeverSeeAMixture) {
  constexpr int kProcesses = 4;
  constexpr int kRounds = 150;
  std::vector<pid_t> children;
  for (int number = 0; number < kProcesses; ++number) {
    const pid_t child = ::fork();
    if (child == 0) {
      bool good = true;
      CacheFile mine = CacheFile::open(path()).value();
      for (int round = 0; round < kRounds; ++round) {
        const int which = (number + round) % 3;
        const std::string text(2000 + 777 * static_cast<std::size_t>(which), static_cast<char>('a' + which));
        good = good && mine.save(recipe_for(which), as_bytes(text)).reason == Reason::none;
        for (int one = 0; one < 3; ++one) {
          const CacheFileLoad load = mine.load(recipe_for(one));
          const std::string expected(2000 + 777 * static_cast<std::size_t>(one),
                                     static_cast<char>('a' + one));
          good = good && (load ? load.product.text() == expected
                               : load.reason == Reason::other_recipe || load.reason == Reason::absent);
        }
      }
      ::_exit(good ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  EXPECT_EQ(names(), std::vector<std::string>{"app.cache"});
}

TEST_F(GuestFile, ManyThreadsMayShareOneObject) {
  CacheFile shared = file();
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int number = 0; number < 4; ++number) {
    threads.emplace_back([&, number] {
      for (int round = 0; round < 30; ++round) {
        const Recipe mine = recipe_for(number % 2);
        const std::string text(1000, static_cast<char>('a' + number % 2));
        const auto answer = shared.get_or_make(
            mine, [&](const Bytes& product) { return product.text() == text || (++wrong, false); },
            [&]() -> CacheFile::Made { return Bytes(text); });
        if (!answer || answer->product.text() != text) ++wrong;
        if (round % 7 == 0) shared.reject();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
}

}  // namespace
}  // namespace larder
