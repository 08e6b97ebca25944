#include "trace/tracer.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "trace/calls.hpp"

namespace larder::trace {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;

class Traced : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "larder_trace_XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = fs::canonical(name).string();
    if (!tracer_->why_not().empty()) GTEST_SKIP() << tracer_->why_not();
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string in(const std::string& name) const { return folder_ + '/' + name; }
  void put(const std::string& name, const std::string& text) const { std::ofstream(in(name)) << text; }
  std::string text_of(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(in(name)).rdbuf();
    return text.str();
  }

  struct Running {
    pid_t pid = -1;
    std::unique_ptr<Tracer::Command> command;
  };
  Running start(const std::vector<std::string>& words) {
    Tracer::Started started = tracer_->start({.words = words, .is_in_path = true});
    EXPECT_EQ(started.error, 0);
    return {started.pid, std::move(started.command)};
  }
  Report finish(Running running, int expected_code = 0) {
    int status = 0;
    EXPECT_EQ(::waitpid(running.pid, &status, 0), running.pid);
    EXPECT_EQ(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status), expected_code);
    return tracer_->end(std::move(running.command));
  }
  Report trace(const std::vector<std::string>& words) { return finish(start(words)); }
  Report shell(const std::string& text) { return trace({"sh", "-c", "cd '" + folder_ + "' && " + text}); }
  Report subject(std::vector<std::string> words) {
    words.insert(words.begin(), LARDER_SUBJECT);
    return trace(words);
  }

  static const Touch* find(const Report& report, const std::string& path) {
    const auto place = std::find_if(report.touches.begin(), report.touches.end(),
                                    [&](const Touch& touched) { return touched.path == path; });
    return place == report.touches.end() ? nullptr : &*place;
  }
  Uses uses(const Report& report, const std::string& name) const {
    const Touch* const touched = find(report, name[0] == '/' ? name : in(name));
    return touched == nullptr ? 0 : touched->uses;
  }
  Was before(const Report& report, const std::string& name) const {
    const Touch* const touched = find(report, in(name));
    return touched == nullptr ? Was::other : touched->before;
  }

  std::string folder_;
  std::unique_ptr<Tracer> tracer_ = std::make_unique<Tracer>();
};

TEST(TracedCalls, AreSortedAndNamedOnce) {
  const auto calls = traced_calls();
  for (std::size_t i = 1; i < calls.size(); ++i) EXPECT_LT(calls[i - 1].number, calls[i].number);
  EXPECT_EQ(find_call(calls[3].number), &calls[3]);
  EXPECT_EQ(find_call(-1), nullptr);
}

TEST_F(Traced, TellsWhatAShellReadsWritesAndLooksFor) {
  put("in", "text");
  const Report report = shell("cat in > out; test -e missing; exit 0");
  EXPECT_THAT(report.why_unknowable, IsEmpty());
  EXPECT_TRUE(uses(report, "in") & kRead);
  EXPECT_EQ(before(report, "in"), Was::file);
  EXPECT_TRUE(uses(report, "out") & kWritten);
  EXPECT_FALSE(uses(report, "out") & kRead);
  EXPECT_EQ(before(report, "out"), Was::missing);
  EXPECT_EQ(uses(report, "missing"), kLooked);
  EXPECT_EQ(before(report, "missing"), Was::missing);
}

TEST_F(Traced, TellsOfProgramsTheirLoadersAndWherePathLooksForThem) {
  const Report report = shell("cat in 2> err || exit 0");
  const std::string cat = fs::canonical("/bin/cat").string();
  EXPECT_TRUE(uses(report, cat) & kRun);
  const bool has_loader = std::any_of(report.touches.begin(), report.touches.end(), [](const Touch& touched) {
    return (touched.uses & kRun) != 0 && touched.path.find("/ld-") != std::string::npos;
  });
  EXPECT_TRUE(has_loader);
}

