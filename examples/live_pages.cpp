// A forum whose pages are nodes of a graph: a page per post, and beside each a sidebar of all titles. A page
// that was asked for once is live; a comment makes and announces one page, a title all of them.
//
//     live_pages 8000     serves on that port and takes lines `title POST TEXT` and `comment POST TEXT`
//     live_pages          asks itself for some pages, changes some posts, and says what was made
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string>

#include <larder/larder.hpp>

namespace {

constexpr int kPosts = 5;

class Forum {
 public:
  Forum() {
    auto batch = graph_.batch();
    for (int post = 0; post < kPosts; ++post) {
      batch.set(title_, post, "Post " + std::to_string(post));
      batch.set(comments_, post, "");
    }
    (void)batch.commit();
  }

  larder::Result<std::unique_ptr<larder::GraphServer>> serve(unsigned port) {
    return larder::GraphServer::listen(
        graph_, page_,
        {.port = port, .accepts = [](const larder::PageKey& asked) { return asked.first == "/"; }});
  }
  void set_title(int post, const std::string& text) { (void)graph_.set(title_, post, text); }
  void add_comment(int post, const std::string& text) {
    const auto before = graph_.get(comments_, post);
    if (before) (void)graph_.set(comments_, post, *before + "<p>" + text);
  }
  int pages_made() const { return pages_made_; }

 private:
  larder::Graph graph_;
  larder::Input<int, std::string> title_ = graph_.input<int, std::string>("title");
  larder::Input<int, std::string> comments_ = graph_.input<int, std::string>("comments");
  std::atomic<int> pages_made_{0};

  larder::Function<larder::NoKey, std::string> sidebar_ =
      graph_.function("sidebar", [this](larder::Context& context) {
        std::string list = "<ul>";
        for (int post = 0; post < kPosts; ++post) {
          const std::string id = std::to_string(post);
          list += "<li><a href=\"/?post=" + id + "\">" + context.get(title_, post) + "</a>";
        }
        return list + "</ul>";
      });
  larder::Function<larder::PageKey, std::string> page_ =
      graph_.function("page", [this](larder::Context& context, const larder::PageKey& asked) {
        ++pages_made_;
        const int post = std::atoi(larder::query_value(asked, "post").c_str());
        return "<!doctype html><body>" + context.get(sidebar_) + "<h1>" + context.get(title_, post) +
               "</h1>" + context.get(comments_, post) + "</body>";
      });
};

std::string ask(unsigned port, const std::string& target) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_port = htons(static_cast<std::uint16_t>(port));
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::string answer;
  const std::string request = "GET " + target + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
  if (connect(fd, reinterpret_cast<const sockaddr*>(&name), sizeof name) == 0 &&
      send(fd, request.data(), request.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(request.size())) {
    std::array<char, 4096> buffer;
    for (ssize_t got; (got = recv(fd, buffer.data(), buffer.size(), 0)) > 0;)
      answer.append(buffer.data(), static_cast<std::size_t>(got));
  }
  close(fd);
  return answer;
}

int story(Forum& forum, unsigned port) {
  for (int post = 0; post < kPosts; ++post) (void)ask(port, "/?post=" + std::to_string(post));
  const int at_first = forum.pages_made();
  forum.add_comment(2, "a word");
  const int by_comment = forum.pages_made() - at_first;
  forum.set_title(2, "Another title");
  const int by_title = forum.pages_made() - at_first - by_comment;
  const bool is_fresh = ask(port, "/?post=4").find("Another title") != std::string::npos &&
                        ask(port, "/?post=2").find("a word") != std::string::npos;
  std::printf("pages made: %d when asked for, %d by a comment, %d by a title\n", at_first, by_comment,
              by_title);
  return is_fresh && at_first == kPosts && by_comment == 1 && by_title == kPosts ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Forum forum;
  const auto server = forum.serve(argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : 0);
  if (!server) {
    std::fprintf(stderr, "live_pages: %s\n", server.error().what.c_str());
    return 1;
  }
  if (argc == 1) return story(forum, (*server)->port());
  std::printf("http://localhost:%u/?post=0\n", (*server)->port());
  std::fflush(stdout);
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string what;
    std::string text;
    int post = 0;
    words >> what >> post;
    std::getline(words >> std::ws, text);
    if (what == "title") forum.set_title(post, text);
    if (what == "comment") forum.add_comment(post, text);
  }
  return 0;
}
