// A client for tests of what answers over HTTP.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <string>
#include <string_view>

namespace larder::http {

class Client {
 public:
  explicit Client(unsigned port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_port = htons(static_cast<std::uint16_t>(port));
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd_, reinterpret_cast<const sockaddr*>(&name), sizeof name), 0);
  }
  ~Client() { ::close(fd_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void send(std::string_view text) { (void)::send(fd_, text.data(), text.size(), MSG_NOSIGNAL); }
  // What comes, until it holds `part` or the server ends it.
  std::string until(std::string_view part) {
    std::array<char, 65536> buffer{};
    while (got_.find(part) == got_.npos) {
      const ssize_t got = ::recv(fd_, buffer.data(), buffer.size(), 0);
      if (got <= 0) break;
      got_.append(buffer.data(), static_cast<std::size_t>(got));
    }
    return got_;
  }
  std::string all() { return until(std::string_view("\0never", 6)); }

 private:
  int fd_;
  std::string got_;
};

}  // namespace larder::http
