#include "tool/progress.hpp"

#include <algorithm>

namespace larder::tool {
namespace {

constexpr std::string_view kClearLine = "\r\033[K";

}  // namespace

Progress::Progress(Console& console, std::string what, std::uint64_t total)
    : console_(console), what_(std::move(what)), total_(total) {
  if (console_.err_is_terminal()) painter_ = std::thread([this] { draw_until_stopped(); });
}

Progress::~Progress() {
  if (!painter_.joinable()) return;
  {
    const MutexLock lock(mutex_);
    is_stopped_ = true;
  }
  stopped_.notify_all();
  painter_.join();
}

void Progress::draw_until_stopped() {
  const MutexLock lock(mutex_);
  auto next = std::chrono::steady_clock::now() + kSilence;
  bool has_drawn = false;
  while (!is_stopped_) {
    const auto left = next - std::chrono::steady_clock::now();
    if (left.count() > 0) {
      stopped_.wait_for(mutex_, left);
      continue;
    }
    console_.err(std::string(kClearLine) + line());
    has_drawn = true;
    next = std::chrono::steady_clock::now() + kRedraw;
  }
  if (has_drawn) console_.err(kClearLine);
}

std::string Progress::line() const {
  const std::uint64_t done = done_.load(std::memory_order_relaxed);
  const std::uint64_t total = total_.load(std::memory_order_relaxed);
  std::string text = what_ + ": " + std::to_string(done);
  if (total != 0) {
    const std::uint64_t percent = std::min<std::uint64_t>(100, done * 100 / total);
    text += " / " + std::to_string(total) + ", " + std::to_string(percent) + " %";
  }
  const unsigned width = console_.width();
  return text.size() < width ? text : text.substr(0, width - 1);
}

}  // namespace larder::tool
