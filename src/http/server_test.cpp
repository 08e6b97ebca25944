#include "http/server.hpp"

#include <gtest/gtest.h>

#include <atomic>

#include "http/client_test_kit.hpp"

namespace larder::http {
namespace {

constexpr std::string_view kGet = "GET /x HTTP/1.1\r\nHost: h\r\n\r\n";

std::unique_ptr<Server> serving(Server::Handler handler, const Limits& limits = {}) {
  auto server = Server::listen("127.0.0.1", 0, std::move(handler), limits);
  EXPECT_TRUE(server) << server.error().what;
  return std::move(*server);
}

Response said(std::string text) {
  Response response;
  response.body = text_body(std::move(text));
  return response;
}

TEST(HttpServer, AnswersOneAfterTheOtherOnOneConnection) {
  const auto server = serving([](const Request& request) { return said(request.path); });
  Client client(server->port());
  client.send(kGet);
  EXPECT_NE(client.until("/x").find("Content-Length: 2\r\n"), std::string::npos);
  client.send("GET /y HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  EXPECT_NE(client.all().find("\r\n\r\n/y"), std::string::npos);
}

TEST(HttpServer, EndsWhoeverTakesTooLong) {
  Limits limits;
  limits.head = limits.sending = std::chrono::milliseconds(500);
  const auto server =
      serving([](const Request&) { return said(std::string(std::size_t{64} << 20, 'x')); }, limits);
  Client silent(server->port());
  Client slow(server->port());
  slow.send("GET / HTT");
  EXPECT_TRUE(slow.all().starts_with("HTTP/1.1 408 "));
  EXPECT_EQ(silent.all(), "");
}

TEST(HttpServer, AsksAgainForWhatWasPutOffAndGivesUpInTheEnd) {
  Limits limits;
  std::atomic<bool> is_ready{false};
  std::atomic<int> asked{0};
  const auto handler = [&](const Request&) {
    const bool is_ready_now = is_ready;  // once: it may change meanwhile
    ++asked;
    Response response = said(is_ready_now ? "ready" : "not yet");
    response.is_later = !is_ready_now;
    return response;
  };
  {
    const auto server = serving(handler, limits);
    Client client(server->port());
    client.send(kGet);
    while (asked == 0) std::this_thread::yield();
    is_ready = true;
    server->retry();
    EXPECT_NE(client.until("ready").find("\r\n\r\nready"), std::string::npos);
  }
  is_ready = false;
  limits.later = std::chrono::milliseconds(50);
  const auto server = serving(handler, limits);
  Client client(server->port());
  client.send(kGet);
  EXPECT_NE(client.until("not yet").find("not yet"), std::string::npos);
}

TEST(HttpServer, SendsEventsToAllStreamsAndEndsThoseThatLagTooFarBehind) {
  const auto server = serving([](const Request& request) {
    Response response = said("hello\n\n");
    response.is_stream = request.path == "/x";
    return response;
  });
  Client listener(server->port());
  Client lagging(server->port());
  for (Client* const client : {&listener, &lagging}) {
    client->send(kGet);
    (void)client->until("hello\n\n");
  }
  server->broadcast("data: 1\n\n");
  EXPECT_NE(listener.until("data: 1\n\n").find("data: 1\n\n"), std::string::npos);
  // One that reads nothing is ended once more than a MiB waits for it beside what the kernel holds.
  const std::string much = "data: " + std::string(512 * 1024, 'x') + "\n\n";
  for (int i = 0; i < 40; ++i) {
    const std::string mark = "data: mark " + std::to_string(i) + "\n\n";
    server->broadcast(much);
    server->broadcast(mark);
    ASSERT_NE(listener.until(mark).find(mark), std::string::npos) << "the reader was ended with the other";
  }
  EXPECT_EQ(lagging.all().find("data: mark 39"), std::string::npos);
}

TEST(HttpServer, RefusesMoreConnectionsAndStreamsThanItMayHave) {
  Limits limits;
  limits.connections = 3;
  limits.streams = 1;
  const auto server = serving(
      [](const Request&) {
        Response response = said("hello\n\n");
        response.is_stream = true;
        return response;
      },
      limits);
  Client first(server->port());
  first.send(kGet);
  (void)first.until("hello");
  Client second(server->port());
  second.send(kGet);
  EXPECT_TRUE(second.all().starts_with("HTTP/1.1 503 "));
  Client third(server->port());
  Client fourth(server->port());
  Client fifth(server->port());
  EXPECT_TRUE(fifth.all().starts_with("HTTP/1.1 503 ") || fourth.all().starts_with("HTTP/1.1 503 "));
}

TEST(HttpServer, SaysWhyItCannotListen) {
  const auto server = serving([](const Request&) { return said(""); });
  const auto again = Server::listen("127.0.0.1", server->port(), [](const Request&) { return said(""); });
  ASSERT_FALSE(again);
  EXPECT_NE(again.error().what.find("in use"), std::string::npos) << again.error().what;
  EXPECT_FALSE(Server::listen("localhost", 0, [](const Request&) { return said(""); }));
}

}  // namespace
}  // namespace larder::http