TEST_F(Traced, TellsOfTheInterpretersOfScripts) {
  put("inner", "#!/bin/sh\nexit 0\n");
  ::chmod(in("inner").c_str(), 0755);
  put("script", "#! " + in("inner") + " -x\n");
  ::chmod(in("script").c_str(), 0755);
  const Report report = trace({in("script")});
  EXPECT_TRUE(uses(report, "script") & kRun);
  EXPECT_TRUE(uses(report, "inner") & kRun);
  EXPECT_TRUE(uses(report, fs::canonical("/bin/sh").string()) & kRun);
}

TEST_F(Traced, DoesNotTellReadsOfWhatTheCommandMade) {
  put("old", "before");
  const Report report = shell("echo a > mine; cat mine; echo b > old; cat old; mkdir d; ls d");
  EXPECT_EQ(uses(report, "mine"), kWritten);
  EXPECT_EQ(uses(report, "old"), kWritten);
  EXPECT_FALSE(uses(report, "d") & kListed);
}

TEST_F(Traced, TellsThatWhatIsAppendedToCounts) {
  put("log", "before");
  const Report report = shell("echo a >> log");
  EXPECT_EQ(uses(report, "log"), kWritten | kExtended);
}

TEST_F(Traced, TellsChangesOfAttributes) {
  put("in", "a");
  const Report report = shell("chmod 600 in && touch -d 2001-01-01 in");
  EXPECT_TRUE(uses(report, "in") & kWritten);
  put("other", "a");
  EXPECT_TRUE(uses(subject({"fd", in("other")}), "other") & kWritten);
}

TEST_F(Traced, TellsWhatIsRemovedAndWhatWasOnlyToBe) {
  put("in", "a");
  const Report report = shell("rm in; rm -f missing; echo x > t; rm t; mkdir -p .");
  EXPECT_TRUE(uses(report, "in") & kRemoved);
  EXPECT_EQ(uses(report, "missing") & (kRemoved | kWritten), 0);
  EXPECT_EQ(before(report, "t"), Was::missing);
  EXPECT_FALSE(uses(report, ".") & kWritten);
}

TEST_F(Traced, FollowsRenamesOfFilesAndDirectories) {
  put("in", "a");
  fs::create_directory(in("was"));
  put("was/inside", "a");
  const Report report =
      shell("mv in out; mkdir tmp; echo a > tmp/file; mv tmp made; mv was is; cat is/inside");
  EXPECT_TRUE(uses(report, "in") & kRemoved);
  EXPECT_TRUE(uses(report, "in") & kRead);
  EXPECT_TRUE(uses(report, "out") & kWritten);
  EXPECT_TRUE(uses(report, "made/file") & kWritten);
  EXPECT_FALSE(uses(report, "made") & kMoved);
  EXPECT_TRUE(uses(report, "is") & kMoved);
  EXPECT_TRUE(uses(report, "is/inside") & kRead);
}

TEST_F(Traced, SeesBothSidesOfAnExchange) {
  put("a", "1");
  put("b", "2");
  const Report report = subject({"exchange", in("a"), in("b")});
  for (const char* const name : {"a", "b"}) {
    EXPECT_TRUE(uses(report, name) & kWritten) << name;
    EXPECT_TRUE(uses(report, name) & kRead) << name;
  }
}

TEST_F(Traced, UnderstandsPathsFromDirectoriesAndAfterChdir) {
  fs::create_directories(in("a/b"));
  put("a/b/in", "a");
  const Report report = shell("cd a && cd b && cat in ../../a/./b//in");
  EXPECT_TRUE(uses(report, "a/b/in") & kRead);
  const Report other = subject({"relative", in("a/b"), "in", "out"});
  EXPECT_TRUE(uses(other, "a/b/in") & kRead);
  EXPECT_TRUE(uses(other, "a/b/in") & kRemoved);
  EXPECT_TRUE(uses(other, "a/b/out") & kWritten);
}

