#include "events/log_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "events/event_json.hpp"
#include "larder/counters.hpp"
#include "larder/events.hpp"

namespace larder {
namespace {

using nlohmann::json;

class Folder {
 public:
  Folder() {
    std::string pattern = testing::TempDir() + "larder-log-XXXXXX";
    EXPECT_NE(mkdtemp(pattern.data()), nullptr);
    path_ = pattern;
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

Event event_with(std::string_view detail) {
  return {.unix_ns = 1'700'000'000'123'456'789, .recipe_kind = "test", .key = Key{1, 2}, .detail = detail};
}

json parse(const Event& event) {
  EventLine line;
  return json::parse(write_json(event, 7, line));
}

TEST(EventJson, TellsEveryFieldOfARequest) {
  EventLine line;
  const Event event{.kind = EventKind::request,
                    .outcome = Outcome::made,
                    .reason = Reason::absent,
                    .tier = Tier::memory,
                    .unix_ns = 1'700'000'000'123'456'789,
                    .recipe_kind = "opencl-program",
                    .key = Key{0x0123456789abcdef, 0xfedcba9876543210},
                    .bytes = 4096,
                    .cost = Nanoseconds(1000),
                    .saved = Nanoseconds(5),
                    .duration = Nanoseconds(1200),
                    .detail = "x"};
  EXPECT_EQ(
      write_json(event, 7, line),
      R"({"schema":1,"time":"2023-11-14T22:13:20.123456789Z","pid":7,"event":"request","outcome":"made",)"
      R"("reason":"absent","tier":"memory","recipe":"opencl-program",)"
      R"("key":"0123456789abcdeffedcba9876543210","bytes":4096,"cost_ns":1000,"saved_ns":5,)"
      R"("duration_ns":1200,"detail":"x"})"
      "\n");
}

TEST(EventJson, LeavesOutWhatDoesNotApply) {
  const json object = parse({.kind = EventKind::warning, .unix_ns = 1});
  EXPECT_EQ(object["event"], "warning");
  for (const char* field : {"outcome", "reason", "tier", "recipe", "key", "detail"}) {
    EXPECT_FALSE(object.contains(field)) << field;
  }
}

TEST(EventJson, EscapesEveryByteAndEveryPairOfBytesToValidJson) {
  for (int first = 0; first < 256; ++first) {
    for (int second = 0; second < 256; ++second) {
      const std::string text{static_cast<char>(first), static_cast<char>(second)};
      const std::string read = parse(event_with(text))["detail"];
      if (first >= 0x80 || second >= 0x80) continue;
      ASSERT_EQ(read, text) << first << ' ' << second;
    }
  }
}

TEST(EventJson, KeepsUtf8AndReplacesWhatIsNone) {
  const std::map<std::string, std::string> cases{
      {"za\u017c\u00f3\u0142\u0107 \u4e2d \U0001f600", "za\u017c\u00f3\u0142\u0107 \u4e2d \U0001f600"},
      {"\x7f\"\\/\b\f\n\r\t", "\x7f\"\\/\b\f\n\r\t"},
      {"a\xff"
       "b",
       "a\ufffd"
       "b"},
      {"\xc0\xaf", "\ufffd\ufffd"},                      // overlong
      {"\xe0\x80\xaf", "\ufffd\ufffd\ufffd"},            // overlong
      {"\xf0\x80\x80\xaf", "\ufffd\ufffd\ufffd\ufffd"},  // overlong
      {"\xed\xa0\x80", "\ufffd\ufffd\ufffd"},            // surrogate
      {"\xf4\x90\x80\x80", "\ufffd\ufffd\ufffd\ufffd"},  // beyond U+10FFFF
      {"\xe4\xb8", "\ufffd\ufffd"},                      // cut off
      {"\xf4\x8f\xbf\xbf", "\U0010ffff"},
  };
  for (const auto& [text, expected] : cases) {
    EXPECT_EQ(parse(event_with(text))["detail"].get<std::string>(), expected);
  }
  EXPECT_EQ(parse(event_with(std::string_view("a\0b", 3)))["detail"].get<std::string>(),
            std::string("a\0b", 3));
}

TEST(EventJson, CutsLongStringsBetweenCharacters) {
  std::string accents;
  for (int i = 0; i < 1000; ++i) accents += "\u00e9";
  const std::string read = parse(event_with(accents))["detail"];
  EXPECT_LE(read.size(), kDetailShownMax);
  EXPECT_TRUE(read.ends_with("\u00e9...")) << read;
  const std::string exact(kDetailShownMax, 'x');
  EXPECT_EQ(parse(event_with(exact))["detail"], exact);
  const std::string detail(5000, '\x01');
  Event event = event_with(detail);
  const std::string kind(5000, '\xff');
  event.recipe_kind = kind;
  event.key = Key{~0ull, ~0ull};
  event.reason = Reason::out_of_resources;
  event.tier = Tier::memory;
  event.bytes = std::numeric_limits<std::uint64_t>::max();
  event.cost = event.saved = event.duration = Nanoseconds::min();
  for (const std::int64_t time : {std::numeric_limits<std::int64_t>::min(),
                                  std::numeric_limits<std::int64_t>::max(), std::int64_t{-1}}) {
    event.unix_ns = time;
    EXPECT_TRUE(parse(event).is_object());
  }
  EXPECT_EQ(parse(event)["time"], "1969-12-31T23:59:59.999999999Z");
}

TEST(LogFile, AppendsOneLinePerEventAndKeepsWhatWasThere) {
  const Folder folder;
  for (int run = 0; run < 2; ++run) {
    auto log = LogFile::open(folder / "log");
    ASSERT_TRUE(log);
    (*log)->log(event_with("a \"quoted\"\nline"));
  }
  const auto lines = lines_of(folder / "log");
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(json::parse(lines[1])["detail"], "a \"quoted\"\nline");
  struct stat status {};
  ASSERT_EQ(stat((folder / "log").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST(LogFile, SharesItsFileAmongThreadsAndProcesses) {
  const Folder folder;
  auto log = LogFile::open(folder / "log");
  ASSERT_TRUE(log);
  std::vector<pid_t> children;
  for (int i = 0; i < 3; ++i) {
    children.push_back(fork());
    if (children.back() == 0) {
      auto own = LogFile::open(folder / "log");
      for (int n = 0; n < 100; ++n) (i == 0 ? *log : *own)->log(event_with(std::string(300, 'c')));
      _exit(0);
    }
  }
  std::vector<std::jthread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int n = 0; n < 100; ++n) (*log)->log(event_with(std::string(200, 'p')));
    });
  }
  threads.clear();
  for (const pid_t child : children) ASSERT_EQ(waitpid(child, nullptr, 0), child);
  std::map<int, int> by_process;
  for (const std::string& line : lines_of(folder / "log")) ++by_process[json::parse(line)["pid"].get<int>()];
  EXPECT_EQ(by_process[getpid()], 800);
  for (const pid_t child : children) EXPECT_EQ(by_process[child], 100);
}

TEST(LogFile, SaysWhyItCannotBeOpened) {
  const Folder folder;
  const auto log = LogFile::open(folder / "missing/log");
  ASSERT_FALSE(log);
  EXPECT_EQ(log.error().code, Code::io);
  EXPECT_TRUE(log.error().what.ends_with("missing/log: No such file or directory")) << log.error().what;
}

TEST(LogFile, LosesLinesOnAFullDiskAndNothingElse) {
  auto log = LogFile::open("/dev/full");
  ASSERT_TRUE(log);
  errno = 1234;
  (*log)->log(event_with("x"));
  EXPECT_EQ(errno, 1234);
  EXPECT_EQ((*log)->dropped(), 1u);
}

TEST(LogFile, GoesOnWhenItsFolderVanishes) {
  auto folder = std::make_unique<Folder>();
  auto log = LogFile::open(*folder / "log");
  ASSERT_TRUE(log);
  folder.reset();
  (*log)->log(event_with("x"));
  EXPECT_EQ((*log)->dropped(), 0u);  // it still reaches the file, which nobody can see any more
}

TEST(LogFile, NeitherWaitsForAPipesReaderNorDiesOfItsEnd) {
  const Folder folder;
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_FALSE(LogFile::open(folder / "pipe"));  // nobody reads
  const int reader = open((folder / "pipe").c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  auto log = LogFile::open(folder / "pipe");
  ASSERT_TRUE(log);
  for (int i = 0; i < 1000; ++i) (*log)->log(event_with(std::string(400, 'x')));  // more than a pipe holds
  EXPECT_GT((*log)->dropped(), 0u);
  EXPECT_LT((*log)->dropped(), 1000u);
  close(reader);
  (*log)->log(event_with("x"));  // SIGPIPE would end the test
  sigset_t pending;
  ASSERT_EQ(sigpending(&pending), 0);
  EXPECT_EQ(sigismember(&pending, SIGPIPE), 0);
}

TEST(LogFile, ObeysTheFileSizeLimitAndMendsATornLine) {
  const Folder folder;
  auto log = LogFile::open(folder / "log");
  ASSERT_TRUE(log);
  const pid_t child = fork();
  if (child == 0) {
    const rlimit limit{1000, RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &limit);
    for (int i = 0; i < 10; ++i)
      (*log)->log(event_with(std::string(100, 'x')));  // SIGXFSZ would end the child
    const rlimit none{RLIM_INFINITY, RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &none);
    (*log)->log(event_with("after"));
    _exit((*log)->dropped() > 0 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  const auto lines = lines_of(folder / "log");
  ASSERT_GE(lines.size(), 3u);
  EXPECT_EQ(json::parse(lines.back())["detail"], "after");
  EXPECT_FALSE(json::accept(lines[lines.size() - 2]));  // the torn one stands alone
}

TEST(LogFile, WritesNothingToADescriptorThatTheHostTookOver) {
  const Folder folder;
  auto log = LogFile::open(folder / "log");
  ASSERT_TRUE(log);
  const pid_t child = fork();
  if (child == 0) {
    for (int descriptor = 3; descriptor < 100; ++descriptor) close(descriptor);
    for (int i = 0; i < 97; ++i) {
      if (open((folder / "precious").c_str(), O_RDWR | O_CREAT, 0600) < 0) _exit(2);
    }
    (*log)->log(event_with("x"));
    struct stat status {};
    _exit(stat((folder / "precious").c_str(), &status) == 0 && status.st_size == 0 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(LogFile, LeavesTheStandardStreamsNumbersToTheHost) {
  const Folder folder;
  const pid_t child = fork();
  if (child == 0) {
    close(0);
    auto log = LogFile::open(folder / "log");
    _exit(log && fcntl(0, F_GETFD) < 0 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// Ends the process after it used larder for the first time.
[[noreturn]] void count_twice_and_emit() {
  const Counters first;
  const Counters second;
  emit(event_with("told"));
  _exit(0);
}

// Runs in a process of its own, whose first counters these are; its environment is set before that begins.
void check_in_fresh_process(const std::string& log) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  setenv("LARDER_LOG", log.c_str(), 0);
  EXPECT_EXIT(count_twice_and_emit(), testing::ExitedWithCode(0), "");
  unsetenv("LARDER_LOG");
}

TEST(LogFile, IsOpenedOnceWhereTheEnvironmentSays) {
  const Folder folder;
  check_in_fresh_process(folder / "log");
  const auto lines = lines_of(folder / "log");
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(json::parse(lines[0])["detail"], "told");
}

TEST(LogFile, IsNotMadeWhereverTheProcessHappensToBe) {
  const Folder folder;
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder / "");
  check_in_fresh_process("relative.log");
  std::filesystem::current_path(before);
  EXPECT_FALSE(std::filesystem::exists(folder / "relative.log"));
}

TEST(LogFile, IsAsIfNotAskedForWhereItCannotBeOpened) {
  const Folder folder;
  check_in_fresh_process(folder / "missing/log");
}

}  // namespace
}  // namespace larder
