// Builds targets: works off a plan with as many commands at once as it may, records what came of each, and
// plans anew when a command tells more of the graph. Used by one thread.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <queue>
#include <string>
#include <unordered_set>
#include <vector>

#include "build/jobserver.hpp"
#include "build/log.hpp"
#include "build/plan.hpp"
#include "build/processes.hpp"
#include "build/restorer.hpp"
#include "build/seal.hpp"
#include "build/tracing.hpp"
#include "build/undeclared.hpp"
#include "build/watches.hpp"

namespace larder::build {

struct BuildOptions {
  unsigned jobs = 1;
  unsigned failures_max = 1;           // 0: go on as long as anything can be made
  double load_max = 0;                 // 0: whatever it is
  std::uint64_t memory_min_bytes = 0;  // that must be available for another command to start beside the first
  bool is_dry = false;
  bool explains = false;
  bool keeps_depfiles = false;
  bool keeps_responses = false;
  ProductCache* products = nullptr;  // what commands make is restored from there; null: every command runs
  Tracing* tracing = nullptr;        // commands are traced; null: none is
};

// Hears what a build does.
class BuildListener {
 public:
  virtual ~BuildListener() = default;
  struct Counts {
    unsigned finished = 0;
    unsigned total = 0;  // of commands that ran or may run
    unsigned running = 0;
    std::uint64_t left_ms =
        0;  // of the commands to come, one after the other, by what they took last time; 0: unknown
  };
  virtual void on_start(StepId step, const Counts& counts) = 0;
  // `code` as a shell says it; `output` is what the command wrote.
  virtual void on_finish(StepId step, const Counts& counts, int code, std::string_view output) = 0;
  // Its outputs were restored and `output` is what its command had written; it was never started.
  virtual void on_restore(StepId step, const Counts& counts, std::string_view output) {
    on_start(step, counts);
    on_finish(step, counts, 0, output);
  }
  // It was ended because something that it reads is another by now; it will run again.
  virtual void on_cancel(StepId /*step*/) {}
  // Some time has passed and nothing ended. How long until the next call, in milliseconds; -1: never.
  virtual int on_tick(const Counts& counts) = 0;
  virtual void on_explain(const std::string& text) = 0;
  virtual void on_warning(const std::string& what) = 0;
};

// What a build that goes on is told of changes made meanwhile.
class Changes {
 public:
  virtual ~Changes() = default;
  // Can be read when there may be something; -1: ask in time.
  virtual int fd() const = 0;
  // Takes in what was told; then as Watches::patience_ms(true).
  virtual int patience_ms() = 0;
  virtual Touched take() = 0;
  // The manifest is another: this build can only come to an end.
  virtual bool has_new_manifest() const = 0;
};

enum class BuildOutcome : std::uint8_t { nothing_to_do, done, failed, interrupted };

class Build {
 public:
  Build(Manifest& manifest, History& history, Log& log, Ingredients& ingredients, StopSignals& signals,
        const BuildOptions& options, Jobserver* jobserver, BuildListener& listener);

