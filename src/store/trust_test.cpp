// Who else could have written it: what is not the user's own alone is not used.
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "base/faulty_file_system.hpp"
#include "store/store_test_kit.hpp"

namespace larder {
namespace {

class StoreTrust : public StoreTest {
 protected:
  const Recipe recipe_ = recipe_for("trusted");

  // Runs `body` in a child process that is another user; its result is the child's exit code.
  static int as_other_user(const std::function<int()>& body) {
    const pid_t child = fork_process();
    if (child == 0) {
      if (::setgid(65'534) != 0 || ::setuid(65'534) != 0) ::_exit(99);
      ::_exit(body());
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 98;
  }
  void place(const std::function<void(const std::string& path)>& make) {
    std::filesystem::create_directories(shard_path(recipe_));
    ::chmod(options_.root.c_str(), 0700);
    ::chmod(version_path().c_str(), 0700);
    ::chmod(shard_path(recipe_).c_str(), 0700);
    std::filesystem::remove_all(entry_path(recipe_));
    make(entry_path(recipe_));
  }
  Reason reason_to_refuse() {
    auto store = Store::open(options_);
    return store                                 ? Reason::none
           : store.error().code == Code::refused ? Reason::untrusted
                                                 : Reason::unreadable;
  }
};

TEST_F(StoreTrust, MissesWhatIsNoPlainFile) {
  const auto store = open();
  const std::string target = scratch_.path() + "/target";
  write_file(target, "untouched");
  const std::vector<std::pair<const char*, std::function<void(const std::string&)>>> kinds = {
      {"link to a file", [&](const std::string& path) { std::filesystem::create_symlink(target, path); }},
      {"link to /etc/passwd",
       [](const std::string& path) { std::filesystem::create_symlink("/etc/passwd", path); }},
      {"dangling link", [](const std::string& path) { std::filesystem::create_symlink("/nowhere", path); }},
      {"directory", [](const std::string& path) { std::filesystem::create_directory(path); }},
      {"fifo", [](const std::string& path) { ::mkfifo(path.c_str(), 0600); }},
      {"socket",
       [](const std::string& path) {
         const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
         sockaddr_un address{};
         address.sun_family = AF_UNIX;
         const std::string near = "/dev/shm/larder-test-socket-" + std::to_string(::getpid());
         near.copy(address.sun_path, sizeof address.sun_path - 1);
         EXPECT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
         ::close(fd);
         std::error_code error;
         std::filesystem::rename(near, path, error);
         if (error) std::filesystem::remove(near);
       }},
  };
  for (const auto& [what, make] : kinds) {
    place(make);
    if (!exists(entry_path(recipe_))) continue;  // another file system: the socket could not be moved there
    EXPECT_EQ(store->get(recipe_).reason, Reason::untrusted) << what;
    EXPECT_EQ(store->put(recipe_, as_bytes("x")).state, PutState::already_there) << what;
    EntryInfo info;
    EXPECT_EQ(store->inspect(recipe_.key(), info), Reason::untrusted) << what;
  }
  EXPECT_EQ(read_file(target), "untouched");
  EXPECT_EQ(count(EventKind::warning), 1u) << "once, not at every request";
}

TEST_F(StoreTrust, MissesADevice) {
  const auto store = open();
  place([](const std::string& path) { ::mknod(path.c_str(), S_IFCHR | 0600, (1 << 8) | 5); });
  if (!exists(entry_path(recipe_))) GTEST_SKIP() << "making a device takes root";
  EXPECT_EQ(store->get(recipe_).reason, Reason::untrusted);
}

TEST_F(StoreTrust, MissesAnEntryThatOthersMayWrite) {
  const auto store = open();
  store->put(recipe_, as_bytes("x"));
  for (const mode_t mode : {0620u, 0602u, 0666u}) {
    ::chmod(entry_path(recipe_).c_str(), mode);
    EXPECT_EQ(store->get(recipe_).reason, Reason::untrusted);
    EXPECT_TRUE(exists(entry_path(recipe_)));
  }
  ::chmod(entry_path(recipe_).c_str(), 0644);
  EXPECT_TRUE(store->get(recipe_)) << "reading it harms nobody";
}

TEST_F(StoreTrust, MissesAnEntryOfAnotherUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "giving files away takes root";
  const auto store = open();
  store->put(recipe_, as_bytes("x"));
  ASSERT_EQ(::chown(entry_path(recipe_).c_str(), 65'534, 65'534), 0);
  EXPECT_EQ(store->get(recipe_).reason, Reason::untrusted);
  EXPECT_TRUE(exists(entry_path(recipe_)));
}

TEST_F(StoreTrust, MissesAnEntryLinkedElsewhereAndChangedThere) {
  const auto store = open();
  store->put(recipe_, as_bytes("product"));
  const std::string elsewhere = scratch_.path() + "/elsewhere";
  std::filesystem::create_hard_link(entry_path(recipe_), elsewhere);
  EXPECT_TRUE(store->get(recipe_)) << "two names are normal while an entry is published";
  std::string file = read_file(elsewhere);
  file.back() = 'x';
  write_file(elsewhere, file);
  EXPECT_EQ(store->get(recipe_).reason, Reason::corrupt);
}

TEST_F(StoreTrust, UsesNoShardThatIsALink) {
  const auto store = open();
  store->put(recipe_, as_bytes("product"));
  const std::string elsewhere = scratch_.path() + "/elsewhere";
  std::filesystem::rename(shard_path(recipe_), elsewhere);
  std::filesystem::create_directory_symlink(elsewhere, shard_path(recipe_));
  EXPECT_EQ(store->get(recipe_).reason, Reason::untrusted) << "replaced while the store was open";
  const auto fresh = open();
  EXPECT_EQ(fresh->get(recipe_).reason, Reason::untrusted) << "found so";
  std::filesystem::remove(elsewhere + std::string("/") +
                          std::string(layout::entry_path(recipe_.key()).c_str() + 3));
  EXPECT_EQ(fresh->put(recipe_, as_bytes("product")).reason, Reason::untrusted);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(elsewhere), {}), 0);
}

TEST_F(StoreTrust, UsesNoShardThatOthersMayWrite) {
  open()->put(recipe_, as_bytes("product"));
  ::chmod(shard_path(recipe_).c_str(), 0777);
  EXPECT_EQ(open()->get(recipe_).reason, Reason::untrusted);
  ::chmod(shard_path(recipe_).c_str(), 0700);
  EXPECT_TRUE(open()->get(recipe_));
}

TEST_F(StoreTrust, DoesWithoutTheKernelsHelpAgainstLinks) {
  FaultyFileSystem files;
  options_.files = &files;
  const auto store = open();
  store->put(recipe_, as_bytes("product"));
  files.lack_beneath();
  EXPECT_TRUE(store->get(recipe_));
  const std::string elsewhere = scratch_.path() + "/elsewhere";
  std::filesystem::rename(shard_path(recipe_), elsewhere);
  std::filesystem::create_directory_symlink(elsewhere, shard_path(recipe_));
  EXPECT_EQ(store->get(recipe_).reason, Reason::untrusted);
}

TEST_F(StoreTrust, OpensNoRootThatIsALink) {
  open()->put(recipe_, as_bytes("product"));
  const std::string link = scratch_.path() + "/link";
  std::filesystem::create_directory_symlink(options_.root, link);
  options_.root = link;
  EXPECT_EQ(reason_to_refuse(), Reason::untrusted);
  EXPECT_EQ(count(EventKind::warning), 1u);
}

TEST_F(StoreTrust, OpensNoRootThatOthersMayWrite) {
  open()->put(recipe_, as_bytes("product"));
  for (const mode_t mode : {0770u, 0707u, 0777u, 01777u}) {
    ::chmod(options_.root.c_str(), mode);
    EXPECT_EQ(reason_to_refuse(), Reason::untrusted);
  }
  ::chmod(options_.root.c_str(), 0755);
  EXPECT_EQ(reason_to_refuse(), Reason::none);
  ::chmod(version_path().c_str(), 0777);
  EXPECT_EQ(reason_to_refuse(), Reason::untrusted);
}

TEST_F(StoreTrust, OpensNoRootOfAnotherUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "giving directories away takes root";
  open()->put(recipe_, as_bytes("product"));
  ASSERT_EQ(::chown(options_.root.c_str(), 65'534, 65'534), 0);
  EXPECT_EQ(reason_to_refuse(), Reason::untrusted);
  EXPECT_EQ(count(EventKind::warning), 1u);
}

TEST_F(StoreTrust, OpensNoRootWhereOthersCouldPutAnother) {
  const std::string parent = scratch_.path() + "/parent";
  std::filesystem::create_directory(parent);
  ::chmod(parent.c_str(), 0777);
  options_.root = parent + "/root";
  EXPECT_EQ(reason_to_refuse(), Reason::untrusted);
  ::chmod(parent.c_str(), 01777);
  EXPECT_EQ(reason_to_refuse(), Reason::none) << "the sticky bit keeps others from renaming it";
  if (::geteuid() != 0) return;
  ASSERT_EQ(::chown(parent.c_str(), 65'534, 65'534), 0);
  EXPECT_EQ(reason_to_refuse(), Reason::untrusted) << "but not the owner of the directory";
}

TEST_F(StoreTrust, TellsWhatToDo) {
  open();
  ::chmod(options_.root.c_str(), 0777);
  const auto store = Store::open(options_);
  ASSERT_FALSE(store);
  EXPECT_NE(store.error().what.find("chmod go-w"), std::string::npos) << store.error().what;
}

TEST_F(StoreTrust, MakesPrivateFilesWhateverTheUmask) {
  for (const mode_t mask : {0000u, 0022u, 0077u, 0177u}) {
    const mode_t before = ::umask(mask);
    options_.root = scratch_.path() + "/root-" + std::to_string(mask);
    const auto store = open();
    EXPECT_EQ(store->put(recipe_, as_bytes("x")).state, PutState::stored) << mask;
    store->upkeep(std::chrono::seconds(1), true);
    ::umask(before);
    EXPECT_EQ(mode_of(options_.root), static_cast<mode_t>(S_IFDIR | 0700));
    EXPECT_EQ(mode_of(version_path()), static_cast<mode_t>(S_IFDIR | 0700));
    EXPECT_EQ(mode_of(shard_path(recipe_)), static_cast<mode_t>(S_IFDIR | 0700));
    EXPECT_EQ(mode_of(entry_path(recipe_)), static_cast<mode_t>(S_IFREG | 0600));
    EXPECT_EQ(mode_of(version_path() + "/journal") & 077, 0u);
  }
}

TEST_F(StoreTrust, TellsBackupProgramsToStayOut) {
  open();
  EXPECT_EQ(read_file(options_.root + "/CACHEDIR.TAG").substr(0, 43),
            "Signature: 8a477f597d28d172789f06886806bc55");
}

TEST_F(StoreTrust, MakesNothingAmongFilesThatAreNotLarders) {
  std::filesystem::create_directories(options_.root);
  ::chmod(options_.root.c_str(), 0700);
  write_file(options_.root + "/letters.txt", "mine");
  const auto store = Store::open(options_);
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, Code::refused);
  EXPECT_NE(store.error().what.find("name a directory of its own"), std::string::npos) << store.error().what;
  EXPECT_EQ(count(EventKind::warning), 1u);
  EXPECT_EQ(files_named("").size(), 1u) << "no tag that would keep backups out, no version directory";
}

