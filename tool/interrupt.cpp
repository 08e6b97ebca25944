#include "tool/interrupt.hpp"

#include <atomic>

namespace larder::tool {
namespace {

std::atomic<bool> g_requested{false};
std::atomic<unsigned> g_checks_left{0};  // 0: not counted

extern "C" void larder_tool_request_stop(int) {
  g_requested.store(true, std::memory_order_relaxed);
}

}  // namespace

Interrupt::Interrupt() noexcept {
  g_requested.store(false, std::memory_order_relaxed);
  struct sigaction action {};
  action.sa_handler = larder_tool_request_stop;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  ::sigaction(SIGINT, &action, &old_interrupt_);
  ::sigaction(SIGTERM, &action, &old_terminate_);
}

Interrupt::~Interrupt() {
  ::sigaction(SIGINT, &old_interrupt_, nullptr);
  ::sigaction(SIGTERM, &old_terminate_, nullptr);
}

void Interrupt::request_after(unsigned checks) noexcept {
  g_checks_left.store(checks, std::memory_order_relaxed);
}

bool Interrupt::is_requested() noexcept {
  if (g_checks_left.load(std::memory_order_relaxed) != 0 && g_checks_left.fetch_sub(1) == 1) {
    g_requested.store(true, std::memory_order_relaxed);
  }
  return g_requested.load(std::memory_order_relaxed);
}

}  // namespace larder::tool