  // Errors: what keeps the plan from being made. A command that fails is an outcome.
  Result<BuildOutcome> make(std::span<const TargetId> roots);
  // From now on changes are heard of while commands run: those that they supersede are ended and run again.
  // PRECONDITION: before make().
  void hear(Changes& changes) noexcept { changes_ = &changes; }
  // From now on commands inherit it. PRECONDITION: it outlives every make(), or another is given before the
  // next.
  void give_commands(CommandsFile& file) noexcept { commands_file_ = &file; }
  // What make() made, made again after a change: O(what it is behind). Commands that failed, or were not come
  // to, run again when anything differs, strangers included; when it was asked for they do so in any case,
  // and so does what ended well without a record, tasks say. PRECONDITION: make(), hear().
  Result<BuildOutcome> make_again(const Touched& touched);
  // Takes from a seal what everything is, whether or not it was looked at by now; the log is as it was then.
  // False: this cannot be told, and this Build is of no use any more. O(what is wanted), without a look at
  // it.
  Result<bool> adopt(std::span<const TargetId> roots, std::span<const SealedFiles> files);
  // As make(), where all is as adopted but for the groups of `files` that are not the same and for what was
  // `touched` since. Nothing: this cannot be told, or what makes the manifest, `self`, may have to run;
  // nothing was run, and this Build is of no use any more. PRECONDITION: adopt() of the same, which said
  // true.
  Result<std::optional<BuildOutcome>> make_since(std::span<const SealedFiles> files, TargetId self,
                                                 Touched touched = {});
  // A dyndep file came out other than it was read: read the manifest again.
  bool needs_manifest() const noexcept { return plan_.needs_manifest(); }
  const Present& present() const noexcept { return present_; }
  // Whether something that is wanted failed, or was not come to.
  bool has_unfinished() const;
  // Whether a target is among what make() made, or needed for it.
  bool is_wanted(TargetId target) const;
  // Whether a step that any of these needs failed. O(steps that are not made). PRECONDITION: they are wanted.
  bool has_failed(std::span<const TargetId> targets) const;
  // Whether it is known to be as it should be.
  bool is_made(StepId step) const noexcept { return build::is_made(plan_.state(step)); }
  // Outputs that came out other than their step's run before had left them, in the last make or make_again.
  std::span<const TargetId> different() const noexcept { return different_; }
  // Whether a step's command ran or its outputs were restored, in any call of make().
  bool has_run(StepId step) const noexcept { return step < ran_.size() && ran_[step]; }
  // Runs every step of what make() made once more, and tells outputs that came out other than before of the
  // same inputs. Those that make manifests are left out. PRECONDITION: make() of the same, which ended well.
  struct Unstable {
    TargetId output;
    ContentId before;
    ContentId after;
  };
  Result<BuildOutcome> check(std::vector<Unstable>& unstable);
  // Adds every file that was looked at. False: not everything is as it should be, or too much of it too
  // fresh, so there can be no seal.
  bool add_sealed(SealMaker& seal) const;
  // Whether a seal of what a Build with changes has made says it: all of it ended well and nothing was heard
  // that was not looked at. What was too fresh is looked at again. O(what is wanted).
  bool can_be_sealed();
  // Removes what steps made that the manifest has no more, if it is still what they made. How many files.
  unsigned remove_stale();

 private:
  static constexpr std::chrono::seconds kPatience{5};  // for commands that were asked to end

  struct Job {
    StepId step;
    std::int64_t started_ns;  // by the clock of files
    std::chrono::steady_clock::time_point started;
    std::vector<ContentId> inputs;  // declared ones and programs, as they were before
    std::vector<TargetId> targets;  // whose they are
    std::vector<TargetId> watched;  // those of them that are files
    Digest command;
    unsigned declared = 0;
    std::uint64_t expected_ms = 0;  // as long as it took last time
    std::uint32_t made_before = 0;  // as made_count_ when it started
    bool is_cancelled = false;
    std::string depfile;
    bool has_depfile = false;  // the command wrote it
    std::string response;
    std::shared_ptr<Restorer::Asked> asked;  // null: its product is not kept
    std::optional<trace::Report> report;     // none: it was not traced
    bool sees_links = true;                  // as trace::Launch
    std::string why_not_kept;                // by what it was seen to do; empty: nothing
    std::vector<TargetId> ghosts;            // what it looked for and is not there
    std::vector<TargetId> looked;            // what it only looked at
    std::string came;         // what it had looked for in vain, and is there now; empty: nothing
    std::vector<Mark> marks;  // what else it was seen to depend on
    std::string program;      // of those that it ran: one that keeps its product below this root
  };
  struct Urgent {
    std::uint32_t urgency;
    StepId step;
    bool operator<(const Urgent& other) const noexcept {
      return urgency != other.urgency ? urgency < other.urgency : step > other.step;
    }
  };

