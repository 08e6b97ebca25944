#include "build/history.hpp"

#include <algorithm>
#include <utility>

namespace larder::build {
namespace {

constexpr std::uint32_t kDurationMax = 0x7fff'ffff;  // milliseconds that a run is kept with
constexpr std::uint32_t kFewMax = 254;               // of a kind, whose number fits a byte
constexpr std::uint32_t kMany = ~std::uint32_t{0};   // stands before numbers that do not

template <typename T>
T& at(std::vector<T>& vector, std::size_t index, const T& empty) {
  if (index >= vector.size()) vector.resize(index + 1, empty);
  return vector[index];
}

}  // namespace

void History::reserve(std::size_t targets, std::size_t steps) {
  contents_.reserve(targets + targets / 4);
  known_.reserve(targets);
  run_of_.reserve(targets);
  path_numbers_.reserve(targets);
  kept_.reserve(steps);
  ids_.reserve(4 * steps);
}

ContentId History::content(TargetId target, const Digest& digest) {
  Known& known = at(known_, target, Known{});
  const ContentId first = known.content;
  if (first != kNone) {
    ContentId id = first;
    do {
      if (contents_[id].digest == digest) return id;
      id = contents_[id].next;
    } while (id != first);
  }
  const auto id = static_cast<ContentId>(contents_.size());
  contents_.push_back({target, first == kNone ? id : contents_[first].next, digest});
  if (first == kNone) {
    known.content = id;
  } else {
    contents_[first].next = id;
  }
  return id;
}

void History::trust(ContentId content, const Imprint& print) {
  Known& known = at(known_, contents_[content].target, Known{});
  if (known.content == content && known.print == print) return;
  if (known.print == Imprint{}) ++live_;
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
  const std::uint32_t* ids = ids_.data() + kept.ids;
  Run run;
  std::uint32_t inputs = *ids & 0xff;
  run.declared = *ids >> 8 & 0xff;
  std::uint32_t discovered = *ids >> 16 & 0xff;
  std::uint32_t outputs = *ids >> 24;
  if (*ids == kMany) {
    inputs = ids[1];
    run.declared = ids[2];
    discovered = ids[3];
    outputs = ids[4];
    ids += 4;
  }
  ++ids;
  run.command = kept.command;
  run.inputs = {ids, inputs};
  run.discovered = {ids + inputs, discovered};
  run.outputs = {ids + inputs + discovered, outputs};
  run.duration_ms = kept.duration_ms;
  run.is_generator = kept.is_generator != 0;
  return run;
}

void History::keep(TargetId output, const Run& run) {
  Kept kept;
  kept.command = run.command;
  kept.ids = static_cast<std::uint32_t>(ids_.size());
  kept.duration_ms = std::min(run.duration_ms, kDurationMax) & kDurationMax;
  kept.is_generator = run.is_generator ? 1 : 0;
  const auto inputs = static_cast<std::uint32_t>(run.inputs.size());
  const auto discovered = static_cast<std::uint32_t>(run.discovered.size());
  const auto outputs = static_cast<std::uint32_t>(run.outputs.size());
  if (std::max({inputs, discovered, outputs}) <= kFewMax) {
    ids_.push_back(inputs | run.declared << 8 | discovered << 16 | outputs << 24);
  } else {
    for (const std::uint32_t word : {kMany, inputs, run.declared, discovered, outputs}) ids_.push_back(word);
  }
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
  for (const auto& ids : {run.inputs, run.discovered, run.outputs})
    for (const ContentId id : ids) (void)content_number(id);
  const std::uint32_t number = path_number(output);
  log_->on_run(number, run);
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
std::uint32_t History::path_number(TargetId target) {
  std::uint32_t& number = at(path_numbers_, target, kNone);
  if (number == kNone) {
    log_->on_path(manifest_->path(target));
    number = next_path_++;
  }
  return number;
}

// Tells those before it, too, so that the log's numbers are ours.
std::uint32_t History::content_number(ContentId content) {
  for (; next_content_ <= content; ++next_content_) {
    const std::uint32_t path = path_number(contents_[next_content_].target);
    log_->on_content(path, contents_[next_content_].digest);
  }
  return content;
}

void History::tell_all(HistoryLog& log, const Manifest& manifest) {
  const History before = std::exchange(*this, History());
  tell(&log, &manifest);
  const auto again = [&](ContentId content) {
    return this->content(before.contents_[content].target, before.contents_[content].digest);
  };
  for (const Known& one : before.known_)
    if (one.print != Imprint{}) trust(again(one.content), one.print);
  std::vector<ContentId> ids;
  for (const TargetId output : before.recorded()) {
    Run run = *before.run(output);
    ids.clear();
    for (const auto& some : {run.inputs, run.discovered, run.outputs})
      for (const ContentId id : some) ids.push_back(again(id));
    run.inputs = std::span(ids).first(run.inputs.size());
    run.discovered = std::span(ids).subspan(run.inputs.size(), run.discovered.size());
    run.outputs = std::span(ids).last(run.outputs.size());
    keep(output, run);
  }
}

}  // namespace larder::build
