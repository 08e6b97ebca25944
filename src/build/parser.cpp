// Reads manifests: one function per kind of statement.
#include <algorithm>
#include <array>

#include "base/number.hpp"
#include "build/cursor.hpp"
#include "build/expand.hpp"
#include "build/manifest.hpp"
#include "build/syntax_error.hpp"

namespace larder::build {
namespace {

constexpr std::size_t kIncludeDepthMax = 64;
constexpr std::size_t kStepSizeLeast = 24;  // of a step's text, by and large
constexpr std::size_t kStepsAtOnceMax = 1'000'000;
constexpr std::size_t kNameMax = 4096;  // of a pool or a dyndep file, once its variables are in

constexpr std::array<std::string_view, 11> kRuleVariables = {
    "command", "depfile", "deps",    "description",     "dyndep",          "generator",
    "pool",    "restat",  "rspfile", "rspfile_content", "msvc_deps_prefix"};

bool is_rule_variable(std::string_view name) {
  return std::find(kRuleVariables.begin(), kRuleVariables.end(), name) != kRuleVariables.end();
}

// Whether `version` (`1.10`, `1.8.2.git`) is one that is understood here.
bool is_version_met(std::string_view version) {
  const int major = take_number<int>(version).value_or(0);
  if (version.starts_with('.')) version.remove_prefix(1);
  const int minor = take_number<int>(version).value_or(0);
  return major < kNinjaMajor || (major == kNinjaMajor && minor <= kNinjaMinor);
}

}  // namespace

class Parser {
 public:
  Parser(Manifest& manifest, const ReadFile& read) : manifest_(manifest), read_(read) {}

  Result<void> parse_all(const std::string& path) { return parse_file(path, *manifest_.top_); }
  Result<void> parse_file(const std::string& path, Scope& scope) {
    Result<std::string> text = read_(path);
    if (!text) return tl::unexpected(text.error());
    expansion_left_ += text->size() * kExpansionPerByte;
    make_room(text->size());
    manifest_.files_.push_back(path);
    open_.push_back(path);
    try {
      Result<void> parsed = parse(*text, scope);
      open_.pop_back();
      return parsed;
    } catch (const Wrong& wrong) {
      return tl::unexpected(
          syntax_error(path, *text, static_cast<std::size_t>(wrong.at - text->data()), wrong.what));
    }
  }

 private:
  // So that no table is filled twice: pages that are not used cost nothing.
  void make_room(std::size_t size) {
    const std::size_t steps = manifest_.steps_.size() + std::min(size / kStepSizeLeast, kStepsAtOnceMax);
    if (steps < 2 * manifest_.steps_.capacity()) return;  // they grow by themselves
    manifest_.steps_.reserve(steps);
    manifest_.links_.reserve(2 * steps);
    manifest_.producers_.reserve(2 * steps);
    manifest_.paths_.reserve(2 * steps);
  }
  Result<void> parse(std::string_view text, Scope& scope);
  void parse_rule(Cursor& cursor, Scope& scope);
  void parse_pool(Cursor& cursor, const Scope& scope);
  void parse_build(Cursor& cursor, Scope& scope);
  void parse_default(Cursor& cursor, const Scope& scope);
  Result<void> parse_include(Cursor& cursor, Scope& scope, bool own_scope);
  void parse_variable(Cursor& cursor, Scope& scope, std::string_view name);
  void refuse_endless(const Rule& rule, const char* at) const;
  // Path after path up to something else.
  std::uint32_t parse_paths(Cursor& cursor, const Scope& scope, std::vector<TargetId>& targets);
  TargetId to_target(std::string_view raw, bool has_dollar, const Scope& scope, const char* at);
  std::string_view evaluate(std::string_view raw, bool has_dollar, const Scope& scope);
  // What `raw` comes out as, in scratch_.
  void expand_in(const Scope& scope, std::string_view raw);
  void bind_step(StepId id, const char* at);

