// A build that goes on until it is told to stop: builds, then makes again what changes are behind, and tells
// which products came out different. `watch` and `serve` are its listeners; a `larder build` that comes
// meanwhile is its client (tool/watch_door.hpp). Used by one thread.
//
// I1  What was written before a client asked is seen: the kernel queues its word of a write before the write
// returns,
//     so all of it can be read once the client's request can.
// I2  It may begin from a seal (live_seal.cpp), and says that it watches once everything is watched and,
// after
//     that, was found to be as it was left. The manifest is read then; what changed meanwhile waits in the
//     kernel's queue.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "build/build.hpp"
#include "tool/build_report.hpp"
#include "tool/build_session.hpp"
#include "tool/command.hpp"
#include "tool/watch_door.hpp"

namespace larder::tool {

// A product: what a wanted target is, seen through aliases.
struct Product {
  std::string path;
  build::Digest digest;
};

class LiveListener {
 public:
  virtual ~LiveListener() = default;
  // A command begins that will write these.
  virtual void on_start(const std::vector<std::string>& /*outputs*/) {}
  // Whether on_products() and on_made() are of interest.
  virtual bool wants_all() const { return false; }
  // The manifest was read: these products there will be, and no others.
  virtual void on_products(const std::vector<std::string>& /*paths*/) {}
  // It was built for the first time: what is made, whether it came out different or not.
  virtual void on_made(const std::vector<Product>& /*products*/) {}
  // A build has come to its end. What came out different, and what no step makes any more; both may be empty.
  virtual void on_built(const std::vector<Product>& changed, const std::vector<std::string>& removed) = 0;
  // Why not all is as it should be; empty: it is again.
  virtual void on_trouble(const std::string& /*what*/) {}
  // Can be read when on_readable() is to be called; -1: never. Asked before each wait.
  virtual int fd() const { return -1; }
  virtual void on_readable() {}
};

class LiveBuild final : public build::Changes, public build::BuildListener {
 public:
  LiveBuild(Call& call, LiveListener& listener);

  // Until SIGINT, SIGTERM or SIGHUP. Its exit code.
  int run();

 private:
  enum class Opened { well, badly, stopped };

  // build::Changes
  int fd() const override { return door_ != nullptr ? door_->fd() : watches_->fd(); }
  int patience_ms() override;
  build::Touched take() override;
  bool has_new_manifest() const override { return has_new_manifest_; }
  // build::BuildListener
  void on_start(build::StepId step, const Counts& counts) override;
  void on_finish(build::StepId step, const Counts& counts, int code, std::string_view output) override;
  void on_cancel(build::StepId step) override;
  int on_tick(const Counts& counts) override;
  void on_explain(const std::string& text) override;
  void on_warning(const std::string& what) override;

  Opened open(int& code);
  void look_at_seal();
  void say_ready();
  Result<std::optional<build::BuildOutcome>> make_since(const std::vector<build::TargetId>& targets,
                                                        build::TargetId self);
  void forget_seal();
  void leave_seal();
  Opened open_badly(const std::string& what, int& code);
  Opened build_manifest(bool& was_made, int& code);
  void find_products(const std::vector<build::TargetId>& targets);
  void end_build(const Result<build::BuildOutcome>& outcome);
  void tell_products(bool is_first_of_session);
  void tell_trouble(std::string what);
  bool wait();  // false: stop
  bool make_again(int& code);
  std::optional<int> take_lock(bool& was_away);
  void open_door();
  void tend_door();
  // Builds for the client who has waited longest.
  void serve(Opened& opened, int& code);
  std::string why_not(const WatchRequest& request) const;
  bool has_other_programs() const;
  void take_flags(const WatchRequest& request);
  void answer(const WatchRequest& request);
  void let_client_go();

  Call& call_;
  Console& console_;
  LiveListener& listener_;
  build::BuildOptions options_;
  build::BuildOptions own_options_;  // when no client is served
  std::unique_ptr<build::Jobserver> jobserver_;
  build::StopSignals* signals_ = nullptr;
  std::string file_;
  std::unique_ptr<BuildSession> session_;
  std::unique_ptr<build::BuildLock> lock_;
  std::pair<std::uint64_t, std::uint64_t> log_mark_;
  std::unique_ptr<build::Ingredients> ingredients_;
  std::unique_ptr<BuildReport> report_;
  std::unique_ptr<build::Build> work_;
  std::unique_ptr<build::Watches> watches_;
  std::unique_ptr<WatchDoor> door_;  // null: nobody can ask
  WatchClient* client_ = nullptr;    // that is served
  build::Digest self_;
  std::map<std::string, std::string, std::less<>> programs_;  // where commands' were found since open()
  std::optional<build::BuildOutcome> outcome_;  // of the last build; none: it could not be planned
  bool has_started_ = false;                    // a command, for the client
  std::size_t watched_ = 0;                     // of the manifest's targets
  bool has_new_manifest_ = false;
  bool is_first_ = true;
  bool is_ready_ = false;    // that it watches was said
  std::string sealed_text_;  // since_ is a view of it
  build::Asked sealed_as_;
  std::optional<build::SealFound> since_;  // a seal from which it begins, and which holds but for some files
  std::set<std::string, std::less<>> sealed_variables_;  // that commands name, by that seal
  build::Fingerprint sealed_log_;                        // of which there is a good seal
  bool said_trouble_of_watches_ = false;
  std::vector<bool> is_manifest_;  // by target
  std::vector<build::TargetId> products_;
  std::vector<build::ContentId> told_;                          // of products_
  std::unordered_map<std::string, build::Digest> told_before_;  // of the session before
  std::string failure_;                                         // what commands that failed have said
  std::string trouble_;
};

}  // namespace larder::tool
