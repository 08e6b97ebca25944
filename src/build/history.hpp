// What earlier builds found out: the contents that targets have had, the fingerprints that stand for them,
// and of each step what it read and what it made. Contents are numbered, so that a step's record is a list of
// numbers.
//
// I1  A record holds only contents that were the targets' before the step's command began, or that nothing
// can have
//     changed since before it.
// I2  Whatever is here is true for ever: a step is clean if command, inputs and outputs are, now, what some
// record
//     says. So any part of a history may be lost, and what is left is never wrong.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "build/content.hpp"
#include "build/manifest.hpp"

namespace larder::build {

using ContentId = std::uint32_t;

struct Content {
  TargetId target = kNone;
  ContentId next = kNone;  // another content of the same target, all of them in a ring
  Digest digest;
};

// One run of a step that succeeded.
struct Run {
  Digest command;  // of everything but files: build/ingredients.hpp
  std::span<const ContentId>
      inputs;  // as the manifest declares them, then the programs that the command names
  std::span<const ContentId> discovered;  // what a depfile named besides
  std::span<const ContentId> outputs;
  std::uint32_t declared = 0;  // how many of `inputs` the manifest declares
  std::uint32_t duration_ms = 0;
  bool is_generator = false;
};

// Where a history is written as it grows.
class HistoryLog {
 public:
  virtual ~HistoryLog() = default;
  virtual void on_path(std::string_view path) = 0;                        // gets the next number
  virtual void on_content(std::uint32_t path, const Digest& digest) = 0;  // gets the next number
  virtual void on_print(std::uint32_t content, const Imprint& print) = 0;
  virtual void on_run(std::uint32_t output_path, const Run& run) = 0;  // with numbers of the log's
  virtual void on_forget(std::uint32_t output_path) = 0;
};

class History {
 public:
  // Makes room at once, so that a long log fills no table twice.
  void reserve(std::size_t targets, std::size_t steps);
  // The content of a target with this digest.
  ContentId content(TargetId target, const Digest& digest);
  const Content& operator[](ContentId content) const noexcept { return contents_[content]; }
  std::size_t content_count() const noexcept { return contents_.size(); }

  // What stands for the target's content at present; none when nothing does.
  struct Known {
    ContentId content = kNone;
    Imprint print;
  };
  const Known* known(TargetId target) const noexcept {
    return target < known_.size() && known_[target].print != Imprint{} ? &known_[target] : nullptr;
  }
  void trust(ContentId content, const Imprint& print);

  // The last run of the step whose first output this is. Views live until the next keep().
  std::optional<Run> run(TargetId output) const;
  bool has_run(TargetId output) const noexcept { return output < run_of_.size() && run_of_[output] != kNone; }
  void keep(TargetId output, const Run& run);
  void forget(TargetId output);
  // First outputs of all steps that have a run.
  std::vector<TargetId> recorded() const;

  // From now on changes are told to `log` (or to nobody). `manifest` names the targets.
  void tell(HistoryLog* log, const Manifest* manifest) noexcept {
    log_ = log;
    manifest_ = manifest;
  }
  // Tells everything that is live to a log that knows nothing yet.
  void tell_all(HistoryLog& log, const Manifest& manifest);
  // What a log knew already: its numbers of paths, and all contents, which have its numbers.
  void set_path_number(TargetId target, std::uint32_t number);
  void set_contents_told() noexcept { next_content_ = static_cast<std::uint32_t>(contents_.size()); }

  // How much of what was kept counts, for those who decide when to write it anew.
  std::size_t told() const noexcept { return told_; }
  std::size_t live() const noexcept { return live_; }

 private:
  struct Kept {
    Digest command;
    std::uint32_t ids = 0;  // where they stand, behind how many of each kind there are
    std::uint32_t duration_ms : 31 = 0;
    std::uint32_t is_generator : 1 = 0;
  };
  std::uint32_t path_number(TargetId target);
  std::uint32_t content_number(ContentId content);

  std::vector<Content> contents_;
  std::vector<Known> known_;           // by target; one without a print is any of the target's contents
  std::vector<std::uint32_t> run_of_;  // by target: index into kept_
  std::vector<Kept> kept_;
  std::vector<std::uint32_t> ids_;
  HistoryLog* log_ = nullptr;
  const Manifest* manifest_ = nullptr;
  std::vector<std::uint32_t> path_numbers_;  // by target: the log's number
  std::uint32_t next_path_ = 0;
  std::uint32_t next_content_ = 0;  // the log knows those below, by our numbers
  std::size_t told_ = 0;
  std::size_t live_ = 0;
};

}  // namespace larder::build
