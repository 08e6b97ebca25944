#include "build/manifest.hpp"

#include <algorithm>
#include <array>

#include "build/expand.hpp"

namespace larder::build {

std::string_view Scope::value(std::string_view name) const {
  for (const Scope* scope = this; scope != nullptr; scope = scope->parent) {
    const auto found = scope->values.find(name);
    if (found != scope->values.end()) return found->second;
  }
  return {};
}

const Rule* Scope::rule(std::string_view name) const {
  for (const Scope* scope = this; scope != nullptr; scope = scope->parent) {
    const auto found = scope->rules.find(name);
    if (found != scope->rules.end()) return found->second;
  }
  return nullptr;
}

void append_quoted(std::string& command, std::string_view path) {
  static constexpr auto kSafe = [] {
    std::array<bool, 256> safe{};
    for (unsigned c = 1; c < 128; ++c) {
      const char one = static_cast<char>(c);
      safe[c] = is_name_char(one) || one == '/' || one == '+' || one == ',' || one == '@';
    }
    return safe;
  }();
  const auto is_safe = [](char c) { return kSafe[static_cast<unsigned char>(c)]; };
  if (!path.empty() && std::all_of(path.begin(), path.end(), is_safe)) {
    command += path;
    return;
  }
  command += '\'';
  for (const char c : path) {
    if (c == '\'') {
      command += "'\\''";
    } else {
      command += c;
    }
  }
  command += '\'';
}

Manifest::Manifest() {
  pools_.push_back({"", 0});
  pools_.push_back({"console", 1});
  owned_rules_.push_back(std::make_unique<Rule>(Rule{"phony", {}, true}));
  scopes_.push_back(std::make_unique<Scope>());
  top_ = scopes_.back().get();
  top_->rules.emplace("phony", owned_rules_.back().get());
}

TargetId Manifest::find(std::string_view path) const {
  if (is_canonical(path)) return paths_.find(path);
  std::string canonical(path);
  make_canonical(canonical);
  return paths_.find(canonical);
}

std::string_view Manifest::keep_name(std::string_view name) {
  const auto known = names_.find(name);
  return known != names_.end() ? *known : *names_.insert(keep(name)).first;
}

TargetId Manifest::number(std::string_view canonical) {
  const TargetId id = paths_.number(canonical);
  if (id == producers_.size()) {
    producers_.push_back(kNone);
    used_.push_back(false);
  }
  return id;
}

std::uint32_t Manifest::shape(const StepShape& shape) {
  // Most steps are like the one before.
  if (!steps_.empty() && shapes_[steps_.back().shape] == shape) return steps_.back().shape;
  std::size_t hash = 0;
  const auto mix = [&](std::size_t value) { hash = (hash ^ value) * 0x9e37'79b9'7f4a'7c15u; };
  mix(reinterpret_cast<std::uintptr_t>(shape.rule));
  mix(reinterpret_cast<std::uintptr_t>(shape.scope));
  for (const std::uint32_t number :
       {shape.outputs, shape.implicit_outputs, shape.inputs, shape.implicit_inputs, shape.order_only,
        shape.validations, shape.binding_count, shape.pool, shape.dyndep})
    mix(number);
  const auto [first, last] = shapes_by_hash_.equal_range(hash);
  for (auto found = first; found != last; ++found)
    if (shapes_[found->second] == shape) return found->second;
  const auto id = static_cast<std::uint32_t>(shapes_.size());
  shapes_.push_back(shape);
  shapes_by_hash_.emplace(hash, id);
  return id;
}

TargetId Manifest::target(std::string_view path) {
  if (is_canonical(path)) return number(path);
  std::string canonical(path);
  make_canonical(canonical);
  return number(canonical);
}

std::span<const TargetId> Manifest::outputs(StepId step) const noexcept {
  const StepShape& s = this->step(step);
  return {links_.data() + steps_[step].links, s.outputs};
}
std::span<const TargetId> Manifest::explicit_outputs(StepId step) const noexcept {
  const StepShape& s = this->step(step);
  return {links_.data() + steps_[step].links, s.outputs - s.implicit_outputs};
}
std::span<const TargetId> Manifest::inputs(StepId step) const noexcept {
  const StepShape& s = this->step(step);
  return {links_.data() + steps_[step].links + s.outputs, s.inputs - s.order_only};
}
std::span<const TargetId> Manifest::explicit_inputs(StepId step) const noexcept {
  const StepShape& s = this->step(step);
  return {links_.data() + steps_[step].links + s.outputs, s.inputs - s.order_only - s.implicit_inputs};
}
std::span<const TargetId> Manifest::order_only(StepId step) const noexcept {
  const StepShape& s = this->step(step);
  return {links_.data() + steps_[step].links + s.outputs + s.inputs - s.order_only, s.order_only};
}
std::span<const TargetId> Manifest::all_inputs(StepId step) const noexcept {
  const StepShape& s = this->step(step);
  return {links_.data() + steps_[step].links + s.outputs, s.inputs};
}
std::span<const TargetId> Manifest::validations(StepId step) const noexcept {
  const StepShape& s = this->step(step);
  return {links_.data() + steps_[step].links + s.outputs + s.inputs, s.validations};
}

std::string Manifest::expand(StepId step, std::string_view name, bool quotes, std::size_t size_max) const {
  const StepShape& s = this->step(step);
  const Binding* const own_bindings = bindings_.data() + steps_[step].bindings;
  std::string out;
  const auto append_paths = [&](std::span<const TargetId> targets, char between) {
    for (std::size_t i = 0; i < targets.size() && out.size() <= size_max; ++i) {
      if (i != 0) out += between;
      if (quotes) {
        append_quoted(out, paths_[targets[i]]);
      } else {
        out += paths_[targets[i]];
      }
    }
  };
  const auto append_text = [&](std::string_view text) {
    out += text.substr(0, size_max + 1 - std::min(out.size(), size_max + 1));
  };
  const auto append = [&](const auto& self, std::string_view variable) -> void {
    if (out.size() > size_max) return;
    if (variable == "in") return append_paths(explicit_inputs(step), ' ');
    if (variable == "in_newline") return append_paths(explicit_inputs(step), '\n');
    if (variable == "out") return append_paths(explicit_outputs(step), ' ');
    // The last one that was said counts.
    for (std::uint32_t i = s.binding_count; i-- > 0;) {
      const Binding& own = own_bindings[i];
      if (own.name == variable) {
        return append_text(own.value);
      }
    }
    for (auto rule = s.rule->bindings.rbegin(); rule != s.rule->bindings.rend(); ++rule) {
      if (rule->name != variable) continue;
      // The parser refuses rules whose variables name each other in a ring or too often, so this ends.
      build::expand(rule->value, out, [&](std::string_view inner) { self(self, inner); });
      return;
    }
    append_text(s.scope->value(variable));
  };
  append(append, name);
  return out;
}

bool Manifest::is_bound(StepId step, std::string_view name) const {
  const StepShape& s = this->step(step);
  const auto is_it = [&](const Binding& binding) { return binding.name == name; };
  const auto own = bindings_.begin() + steps_[step].bindings;
  return std::any_of(own, own + s.binding_count, is_it) ||
         std::any_of(s.rule->bindings.begin(), s.rule->bindings.end(), is_it) ||
         !s.scope->value(name).empty();
}

std::string Manifest::value(StepId step, std::string_view name) const {
  return expand(step, name, true, kValueMax);
}
std::string Manifest::plain_value(StepId step, std::string_view name) const {
  return expand(step, name, false, kValueMax);
}

Result<void> Manifest::add_dyndep(StepId step, std::span<const TargetId> inputs,
                                  std::span<const TargetId> outputs) {
  for (const TargetId output : outputs) {
    const StepId other = producers_[output];
    if (other != kNone && other != step)
      return fail(Code::invalid_argument, "two steps make " + std::string(paths_[output]));
  }
  StepShape s = this->step(step);
  const auto begin = links_.begin() + steps_[step].links;
  std::vector<TargetId> outs(begin, begin + s.outputs);
  std::vector<TargetId> ins(begin + s.outputs, begin + s.outputs + s.inputs - s.order_only);
  const std::vector<TargetId> rest(begin + s.outputs + s.inputs - s.order_only,
                                   begin + s.outputs + s.inputs + s.validations);
  for (const TargetId output : outputs) {
    if (std::find(outs.begin(), outs.end(), output) != outs.end()) continue;
    outs.push_back(output);
    producers_[output] = step;
    ++s.implicit_outputs;
  }
  for (const TargetId input : inputs) {
    ins.push_back(input);
    used_[input] = true;
    ++s.implicit_inputs;
  }
  s.inputs = static_cast<std::uint32_t>(ins.size()) + s.order_only;
  s.outputs = static_cast<std::uint32_t>(outs.size());
  steps_[step].links = static_cast<std::uint32_t>(links_.size());
  links_.insert(links_.end(), outs.begin(), outs.end());
  links_.insert(links_.end(), ins.begin(), ins.end());
  links_.insert(links_.end(), rest.begin(), rest.end());
  s.is_dyndep_loaded = true;
  steps_[step].shape = shape(s);
  return {};
}

}  // namespace larder::build
