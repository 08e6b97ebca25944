// A manifest is what build.ninja and the files it includes say: steps that make targets out of targets by the
// command of a rule. Targets and steps are numbered; a manifest is read once and then changed by dyndep files
// only. Used by one thread at a time; what is const may be read by many.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "build/paths.hpp"
#include "larder/result.hpp"

namespace larder::build {

// The version of ninja whose manifests are understood, for `ninja_required_version`.
inline constexpr int kNinjaMajor = 1;
inline constexpr int kNinjaMinor = 12;

// What variables may come out as, so that no manifest can fill the memory: one value of a step, and a file's
// values and paths together, which may grow with its text. What real manifests say is far below.
inline constexpr std::size_t kValueMax = std::size_t{64} << 20;
inline constexpr std::size_t kExpansionMax = std::size_t{8} << 20;
inline constexpr std::size_t kExpansionPerByte = 64;
// References that a rule's variable may come to when the others are put in.
inline constexpr std::size_t kReferencesMax = 1'000'000;
// Aliases of aliases are followed so far.
inline constexpr unsigned kAliasDepthMax = 64;
// Files that are included, each time counted.
inline constexpr std::size_t kIncludesMax = 1'000'000;

struct Binding {
  std::string_view name;
  std::string_view value;  // of a rule: as written, with its `$`; elsewhere expanded
};

struct Rule {
  std::string_view name;
  std::vector<Binding> bindings;
  bool is_phony = false;
};

// Variables and rules of a file; subninja gives its file a scope of its own below.
struct Scope {
  const Scope* parent = nullptr;
  std::unordered_map<std::string_view, std::string_view> values;
  std::unordered_map<std::string_view, const Rule*> rules;

  std::string_view value(std::string_view name) const;
  const Rule* rule(std::string_view name) const;
};

struct Pool {
  std::string_view name;
  unsigned depth = 0;  // 0: no limit
};
inline constexpr std::uint32_t kNoPool = 0;
inline constexpr std::uint32_t kConsolePool = 1;

// What many steps have alike is kept once for all of them.
struct StepShape {
  const Rule* rule = nullptr;
  const Scope* scope = nullptr;
  std::uint32_t outputs = 0;           // explicit ones first
  std::uint32_t implicit_outputs = 0;  // how many of them the command does not name by $out
  std::uint32_t inputs = 0;            // explicit, implicit, order-only
  std::uint32_t implicit_inputs = 0;
  std::uint32_t order_only = 0;
  std::uint32_t validations = 0;
  std::uint32_t binding_count = 0;
  std::uint32_t pool = kNoPool;
  TargetId dyndep = kNone;  // names more inputs and outputs
  bool is_dyndep_loaded = false;
  friend bool operator==(const StepShape&, const StepShape&) = default;
};

struct Step {
  std::uint32_t shape = 0;
  std::uint32_t links = 0;     // where its targets stand: outputs, inputs, validations
  std::uint32_t bindings = 0;  // where its own bindings stand
};

class Manifest {
 public:
  Manifest();
  Manifest(const Manifest&) = delete;
  Manifest& operator=(const Manifest&) = delete;

  // Targets.
  std::size_t target_count() const noexcept { return paths_.size(); }
  std::string_view path(TargetId target) const noexcept { return paths_[target]; }
  // kNone: no step makes it.
  StepId producer(TargetId target) const noexcept { return producers_[target]; }
  // Whether a step of the manifest takes it in any way.
  bool is_used(TargetId target) const noexcept { return used_[target]; }
  // kNone when nothing is called so. The path need not be canonical.
  TargetId find(std::string_view path) const;
  // As find, and numbers what is new.
  TargetId target(std::string_view path);
  std::span<const TargetId> defaults() const noexcept { return defaults_; }

  // Steps.
  std::size_t step_count() const noexcept { return steps_.size(); }
  const StepShape& step(StepId step) const noexcept { return shapes_[steps_[step].shape]; }
  std::span<const TargetId> outputs(StepId step) const noexcept;
  std::span<const TargetId> explicit_outputs(StepId step) const noexcept;
  // Explicit and implicit ones: their content decides.
  std::span<const TargetId> inputs(StepId step) const noexcept;
  std::span<const TargetId> explicit_inputs(StepId step) const noexcept;
  std::span<const TargetId> order_only(StepId step) const noexcept;
  // Content inputs and order-only ones.
  std::span<const TargetId> all_inputs(StepId step) const noexcept;
  std::span<const TargetId> validations(StepId step) const noexcept;
  bool is_phony(StepId step) const noexcept { return this->step(step).rule->is_phony; }

  // What a variable of a step comes out as; `$in` and `$out` in it quoted for the shell. More than kValueMax
  // bytes stand for a value that is too long: the first ones of it.
  std::string value(StepId step, std::string_view name) const;
  // The same with paths as they are: for depfile, rspfile, dyndep.
  std::string plain_value(StepId step, std::string_view name) const;
  bool is_set(StepId step, std::string_view name) const {
    return is_bound(step, name) && !value(step, name).empty();
  }

  std::span<const Pool> pools() const noexcept { return pools_; }
  // A variable of the outermost file: builddir.
  std::string_view top_value(std::string_view name) const { return top_->value(name); }
  // The files that were read, as they were named.
  std::span<const std::string> files() const noexcept { return files_; }
  std::span<const Rule* const> rules() const noexcept { return rules_; }

  // Adds what a dyndep file says of a step. An output of another step is refused.
  Result<void> add_dyndep(StepId step, std::span<const TargetId> inputs, std::span<const TargetId> outputs);

 private:
  friend class Parser;
  std::string_view keep(std::string_view text) { return arena_.keep(text); }
  // A name that comes again and again.
  std::string_view keep_name(std::string_view name);
  TargetId number(std::string_view canonical);
  std::uint32_t shape(const StepShape& shape);
  std::string expand(StepId step, std::string_view name, bool quotes, std::size_t size_max) const;
  // Whether step, rule or file say it at all.
  bool is_bound(StepId step, std::string_view name) const;

  Arena arena_;
  std::unordered_set<std::string_view> names_;
  PathTable paths_;
  std::vector<StepId> producers_;
  std::vector<bool> used_;
  std::vector<Step> steps_;
  std::vector<StepShape> shapes_;
  std::unordered_multimap<std::size_t, std::uint32_t> shapes_by_hash_;
  std::vector<TargetId> links_;
  std::vector<Binding> bindings_;
  std::vector<Pool> pools_;
  std::vector<TargetId> defaults_;
  std::vector<std::unique_ptr<Scope>> scopes_;
  std::vector<std::unique_ptr<Rule>> owned_rules_;
  std::vector<const Rule*> rules_;
  std::vector<std::string> files_;
  Scope* top_ = nullptr;
};

// How a manifest gets at files: the text, or why not.
using ReadFile = std::function<Result<std::string>(const std::string& path)>;

// Reads `path` and what it includes. Errors in the text are syntax errors (build/syntax_error.hpp).
Result<std::unique_ptr<Manifest>> read_manifest(const std::string& path, const ReadFile& read);

// `path` as one word for the shell.
void append_quoted(std::string& command, std::string_view path);

}  // namespace larder::build