TEST_F(StoreTrust, TakesADirectoryThatIsEmptyOrLardersOrLeftOutOfBackupsAlready) {
  for (const char* name : {"", "CACHEDIR.TAG", "adopted", "v1", "v12"}) {
    std::filesystem::remove_all(options_.root);
    std::filesystem::create_directories(options_.root);
    ::chmod(options_.root.c_str(), 0700);
    if (*name != '\0') write_file(options_.root + '/' + name, "");
    const bool in_the_way = std::string_view(name) == "v1";
    EXPECT_EQ(static_cast<bool>(Store::open(options_)), !in_the_way) << name;
  }
  std::filesystem::remove_all(options_.root);
  std::filesystem::create_directories(options_.root);
  ::chmod(options_.root.c_str(), 0700);
  write_file(options_.root + "/CACHEDIR.TAG", "somebody's");
  write_file(options_.root + "/other", "file");
  EXPECT_TRUE(Store::open(options_));
  EXPECT_EQ(read_file(options_.root + "/CACHEDIR.TAG"), "somebody's");
}

TEST_F(StoreTrust, ServesHitsFromAReadOnlyDirectoryOfTheUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "becoming another user takes root";
  ::chmod(scratch_.path().c_str(), 0777);
  // The store is made by the other user, who then takes the right to write from its own directories.
  EXPECT_EQ(as_other_user([&] {
              ::mkdir((scratch_.path() + "/his").c_str(), 0700);
              options_.root = scratch_.path() + "/his/root";
              auto store = Store::open(options_);
              if (!store) return 1;
              (*store)->put(recipe_, as_bytes("product"));
              ::chmod(shard_path(recipe_).c_str(), 0500);
              ::chmod(version_path().c_str(), 0500);
              ::chmod(options_.root.c_str(), 0500);
              auto again = Store::open(options_);
              if (!again) return 2;
              if (!(*again)->get(recipe_)) return 3;
              if ((*again)->put(recipe_for("new"), as_bytes("x")).reason != Reason::unwritable) return 4;
              if ((*again)->erase(recipe_.key())) return 5;
              return (*again)->get(recipe_) ? 0 : 6;
            }),
            0);
}

TEST_F(StoreTrust, SaysWhyARootCannotBeMade) {
  if (::geteuid() != 0) GTEST_SKIP() << "becoming another user takes root";
  ::chmod(scratch_.path().c_str(), 0755);
  EXPECT_EQ(as_other_user([&] {
              for (const char* below : {"/root", "/some/where/root"}) {
                options_.root = scratch_.path() + below;
                const auto store = Store::open(options_);
                if (store) return 1;
                if (store.error().what.find("Permission denied") == std::string::npos) return 2;
                if (store.error().what.find("may write to") == std::string::npos) return 3;
              }
              return 0;
            }),
            0);
}

TEST_F(StoreTrust, KeepsAnotherUserOut) {
  if (::geteuid() != 0) GTEST_SKIP() << "becoming another user takes root";
  ::chmod(scratch_.path().c_str(), 0755);
  open()->put(recipe_, as_bytes("product"));
  EXPECT_EQ(as_other_user([&] { return Store::open(options_) ? 1 : 0; }), 0);
}

}  // namespace
}  // namespace larder
