#include "http/request.hpp"

#include <gtest/gtest.h>

namespace larder::http {
namespace {

int status_of(const std::string& text) {
  return parse_request(text).status;
}
std::string with_target(const std::string& target) {
  return "GET " + target + " HTTP/1.1\r\nHost: x\r\n\r\n";
}

TEST(HttpRequest, IsReadWithPathQueryAndHeaders) {
  const std::string text = "GET /a%20b/c?x=1&y=%2f HTTP/1.1\r\nHost: h\r\nIf-None-Match:  \"e\" \r\n\r\nrest";
  const Parsed parsed = parse_request(text);
  ASSERT_EQ(parsed.status, 200);
  EXPECT_EQ(parsed.used, text.size() - 4);
  EXPECT_EQ(parsed.request.method, "GET");
  EXPECT_EQ(parsed.request.path, "/a b/c");
  EXPECT_EQ(parsed.request.parameter("y"), "/");
  EXPECT_EQ(parsed.request.parameter("z"), "");
  EXPECT_EQ(parsed.request.header("if-none-match"), "\"e\"");
  EXPECT_TRUE(parsed.request.keeps_connection);
}

TEST(HttpRequest, WaitsForMoreAtEveryCut) {
  const std::string text = "HEAD /x HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
  for (std::size_t size = 0; size < text.size(); ++size)
    EXPECT_EQ(status_of(text.substr(0, size)), 0) << size;
  EXPECT_FALSE(parse_request(text).request.keeps_connection);
}

TEST(HttpRequest, RefusesWhatCouldBeReadInTwoWays) {
  for (const char* bad : {"GET / HTTP/1.1\nHost: h\n\n", "GET / HTTP/1.1\r\n Host: h\r\n\r\n",
                          "GET /\r\n\r\n", "GET / HTTP/1.1\r\nHost : h\r\n\r\n", "GET / HTTP/1.1\r\n\r\n",
                          "\n", "G@T / HTTP/1.1\r\n", "GET / HTTP/1.1\r\nHost: h\r\nHost: i\r\n\r\n",
                          "GET  / HTTP/1.1\r\n", "GET / HTTP/1.1\r\nHost: h\r\nContent-Length: x\r\n\r\n",
                          "GET / XTTP/1.1\r\n", "GET / HTTP/1.1\r\nHost: a\001b\r\n\r\n"})
    EXPECT_EQ(status_of(bad), 400) << bad;
  EXPECT_EQ(status_of("GET / HTTP/2.0\r\n"), 505);
  EXPECT_EQ(status_of("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n"), 413);
  EXPECT_EQ(status_of("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"), 413);
}

TEST(HttpRequest, LetsNoPathLeadElsewhere) {
  for (const char* target : {"/../x", "/a/../../x", "/%2e%2e/x", "/a/%2E./x", "/..%2fx", "/."})
    EXPECT_EQ(status_of(with_target(target)), 404) << target;
  for (const char* target : {"/%00", "/%", "/%1", "/%zz", "x", "*", "/a#b"})
    EXPECT_EQ(status_of(with_target(target)), 400) << target;
  EXPECT_EQ(status_of(with_target("/...")), 200);
}

TEST(HttpRequest, IsBounded) {
  EXPECT_EQ(status_of(with_target("/" + std::string(kTargetMax, 'x'))), 414);
  EXPECT_EQ(status_of("GET /" + std::string(kHeadMax, 'x')), 414);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: h\r\nx: " + std::string(kHeadMax, 'x')), 431);
  std::string many = "GET / HTTP/1.1\r\nHost: h\r\n";
  for (std::size_t i = 0; i < kHeadersMax; ++i) many += "a: b\r\n";
  EXPECT_EQ(status_of(many + "\r\n"), 431);
}

}  // namespace
}  // namespace larder::http
