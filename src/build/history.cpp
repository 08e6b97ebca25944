#include "build/history.hpp"

#include <algorithm>

namespace larder::build {
namespace {

constexpr std::uint32_t kDurationMax = 0x7fff'ffff;  // milliseconds that a run is kept with

template <typename T>
T& at(std::vector<T>& vector, std::size_t index, const T& empty) {
  if (index >= vector.size()) vector.resize(index + 1, empty);
  return vector[index];
}

}  // namespace

void History::reserve(std::size_t targets, std::size_t steps) {
  contents_.reserve(targets + targets / 4);
  content_numbers_.reserve(targets + targets / 4);
  last_content_.reserve(targets);
  known_.reserve(targets);
  run_of_.reserve(targets);
  path_numbers_.reserve(targets);
  kept_.reserve(steps);
}

ContentId History::content(TargetId target, const Digest& digest) {
  ContentId& head = at(last_content_, target, kNone);
  for (ContentId id = head; id != kNone; id = contents_[id].before)
    if (contents_[id].digest == digest) return id;
  const auto id = static_cast<ContentId>(contents_.size());
  contents_.push_back({target, head, digest});
  head = id;
  return id;
}

void History::trust(ContentId content, const Fingerprint& print) {
  Known& known = at(known_, contents_[content].target, Known{});
  if (known.content == content && known.print == print) return;
  if (known.content == kNone) ++live_;
  known = {content, print};
  ++told_;
  if (log_ != nullptr) {
    const std::uint32_t number = content_number(content);
    log_->on_print(number, print);
  }
}

std::optional<Run> History::run(TargetId output) const {
  if (!has_run(output)) return std::nullopt;
  const Kept& kept = kept_[run_of_[output]];
  const ContentId* ids = ids_.data() + kept.ids;
  Run run;
  run.command = kept.command;
  run.inputs = {ids, kept.inputs};
  run.discovered = {ids + kept.inputs, kept.discovered};
  run.outputs = {ids + kept.inputs + kept.discovered, kept.outputs};
  run.declared = kept.declared;
  run.duration_ms = kept.duration_ms;
  run.is_generator = kept.is_generator != 0;
  return run;
}

void History::keep(TargetId output, const Run& run) {
  Kept kept;
  kept.command = run.command;
  kept.ids = static_cast<std::uint32_t>(ids_.size());
  kept.inputs = static_cast<std::uint32_t>(run.inputs.size());
  kept.declared = run.declared;
  kept.discovered = static_cast<std::uint32_t>(run.discovered.size());
  kept.outputs = static_cast<std::uint32_t>(run.outputs.size());
  kept.duration_ms = std::min(run.duration_ms, kDurationMax) & kDurationMax;
  kept.is_generator = run.is_generator ? 1 : 0;
  for (const auto& ids : {run.inputs, run.discovered, run.outputs})
    ids_.insert(ids_.end(), ids.begin(), ids.end());
  std::uint32_t& place = at(run_of_, output, kNone);
  ++told_;
  if (place == kNone) {
    place = static_cast<std::uint32_t>(kept_.size());
    kept_.push_back(kept);
    ++live_;
  } else {
    kept_[place] = kept;
  }
  if (log_ == nullptr) return;
  translated_.clear();
  for (std::size_t i = kept.ids; i < ids_.size(); ++i) translated_.push_back(content_number(ids_[i]));
  Run told = run;
  told.inputs = std::span(translated_).first(kept.inputs);
  told.discovered = std::span(translated_).subspan(kept.inputs, kept.discovered);
  told.outputs = std::span(translated_).last(kept.outputs);
  const std::uint32_t number = path_number(output);
  log_->on_run(number, told);
}

void History::forget(TargetId output) {
  if (!has_run(output)) return;
  run_of_[output] = kNone;
  ++told_;
  --live_;
  if (log_ != nullptr) {
    const std::uint32_t number = path_number(output);
    log_->on_forget(number);
  }
}

std::vector<TargetId> History::recorded() const {
  std::vector<TargetId> found;
  for (TargetId target = 0; target < run_of_.size(); ++target)
    if (run_of_[target] != kNone) found.push_back(target);
  return found;
}

void History::set_path_number(TargetId target, std::uint32_t number) {
  at(path_numbers_, target, kNone) = number;
  next_path_ = number + 1;
}
void History::set_content_number(ContentId content, std::uint32_t number) {
  at(content_numbers_, content, kNone) = number;
  next_content_ = number + 1;
}

std::uint32_t History::path_number(TargetId target) {
  std::uint32_t& number = at(path_numbers_, target, kNone);
  if (number == kNone) {
    log_->on_path(manifest_->path(target));
    number = next_path_++;
  }
  return number;
}

std::uint32_t History::content_number(ContentId content) {
  if (const std::uint32_t known = at(content_numbers_, content, kNone); known != kNone) return known;
  const std::uint32_t path = path_number(contents_[content].target);
  log_->on_content(path, contents_[content].digest);
  return content_numbers_[content] = next_content_++;
}

void History::tell_all(HistoryLog& log, const Manifest& manifest) {
  path_numbers_.clear();
  content_numbers_.clear();
  next_path_ = next_content_ = 0;
  told_ = live_ = 0;
  tell(&log, &manifest);
  const std::vector<Known> known = std::move(known_);
  known_.clear();
  for (const Known& one : known)
    if (one.content != kNone) trust(one.content, one.print);
  const std::vector<TargetId> outputs = recorded();
  const History before = *this;
  run_of_.clear();
  kept_.clear();
  ids_.clear();
  for (const TargetId output : outputs) keep(output, *before.run(output));
}

}  // namespace larder::build