  bool take_sealed(std::span<const SealedFiles> files);
  bool is_as_recorded(StepId step) const;
  Result<void> plan_anew();
  Result<void> plan_roots();
  Result<BuildOutcome> work_off();
  int hear_changes();
  void heed(const Touched& touched);
  void cancel_touched();
  void drop_superseded(const Job& job, int code);
  void tell_outputs(StepId step, std::span<const ContentId> before);
  bool has_changed_since(const Job& job, TargetId target) const;
  void settle_step(StepId first);  // it is done: whom does that free?
  void consider(StepId step);      // everything before it is done
  bool start_some();
  bool may_start_more();
  void start(StepId step);
  Job describe(StepId step, const std::string& command);
  bool restore(StepId step);
  Result<void> finish(Processes::Ended ended);
  // What a command that succeeded has told, made and read. False: it must run again, or failed after all.
  bool take_results(Job& job, std::string& output, int& code);
  void note_made(StepId step);
  // Whether it came to be while the command ran, which may have looked before.
  bool is_made_since(const Job& job, StepId step) const noexcept {
    return step < made_.size() && made_[step] > job.made_before;
  }
  void record(const Job& job, std::span<const ContentId> read, std::span<const ContentId> outputs,
              std::uint32_t duration_ms);
  void keep_product(const Job& job, const std::vector<TargetId>& discovered,
                    const std::vector<ContentId>& outputs, std::string_view output);
  void explain_restoring(StepId step, std::string_view what, const std::string& why);
  bool learn_depfile(Job& job, std::vector<TargetId>& discovered, std::string& output, int& code);
  bool made_all_outputs(const Job& job, std::vector<ContentId>& outputs, std::string& output, int& code);
  bool are_inputs_unchanged(Job& job, const std::vector<TargetId>& discovered, std::string& changed);
  // Holds what a command was seen to do against what its step declares: what it read is discovered.
  void heed_report(Job& job, std::vector<TargetId>& discovered, std::string& output, int& code);
  bool is_made_of(TargetId target, StepId step) const;
  void keep_from_others(Job& job, const Undeclared::Found& found);
  bool is_traced(StepId step);
  void remove_halves(const Job& job);
  void remove_dropped_outputs(StepId step, std::span<const ContentId> before);
  void interrupt();
  void fail_step(StepId step);
  bool make_parents(const std::string& path);
  void look_at_parents(StepId step);
  void compare(StepId step, const Run& before);
  int inherited_fd();
  BuildListener::Counts counts() const;
  void count_plan();
  bool is_task(const Job& job) const;
  void explain(StepId step, const Verdict& verdict);

  Manifest& manifest_;
  History& history_;
  Log& log_;
  Ingredients& ingredients_;
  StopSignals& signals_;
  const BuildOptions& options_;
  Jobserver* jobserver_;
  BuildListener& listener_;
  Present present_;
  Plan plan_;
  Processes processes_;
  std::unique_ptr<Restorer> restorer_;      // null: nothing is restored
  std::unique_ptr<Undeclared> undeclared_;  // null: nothing is traced
  std::unordered_map<StepId, std::shared_ptr<Restorer::Asked>>
      asked_;  // of steps that must run; null: not asked
  std::vector<TargetId> roots_;
  std::priority_queue<Urgent> ready_;
  std::vector<std::vector<StepId>> pool_waiting_;
  std::vector<unsigned> pool_running_;
  std::vector<std::optional<Job>> jobs_;  // by number of the process
  std::vector<std::uint8_t> attempts_;    // by step, as far as any had to run
  std::vector<std::uint32_t> made_;       // by step, in the order in which they came out well; 0: not yet
  std::uint32_t made_count_ = 0;
  std::vector<bool> ran_;                  // the same
  std::unordered_set<StepId> unrecorded_;  // ended well and would run again in a build that begins anew
  std::unordered_set<StepId> untraced_;    // could not do traced what they can untraced
  bool is_untraced_told_ = false;
  std::unordered_set<std::string> parents_;
  Result<void> trouble_;
  unsigned failures_ = 0;
  unsigned finished_ = 0;
  unsigned total_ = 0;
  std::uint64_t left_ms_ = 0;
  bool needs_plan_ = false;
  bool is_stopped_ = false;
  bool waits_for_token_ = false;
  Changes* changes_ = nullptr;
  CommandsFile* commands_file_ = nullptr;
  std::vector<Unstable>* unstable_ = nullptr;  // of the check that is made; null: none
  bool needs_whole_ = false;
  std::unordered_map<TargetId, std::chrono::steady_clock::time_point> changed_at_;  // heard of while building
  std::chrono::steady_clock::time_point cancel_until_ = std::chrono::steady_clock::time_point::max();
  std::vector<TargetId> different_;
  std::vector<TargetId> unknown_;  // of what was adopted: too fresh, and nobody recorded what it was
};

}  // namespace larder::build