TEST_F(Traced, KnowsTheDirectoryOfEachProcessThatHasLeft) {
  const fs::path before = fs::current_path();
  fs::current_path(folder_);
  for (const char* const name : {"a", "b", "c"}) fs::create_directory(in(name));
  for (const char* const name : {"in", "a/in", "b/in", "c/in"}) put(name, "a");
  put("all.sh", "cat in; (cd a; cat in); (cd b; cat ./in); cat other");
  Report report = finish(start({"sh", "all.sh"}), 1);
  for (const char* const name : {"in", "a/in", "b/in"}) EXPECT_TRUE(uses(report, name) & kRead) << name;
  EXPECT_EQ(uses(report, "other"), kLooked);
  EXPECT_EQ(uses(report, "b/other"), 0);
  report = subject({"by_fd", "a", "in"});
  EXPECT_TRUE(uses(report, "a/in") & kRead);
  EXPECT_EQ(uses(report, "in"), kLooked);  // before it left
  fs::current_path(in("c"));
  report = trace({"sh", "-c", "cat in; mv ../c ../d; cat in"});
  fs::current_path(before);
  EXPECT_TRUE(uses(report, "c/in") & kRead);
  EXPECT_TRUE(uses(report, "d/in") & kRead);
}

TEST_F(Traced, FollowsSymbolicLinksAndTellsOfThem) {
  fs::create_directory(in("real"));
  put("real/in", "a");
  fs::create_symlink("real", in("way"));
  fs::create_symlink("../way/in", in("real/name"));
  const Report report = shell("cat way/name; echo a > way/out; readlink way");
  EXPECT_TRUE(uses(report, "way") & kPassed);
  EXPECT_EQ(before(report, "way"), Was::link);
  EXPECT_TRUE(uses(report, "real/name") & kPassed);
  EXPECT_TRUE(uses(report, "real/in") & kRead);
  EXPECT_TRUE(uses(report, "real/out") & kWritten);
  EXPECT_EQ(uses(report, "way/out"), 0);
}

TEST_F(Traced, SeesWhereALinkLeadsAfterTheCommandHasMovedIt) {
  fs::create_directories(in("one"));
  fs::create_directories(in("two"));
  put("one/in", "1");
  put("two/in", "2");
  fs::create_symlink("one", in("way"));
  const Report report = shell("cat way/in && ln -sfn two way && cat way/in");
  EXPECT_TRUE(uses(report, "one/in") & kRead);
  EXPECT_TRUE(uses(report, "two/in") & kRead);
}

TEST_F(Traced, ListsDirectories) {
  fs::create_directory(in("d"));
  const Report report = shell("ls d; test -d .");
  EXPECT_TRUE(uses(report, "d") & kListed);
  EXPECT_FALSE(find(report, folder_) != nullptr && (find(report, folder_)->uses & kListed) != 0);
}

TEST_F(Traced, NamesTheFirstPartThatIsMissing) {
  put("file", "a");
  const Report report = shell("cat missing/deep/name file/below; exit 0");
  EXPECT_EQ(uses(report, "missing"), kLooked);
  EXPECT_EQ(uses(report, "missing/deep/name"), 0);
  EXPECT_EQ(uses(report, "file"), kLooked);
}

TEST_F(Traced, IsNotHaltedToLookAtWhatIsOpen) {
  put("in", "a");
  const Report report = subject({"look", folder_});
  EXPECT_LT(report.calls, 100u);
  EXPECT_TRUE(uses(report, "in") & kLooked);
}

TEST_F(Traced, IsNotHaltedToAskForLinksWhereNobodyWantsToHearOfThem) {
  put("in", "a");
  fs::create_symlink("in", in("way"));
  const std::vector<std::string> words = {LARDER_SUBJECT, "link", in("way")};
  const auto trace_links = [&](bool sees_links) {
    Tracer::Started started = tracer_->start({.words = words, .sees_links = sees_links});
    EXPECT_EQ(started.error, 0);
    return finish({started.pid, std::move(started.command)});
  };
  EXPECT_GT(trace_links(true).calls, 2000u);
  const Report report = trace_links(false);
  EXPECT_LT(report.calls, 100u);
  EXPECT_TRUE(uses(report, "way") & kPassed);  // by the kernel
  EXPECT_TRUE(uses(report, "in") & kRead);
}

TEST_F(Traced, SeesStaticPrograms) {
  put("in", "a");
  const Report report = trace({LARDER_STATIC_SUBJECT, "read", in("in")});
  EXPECT_TRUE(uses(report, "in") & kRead);
  EXPECT_THAT(report.why_unknowable, IsEmpty());
}

