#include "trace/tracer.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "trace/answers.hpp"
#include "trace/filter.hpp"
#include "trace/keeper.hpp"

namespace larder::trace {

Tracer::Tracer() = default;

Tracer::~Tracer() {
  std::vector<int> listeners;
  for (const auto& answers : outlived_)
    if (const int listener = answers->release(); listener >= 0) listeners.push_back(listener);
  leave_keeper(listeners);
  for (const int listener : listeners) ::close(listener);
}

const std::string& Tracer::why_not() {
  if (is_tried_) return why_not_;
  is_tried_ = true;
  if (make_filter(true).empty()) {
    why_not_ = "tracing is not written for this kind of machine";
    return why_not_;
  }
  const std::vector<std::string> none;
  const auto answers = std::make_shared<Answers>();
  const int socket = answers->begin();
  if (socket < 0) {
    why_not_ = std::string("start a thread: ") + std::strerror(errno);
    return why_not_;
  }
  const Launched launched = launch({.words = none}, socket);
  answers->close_sender();
  if (launched.pid > 0) {
    int status = 0;
    while (::waitpid(launched.pid, &status, 0) < 0 && errno == EINTR) continue;
  }
  const Report report = answers->end();
  const bool has_seen = std::any_of(report.touches.begin(), report.touches.end(),
                                    [](const Touch& touched) { return touched.path == "/"; });
  is_traced_itself_ = launched.trace_error == EBUSY;
  if (is_traced_itself_)
    why_not_ = "somebody traces this process already";
  else if (launched.trace_error != 0)
    why_not_ =
        std::string("the kernel does not tell of system calls: ") + std::strerror(launched.trace_error);
  else if (launched.error != 0)
    why_not_ = std::string("the kernel does not let halted calls go on: ") + std::strerror(launched.error);
  else if (!report.why_unknowable.empty() || !has_seen)
    why_not_ = "the kernel does not show what calls name: " + report.why_unknowable;
  return why_not_;
}

Tracer::Started Tracer::start(const Launch& what) {
  Started started;
  auto answers = std::make_shared<Answers>();
  const int socket = answers->begin();
  if (socket < 0) {
    started.error = errno;
    return started;
  }
  const Launched launched = launch(what, socket);
  answers->close_sender();
  started.pid = launched.pid;
  started.error = launched.error;
  if (launched.error == 0) started.command = std::make_unique<Command>(std::move(answers));
  return started;
}

Report Tracer::end(std::unique_ptr<Command> command) {
  Report report = command->answers_->end();
  std::erase_if(outlived_, [](const auto& answers) { return answers->has_ended(); });
  outlived_.push_back(std::move(command->answers_));
  return report;
}

std::size_t Tracer::outlived() {
  std::erase_if(outlived_, [](const auto& answers) { return answers->has_ended(); });
  return outlived_.size();
}

}  // namespace larder::trace