  Manifest& manifest_;
  const ReadFile& read_;
  std::vector<std::string> open_;  // the files that are being read, the outermost first
  std::vector<TargetId> targets_;
  std::string scratch_;
  std::size_t expansion_left_ = kExpansionMax;
};

Result<void> Parser::parse(std::string_view text, Scope& scope) {
  Cursor cursor(text);
  if (text.starts_with("\xef\xbb\xbf"))
    cursor.refuse("a byte order mark cannot stand here: save the file without");
  for (;;) {
    cursor.skip_empty_lines();
    if (cursor.is_at_end()) return {};
    if (cursor.peek() == '\t') cursor.refuse("tabs do not indent here: use spaces");
    if (cursor.peek() == ' ')
      cursor.refuse("nothing before this line takes variables: expected a line without indentation");
    const std::string_view word = cursor.name();
    if (word == "build") {
      parse_build(cursor, scope);
    } else if (word == "rule") {
      parse_rule(cursor, scope);
    } else if (word == "pool") {
      parse_pool(cursor, scope);
    } else if (word == "default") {
      parse_default(cursor, scope);
    } else if (word == "include" || word == "subninja") {
      if (auto included = parse_include(cursor, scope, word == "subninja"); !included) return included;
    } else if (word.empty()) {
      cursor.refuse("expected build, rule, pool, default, include, subninja or a variable");
    } else {
      parse_variable(cursor, scope, word);
    }
  }
}

void Parser::parse_variable(Cursor& cursor, Scope& scope, std::string_view name) {
  if (!cursor.take('=')) cursor.refuse("expected `=` after the variable's name");
  const char* const value_at = cursor.at();
  bool has_dollar = false;
  const std::string_view raw = cursor.value(has_dollar);
  const std::string_view value = evaluate(raw, has_dollar, scope);
  if (name == "ninja_required_version" && !is_version_met(value)) {
    Cursor::refuse_at(value_at, "this manifest needs ninja " + std::string(value) +
                                    "; larder understands those of ninja up to " +
                                    std::to_string(kNinjaMajor) + '.' + std::to_string(kNinjaMinor));
  }
  scope.values[manifest_.keep_name(name)] = value;
}

std::string_view Parser::evaluate(std::string_view raw, bool has_dollar, const Scope& scope) {
  if (!has_dollar) return manifest_.keep(raw);
  expand_in(scope, raw);
  return manifest_.keep(scratch_);
}

void Parser::expand_in(const Scope& scope, std::string_view raw) {
  scratch_.clear();
  expand(raw, scratch_, [&](std::string_view name) {
    const std::string_view value = scope.value(name);
    if (value.size() > expansion_left_)
      Cursor::refuse_at(raw.data(), "the variables of this manifest come out longer than " +
                                        std::to_string(kExpansionPerByte) + " times its text");
    expansion_left_ -= value.size();
    scratch_ += value;
  });
}

void Parser::parse_rule(Cursor& cursor, Scope& scope) {
  const char* const at = cursor.at();
  const std::string_view name = cursor.name();
  if (name.empty()) cursor.refuse("expected the rule's name");
  cursor.end_line("the end of the line after the rule's name");
  if (scope.rules.contains(name)) Cursor::refuse_at(at, "rule " + std::string(name) + " is there already");
  auto rule = std::make_unique<Rule>();
  rule->name = manifest_.keep(name);
  while (cursor.is_indented()) {
    cursor.skip_blanks();
    const char* const variable_at = cursor.at();
    const std::string_view variable = cursor.name();
    if (variable.empty()) cursor.refuse("expected a variable's name");
    if (!cursor.take('=')) cursor.refuse("expected `=` after the variable's name");
    bool has_dollar = false;
    const std::string_view value = cursor.value(has_dollar);
    if (!is_rule_variable(variable))
      Cursor::refuse_at(variable_at, "a rule has no variable " + std::string(variable));
    // The last one that is said counts.
    const auto before = std::find_if(rule->bindings.begin(), rule->bindings.end(),
                                     [&](const Binding& one) { return one.name == variable; });
    if (before == rule->bindings.end()) {
      rule->bindings.push_back({manifest_.keep_name(variable), manifest_.keep(value)});
    } else {
      before->value = manifest_.keep(value);
    }
  }
  const auto says = [&](std::string_view variable) {
    return std::any_of(rule->bindings.begin(), rule->bindings.end(),
                       [&](const Binding& one) { return one.name == variable && !one.value.empty(); });
  };
  if (!says("command")) Cursor::refuse_at(at, "rule " + std::string(name) + " needs a line `command =`");
  if (says("rspfile") != says("rspfile_content"))
    Cursor::refuse_at(at, "rule " + std::string(name) + " needs rspfile and rspfile_content together");
  refuse_endless(*rule, at);
  scope.rules.emplace(rule->name, rule.get());
  manifest_.rules_.push_back(rule.get());
  manifest_.owned_rules_.push_back(std::move(rule));
}

void Parser::refuse_endless(const Rule& rule, const char* at) const {
  constexpr std::size_t kUnknown = ~std::size_t{0};
  constexpr std::size_t kOpen = kUnknown - 1;
  // How many references each variable comes to, counted once.
  std::vector<std::size_t> counts(rule.bindings.size(), kUnknown);
  const auto count = [&](const auto& self, std::string_view name) -> std::size_t {
    const auto found = std::find_if(rule.bindings.begin(), rule.bindings.end(),
                                    [&](const Binding& one) { return one.name == name; });
    if (found == rule.bindings.end()) return 1;
    std::size_t& counted = counts[static_cast<std::size_t>(found - rule.bindings.begin())];
    if (counted == kOpen)
      Cursor::refuse_at(at, "the variable " + std::string(name) + " of rule " + std::string(rule.name) +
                                " is made from itself");
    if (counted != kUnknown) return counted;
    counted = kOpen;
    std::size_t sum = 1;
    std::string unused;
    expand(found->value, unused, [&](std::string_view inner) { sum += self(self, inner); });
    if (sum > kReferencesMax)
      Cursor::refuse_at(at, "the variables of rule " + std::string(rule.name) +
                                " name each other more than " + std::to_string(kReferencesMax) + " times");
    return counted = sum;
  };
  for (const Binding& binding : rule.bindings) (void)count(count, binding.name);
}

void Parser::parse_pool(Cursor& cursor, const Scope& scope) {
  const char* const at = cursor.at();
  const std::string_view name = cursor.name();
  if (name.empty()) cursor.refuse("expected the pool's name");
  cursor.end_line("the end of the line after the pool's name");
  for (const Pool& pool : manifest_.pools_)
    if (pool.name == name) Cursor::refuse_at(at, "pool " + std::string(name) + " is there already");
  int depth = -1;
  while (cursor.is_indented()) {
    cursor.skip_blanks();
    const char* const variable_at = cursor.at();
    if (cursor.name() != "depth") Cursor::refuse_at(variable_at, "a pool has the variable depth only");
    if (!cursor.take('=')) cursor.refuse("expected `=` after depth");
    const char* const value_at = cursor.at();
    bool has_dollar = false;
    const std::string_view raw = cursor.value(has_dollar);
    const std::string_view value = evaluate(raw, has_dollar, scope);
    depth = to_number<int>(value).value_or(-1);
    if (depth < 0) Cursor::refuse_at(value_at, "expected a number of steps, 0 for no limit");
  }
  if (depth < 0) Cursor::refuse_at(at, "pool " + std::string(name) + " needs a line `depth =`");
  manifest_.pools_.push_back({manifest_.keep(name), static_cast<unsigned>(depth)});
}

TargetId Parser::to_target(std::string_view raw, bool has_dollar, const Scope& scope, const char* at) {
  if (!has_dollar) {
    if (is_canonical(raw)) return manifest_.number(raw);
    scratch_ = raw;
  } else {
    expand_in(scope, raw);
    if (scratch_.empty()) Cursor::refuse_at(at, "this path is empty once its variables are in");
  }
  make_canonical(scratch_);
  return manifest_.number(scratch_);
}

std::uint32_t Parser::parse_paths(Cursor& cursor, const Scope& scope, std::vector<TargetId>& targets) {
  std::uint32_t count = 0;
  for (;;) {
    const char* const at = cursor.at();
    bool has_dollar = false;
    const std::string_view raw = cursor.path(has_dollar);
    if (raw.empty()) return count;
    targets.push_back(to_target(raw, has_dollar, scope, at));
    ++count;
  }
}

// Steps may say variables of their own before paths are expanded, so the paths wait until those are read.
void Parser::parse_build(Cursor& cursor, Scope& scope) {
  struct RawPath {
    std::string_view raw;
    bool has_dollar;
    const char* at;
  };
  static thread_local std::vector<RawPath> paths;
  paths.clear();
  bool any_dollar = false;
  const auto read_paths = [&] {
    std::uint32_t count = 0;
    for (;; ++count) {
      const char* const at = cursor.at();
      bool has_dollar = false;
      const std::string_view raw = cursor.path(has_dollar);
      if (raw.empty()) return count;
      any_dollar = any_dollar || has_dollar;
      paths.push_back({raw, has_dollar, at});
    }
  };
  const char* const begin = cursor.at();
  StepShape step;
  step.scope = &scope;
  step.outputs = read_paths();
  if (cursor.take('|')) {
    step.implicit_outputs = read_paths();
    step.outputs += step.implicit_outputs;
  }
  if (step.outputs == 0) cursor.refuse("expected the path of an output");
  if (!cursor.take(':')) cursor.refuse("expected `:` after the outputs");
  const char* const rule_at = cursor.at();
  const std::string_view rule_name = cursor.name();
  if (rule_name.empty()) cursor.refuse("expected the name of a rule");
  step.rule = scope.rule(rule_name);
  if (step.rule == nullptr) Cursor::refuse_at(rule_at, "there is no rule " + std::string(rule_name));
  step.inputs = read_paths();
  while (cursor.peek() == '|') {
    const char* const bar = cursor.at();
    cursor.take('|');
    const bool joined = cursor.at() == bar + 1;
    if (joined && cursor.peek() == '@') {
      cursor.take('@');
      if (step.validations != 0) Cursor::refuse_at(bar, "validations were said already");
      step.validations = read_paths();
      if (cursor.peek() == '|') cursor.refuse("validations are the last thing of a build line");
    } else if (joined && cursor.peek() == '|') {
      cursor.take('|');
      if (step.order_only != 0) Cursor::refuse_at(bar, "order-only inputs were said already");
      step.order_only = read_paths();
      step.inputs += step.order_only;
    } else {
      if (step.implicit_inputs != 0 || step.order_only != 0)
        Cursor::refuse_at(bar, "implicit inputs stand once, before order-only ones");
      step.implicit_inputs = read_paths();
      step.inputs += step.implicit_inputs;
    }
  }
  cursor.end_line("a path, `|`, `||`, `|@` or the end of the line");

  const auto bindings = static_cast<std::uint32_t>(manifest_.bindings_.size());
  // Variables of the step that its paths name: looked up in a scope of its own only where there is a `$`.
  while (cursor.is_indented()) {
    cursor.skip_blanks();
    const std::string_view variable = cursor.name();
    if (variable.empty()) cursor.refuse("expected a variable's name");
    if (!cursor.take('=')) cursor.refuse("expected `=` after the variable's name");
    bool has_dollar = false;
    const std::string_view raw = cursor.value(has_dollar);
    const std::string_view value = evaluate(raw, has_dollar, scope);
    manifest_.bindings_.push_back({manifest_.keep_name(variable), value});
    ++step.binding_count;
  }
  Scope own;
  const Scope* path_scope = &scope;
  if (any_dollar && step.binding_count != 0) {
    own.parent = &scope;
    for (std::uint32_t i = 0; i < step.binding_count; ++i) {
      const Binding& binding = manifest_.bindings_[bindings + i];
      own.values[binding.name] = binding.value;
    }
    path_scope = &own;
  }
  const auto id = static_cast<StepId>(manifest_.steps_.size());
  auto& links = manifest_.links_;
  const auto first_link = static_cast<std::uint32_t>(links.size());
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const TargetId target = to_target(paths[i].raw, paths[i].has_dollar, *path_scope, paths[i].at);
    if (i < step.outputs) {
      const StepId other = manifest_.producers_[target];
      if (other != kNone)
        Cursor::refuse_at(paths[i].at, other == id ? "this output is named twice"
                                                   : "another build line makes this output, too");
      manifest_.producers_[target] = id;
    } else if (i < step.outputs + step.inputs) {
      manifest_.used_[target] = true;
    }
    links.push_back(target);
  }
  manifest_.steps_.push_back({manifest_.shape(step), first_link, bindings});
  bind_step(id, begin);
}