TEST_F(Traced, SeesThreadsAndChildrenOfAllKinds) {
  std::vector<std::string> words = {"threads"};
  for (int i = 0; i < 64; ++i) {
    put("in" + std::to_string(i), "a");
    words.push_back(in("in" + std::to_string(i)));
  }
  const Report report = subject(words);
  for (int i = 0; i < 64; ++i) EXPECT_TRUE(uses(report, "in" + std::to_string(i)) & kRead) << i;
  EXPECT_TRUE(uses(subject({"vfork", in("in0")}), "in0") & kRead);
  EXPECT_TRUE(uses(subject({"spawn", in("in0")}), "in0") & kRead);
  EXPECT_TRUE(uses(shell("(cat in1 & cat in2 | cat; wait)"), "in1") & kRead);
}

TEST_F(Traced, ReadsNamesOfAllForms) {
  put("in", "a");
  EXPECT_TRUE(uses(subject({"page", in("in")}), "in") & kRead);
  EXPECT_TRUE(uses(subject({"proc", in("in")}), "in") & kRead);
  EXPECT_TRUE(uses(subject({"how", in("out")}), "out") & kWritten);
}

TEST_F(Traced, SeesAllHeadersThatACompilerNamesInItsDepfile) {
  put("own.h", "#define A 1\n");
  put("a.cpp", "#include <string>\n#include \"own.h\"\nstd::string a;\n");
  const Report report = shell("c++ -MD -MF a.d -c a.cpp -o a.o");
  EXPECT_THAT(report.why_unknowable, IsEmpty());
  EXPECT_TRUE(uses(report, "a.o") & kWritten);
  std::istringstream words(text_of("a.d"));
  unsigned headers = 0;
  for (std::string word; words >> word;) {
    if (word == "\\" || word.ends_with(':')) continue;
    const std::string path = fs::canonical(word[0] == '/' ? word : in(word)).string();
    EXPECT_TRUE(uses(report, path) & kRead) << path;
    ++headers;
  }
  EXPECT_GT(headers, 50u);
}

TEST_F(Traced, SeesWhatPythonReads) {
  put("helper.py", "x = 1\n");
  put("run.py", "import helper, os\nos.listdir('.')\nopen('out', 'w').write('a')\n");
  const Report report = shell("python3 -B run.py");
  EXPECT_TRUE(uses(report, "helper.py") & kRead);
  EXPECT_TRUE(uses(report, "out") & kWritten);
  EXPECT_TRUE(find(report, folder_)->uses & kListed);
}

TEST_F(Traced, SaysWhatItCannotKnow) {
  EXPECT_THAT(subject({"ring"}).why_unknowable, HasSubstr("io_uring"));
  EXPECT_THAT(subject({"network"}).why_unknowable, HasSubstr("network"));
  put("in", "a");
  const Report report = subject({"root", in("in")});
  EXPECT_THAT(report.why_unknowable, HasSubstr("mounted"));
  EXPECT_EQ(uses(report, "in"), 0);  // it may be another file
#ifdef __x86_64__
  EXPECT_THAT(subject({"int80"}).why_unknowable, HasSubstr("another kind of machine"));
#endif
  put("text", "exit 0\n");
  ::chmod(in("text").c_str(), 0755);
  EXPECT_THAT(shell("./text").why_unknowable, HasSubstr("no program of this machine"));
}

TEST_F(Traced, SaysWhenItSpeaksWithAnotherProcess) {
  const std::string path = in("socket");
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  ASSERT_LT(path.size(), sizeof address.sun_path);
  std::copy(path.begin(), path.end(), address.sun_path);
  ASSERT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(fd, 1), 0);
  EXPECT_THAT(subject({"speak", path}).why_unknowable, HasSubstr(path));
  const Report report = subject({"speak", in("nobody")});
  EXPECT_THAT(report.why_unknowable, IsEmpty());
  EXPECT_EQ(uses(report, "nobody"), kLooked);
  ::close(fd);
}

