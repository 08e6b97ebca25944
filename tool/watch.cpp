#include <optional>

#include "tool/build_options.hpp"
#include "tool/follow_up.hpp"
#include "tool/live_build.hpp"

namespace larder::tool {
namespace {

constexpr Argument kWatchArguments[] = {
    kBuildDirectory,
    kBuildFile,
    kBuildJobs,
    kBuildKeepGoing,
    kBuildLoad,
    kBuildMemory,
    kBuildVerbose,
    kBuildQuiet,
    kBuildDebug,
    kBuildEnv,
    {"--run", "COMMAND", "run this after each build that made a difference, with the products on its input"},
    {"--restart", "", "the command of --run goes on, as servers do: end it and run it again instead"},
    {"TARGET", "", "what to build; the manifest's defaults without", {}, false, true},
};

class Announcer final : public LiveListener {
 public:
  Announcer(Console& console, std::string_view command, bool restarts)
      : console_(console), restarts_(restarts) {
    if (!command.empty()) follow_up_.emplace(console, std::string(command), restarts);
  }
  void on_built(const std::vector<Product>& changed, const std::vector<std::string>& removed) override {
    std::set<std::string>& paths = paths_;
    for (const Product& product : changed) {
      console_.out("larder: changed " + printable(product.path) + '\n');
      paths.insert(product.path);
    }
    for (const std::string& path : removed) {
      console_.out("larder: removed " + printable(path) + '\n');
      paths.insert(path);
    }
    // A server that works is not ended for half of what it needs.
    if (follow_up_ && !(restarts_ && has_trouble_)) {
      follow_up_->tell(paths);
      follow_up_->begin();
      paths.clear();
    }
  }
  void on_trouble(const std::string& what) override { has_trouble_ = !what.empty(); }
  int fd() const override { return follow_up_ ? follow_up_->fd() : -1; }
  void on_readable() override { follow_up_->on_readable(); }

 private:
  Console& console_;
  const bool restarts_;
  bool has_trouble_ = false;
  std::set<std::string> paths_;  // that it was not told of yet
  std::optional<FollowUp> follow_up_;
};

int run_watch(Call& call) {
  if (call.has("--restart") && !call.has("--run"))
    return call.refuse("--restart has nothing to run", "it says how the command of --run is run",
                       "write --run COMMAND --restart");
  Announcer announcer(call.console(), call.value("--run"), call.has("--restart"));
  return LiveBuild(call, announcer).run();
}

}  // namespace

extern const Command kWatchCommand;
const Command kWatchCommand{
    "watch",
    "build, and make again what changes are behind",
    "Builds as `larder build` does, then makes again whatever a change is behind as soon as it is made, and "
    "says "
    "of each product that came out different `larder: changed PATH`: a product is what a wanted target is, "
    "seen "
    "through aliases. Changes are heard of from the kernel, and content decides. A command is ended and run "
    "again "
    "when something that it reads changes while it runs. A build that failed is tried again at the next "
    "change. "
    "The command of --run reads the paths of the products that differ from its input, one on each line; "
    "while it "
    "runs the next ones are collected. With --restart it runs from the first build that ended well and is "
    "ended for "
    "the next products that differ (SIGTERM, five seconds later SIGKILL), but not while a build fails. Runs "
    "until it is interrupted. Exit code: 0 stopped, 2 the manifest or "
    "the "
    "command line is wrong or nothing can be watched, 130 interrupted while it built for the first time.",
    kWatchArguments,
    false,
    false,
    run_watch,
    "larder watch\nlarder watch -C out tests\nlarder watch --run 'xargs -n1 echo'\nlarder watch --run "
    "./server --restart"};

}  // namespace larder::tool