void Parser::bind_step(StepId id, const char* at) {
  StepShape step = manifest_.step(id);
  const std::uint32_t first_link = manifest_.steps_[id].links;
  auto& links = manifest_.links_;
  if (step.rule->is_phony) {
    // Old versions of CMake write aliases that name themselves: nothing is meant by it.
    const auto first = links.begin() + first_link + step.outputs;
    const auto content_end = first + (step.inputs - step.order_only);
    const TargetId self = links[first_link];
    if (step.outputs == 1) {
      const auto kept = std::remove(first, content_end, self);
      const auto removed = static_cast<std::uint32_t>(content_end - kept);
      if (removed != 0) {
        links.erase(kept, content_end);
        step.inputs -= removed;
        const std::uint32_t explicit_left = step.inputs - step.order_only > step.implicit_inputs
                                                ? step.implicit_inputs
                                                : step.inputs - step.order_only;
        step.implicit_inputs = explicit_left;
        manifest_.steps_[id].shape = manifest_.shape(step);
      }
    }
    return;
  }
  const std::string pool = manifest_.expand(id, "pool", true, kNameMax);
  if (!pool.empty()) {
    const auto found = std::find_if(manifest_.pools_.begin(), manifest_.pools_.end(),
                                    [&](const Pool& one) { return one.name == pool; });
    if (found == manifest_.pools_.end()) Cursor::refuse_at(at, "there is no pool " + pool);
    step.pool = static_cast<std::uint32_t>(found - manifest_.pools_.begin());
  }
  const std::string dyndep = manifest_.expand(id, "dyndep", false, kNameMax);
  if (!dyndep.empty()) {
    step.dyndep = manifest_.target(dyndep);
    const auto inputs = manifest_.all_inputs(id);
    if (std::find(inputs.begin(), inputs.end(), step.dyndep) == inputs.end())
      Cursor::refuse_at(at, "the dyndep file " + dyndep + " must be one of the inputs");
  }
  if (!pool.empty() || !dyndep.empty()) manifest_.steps_[id].shape = manifest_.shape(step);
}

