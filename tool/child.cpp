#include "tool/child.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace larder::tool {
namespace {

Error start_error(const std::string& program, int error) {
  return {error == ENOENT ? Code::not_found : Code::io, program + ": " + std::strerror(error)};
}

Result<pid_t> start(const std::vector<std::string>& words, const Variables& variables,
                    const posix_spawn_file_actions_t* actions) {
  std::vector<std::string> texts;
  for (char** one = environ; *one != nullptr; ++one) {
    const std::string_view text = *one;
    bool is_replaced = false;
    for (const auto& [name, value] : variables) is_replaced |= text.starts_with(name + '=');
    if (!is_replaced) texts.emplace_back(text);
  }
  for (const auto& [name, value] : variables) texts.push_back(name + '=' + value);
  std::vector<char*> environment;
  for (std::string& text : texts) environment.push_back(text.data());
  environment.push_back(nullptr);
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  pid_t child = -1;
  const int error =
      ::posix_spawnp(&child, arguments[0], actions, nullptr, arguments.data(), environment.data());
  if (error != 0) return tl::unexpected<Error>(start_error(words[0], error));
  return child;
}

int wait_for(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

Result<int> run_child(const std::vector<std::string>& words, const Variables& variables) {
  const Result<pid_t> child = start(words, variables, nullptr);
  if (!child) return tl::unexpected<Error>(child.error());
  return wait_for(*child);
}

Result<std::string> output_of(const std::vector<std::string>& words) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail(Code::io, std::string("pipe: ") + std::strerror(errno));
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  const Result<pid_t> child = start(words, {}, &actions);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  std::string text;
  if (child) {
    char block[4096];
    ssize_t size = 0;
    while ((size = ::read(ends[0], block, sizeof block)) > 0 || (size < 0 && errno == EINTR))
      if (size > 0) text.append(block, static_cast<std::size_t>(size));
    wait_for(*child);
  }
  ::close(ends[0]);
  if (!child) return tl::unexpected<Error>(child.error());
  return text;
}

}  // namespace larder::tool