TEST_F(Traced, SaysWhenAProgramCannotHaveItsOwnersRights) {
  fs::copy_file(LARDER_STATIC_SUBJECT, in("owned"));
  ASSERT_EQ(::chmod(in("owned").c_str(), 04755), 0);
  const Report report = trace({in("owned"), "privileges"});
  EXPECT_THAT(report.why_unknowable, HasSubstr("owner's rights"));
  EXPECT_TRUE(report.lacked_rights);
  EXPECT_FALSE(shell("exit 0").lacked_rights);
}

TEST_F(Traced, HasNoSecondTracerWithin) {
  subject({"nested"});  // exits with 0 when it is refused
}

TEST_F(Traced, SaysWhyNothingStarts) {
  const std::vector<std::string> words = {"no_such_program"};
  EXPECT_EQ(tracer_->start({.words = words, .is_in_path = true}).error, ENOENT);
  put("text", "a");
  const std::vector<std::string> others = {in("text")};
  EXPECT_EQ(tracer_->start({.words = others}).error, EACCES);
}

TEST_F(Traced, ReportsWhatAKilledCommandHadDone) {
  put("in", "a");
  ASSERT_EQ(::mkfifo(in("gate").c_str(), 0600), 0);
  Running running = start({"sh", "-c", "cd '" + folder_ + "' && cat in > gate && exec sleep 1000"});
  { std::ifstream(in("gate")).get(); }  // it has read by now
  ::kill(running.pid, SIGKILL);
  const Report report = finish(std::move(running), 128 + SIGKILL);
  EXPECT_TRUE(uses(report, "in") & kRead);
}

TEST_F(Traced, TellsManyCommandsApart) {
  std::vector<Running> running;
  for (int i = 0; i < 24; ++i) {
    put("in" + std::to_string(i), "a");
    running.push_back(start({"sh", "-c", "cat " + in("in" + std::to_string(i)) + " >/dev/null"}));
  }
  for (int i = 0; i < 24; ++i) {
    const Report report = finish(std::move(running[static_cast<std::size_t>(i)]));
    for (int j = 0; j < 24; ++j)
      EXPECT_EQ(uses(report, "in" + std::to_string(j)) != 0, i == j) << i << ' ' << j;
  }
  EXPECT_EQ(tracer_->outlived(), 0u);
}

TEST_F(Traced, GoesOnAnsweringForWhatOutlivesTheCommandAndTheTracer) {
  put("in", "a");
  ASSERT_EQ(::mkfifo(in("gate").c_str(), 0600), 0);
  ASSERT_EQ(::mkfifo(in("out").c_str(), 0600), 0);
  const Report report = subject({"leave", in("gate"), in("in"), in("out")});
  EXPECT_THAT(report.why_unknowable, HasSubstr("outlives it"));
  EXPECT_EQ(tracer_->outlived(), 1u);
  tracer_.reset();
  std::ofstream(in("gate")) << 'x';  // waits until it is opened there
  EXPECT_EQ(std::ifstream(in("out")).get(), 'a');
}

TEST_F(Traced, HasTheCommandKilledWithItsTracer) {
  put("in", "a");
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);  // what holds it lives
  const pid_t tracing = ::fork();
  if (tracing == 0) {
    ::close(ends[0]);
    Tracer tracer;
    const std::vector<std::string> words = {"sh", "-c",
                                            std::string(LARDER_SUBJECT) + " on " + in("in") + " & echo x >&" +
                                                std::to_string(ends[1]) + "; " + LARDER_SUBJECT + " on " +
                                                in("in")};
    const Tracer::Started started = tracer.start({.words = words, .is_in_path = true});
    if (started.error != 0) ::_exit(1);
    for (;;) ::pause();
  }
  ::close(ends[1]);
  std::array<char, 2> text{};
  ASSERT_EQ(::read(ends[0], text.data(), text.size()), 2);
  ::kill(tracing, SIGKILL);
  ASSERT_EQ(::waitpid(tracing, nullptr, 0), tracing);
  pollfd polled{ends[0], POLLIN, 0};
  ASSERT_EQ(::poll(&polled, 1, 20'000), 1) << "a process of the command hangs, or goes on";
  EXPECT_EQ(::read(ends[0], text.data(), text.size()), 0);
  ::close(ends[0]);
}

}  // namespace
}  // namespace larder::trace