void Parser::parse_default(Cursor& cursor, const Scope& scope) {
  const char* const at = cursor.at();
  targets_.clear();
  if (parse_paths(cursor, scope, targets_) == 0) cursor.refuse("expected the path of a target");
  cursor.end_line("a path or the end of the line");
  for (const TargetId target : targets_) {
    if (manifest_.producers_[target] == kNone && !manifest_.used_[target])
      Cursor::refuse_at(at, "nothing above says what " + std::string(manifest_.path(target)) + " is");
    manifest_.defaults_.push_back(target);
  }
}

Result<void> Parser::parse_include(Cursor& cursor, Scope& scope, bool own_scope) {
  const char* const at = cursor.at();
  bool has_dollar = false;
  const std::string_view raw = cursor.path(has_dollar);
  if (raw.empty()) cursor.refuse("expected the path of a file");
  const std::string path(evaluate(raw, has_dollar, scope));
  cursor.end_line("the end of the line after the path");
  if (std::find(open_.begin(), open_.end(), path) != open_.end())
    Cursor::refuse_at(at, "this file is being read already: it would include itself without end");
  if (open_.size() > kIncludeDepthMax)
    Cursor::refuse_at(at, "files include each other more than " + std::to_string(kIncludeDepthMax) + " deep");
  if (manifest_.files_.size() > kIncludesMax)
    Cursor::refuse_at(at, "files are included more than " + std::to_string(kIncludesMax) + " times");
  Scope* inner = &scope;
  if (own_scope) {
    manifest_.scopes_.push_back(std::make_unique<Scope>());
    inner = manifest_.scopes_.back().get();
    inner->parent = &scope;
  }
  Result<void> included = parse_file(path, *inner);
  if (!included && included.error().code != Code::invalid_argument)
    Cursor::refuse_at(at, "this file cannot be read: " + included.error().what);
  return included;
}

Result<std::unique_ptr<Manifest>> read_manifest(const std::string& path, const ReadFile& read) {
  auto manifest = std::make_unique<Manifest>();
  Parser parser(*manifest, read);
  if (auto parsed = parser.parse_all(path); !parsed) return tl::unexpected(parsed.error());
  return manifest;
}

}  // namespace larder::build
