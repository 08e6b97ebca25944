#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <mutex>
#include <thread>

#include "http/client_test_kit.hpp"
#include "larder/serve.hpp"

namespace larder {
namespace {

using http::Client;

// The whole answer to one request.
std::string ask(const GraphServer& server, std::string_view target, std::string_view more = {},
                std::string_view host = "localhost") {
  Client client(server.port());
  client.send("GET " + std::string(target) + " HTTP/1.1\r\nHost: " + std::string(host) +
              "\r\nConnection: close\r\n" + std::string(more) + "\r\n");
  return client.all();
}
bool holds(const std::string& text, std::string_view part) {
  return text.find(part) != text.npos;
}
std::string etag_in(const std::string& answer) {
  const std::size_t at = answer.find("ETag: ");
  return at == answer.npos ? "" : answer.substr(at + 6, answer.find('\r', at) - at - 6);
}

// A site of posts: one page each, by the query's `id`, which shows the first line of its text.
struct Site {
  Graph graph;
  Input<std::string, std::string> text = graph.input<std::string, std::string>("text");
  std::atomic<int> runs{0};
  Function<std::string, std::string> title =
      graph.function("title", [this](Context& context, const std::string& id) {
        const std::string& all = context.get(text, id);
        return all.substr(0, all.find('\n'));
      });
  Function<PageKey, std::string> page = graph.function("page", [this](Context& context, const PageKey& key) {
    ++runs;
    return "<body>" + key.first + ' ' + context.get(title, query_value(key, "id")) + "</body>";
  });

  void set(const std::string& id, const std::string& to) { ASSERT_TRUE(graph.set(text, id, to)); }
  std::unique_ptr<GraphServer> serve(ServeOptions options = {}) {
    auto server = GraphServer::listen(graph, page, std::move(options));
    EXPECT_TRUE(server) << server.error().what;
    return std::move(*server);
  }
};

TEST(GraphServer, TakesPathAndQueryAsTheKeyOfANode) {
  Site site;
  site.set("a b", "first\nsecond");
  const auto server = site.serve();
  const std::string answer = ask(*server, "/some%20path?id=a%20b");
  EXPECT_TRUE(holds(answer, "HTTP/1.1 200 OK")) << answer;
  EXPECT_TRUE(holds(answer, "Content-Type: text/html; charset=utf-8")) << answer;
  EXPECT_TRUE(holds(answer,
                    "<body>/some path first<script src=\"/.larder/live.js\" "
                    "data-page=\"/some path?id=a%20b\""))
      << answer;
  EXPECT_TRUE(holds(ask(*server, "/.larder/live.js"), "EventSource"));
}

TEST(GraphServer, MakesAPageOnceAndKeepsItLive) {
  Site site;
  site.set("1", "one");
  const auto server = site.serve();
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(holds(ask(*server, "/?id=1"), "/ one"));
  EXPECT_EQ(site.runs, 1);
  site.set("1", "two");
  EXPECT_EQ(site.runs, 2) << "it waits to be asked";
  EXPECT_TRUE(holds(ask(*server, "/?id=1"), "/ two"));
  EXPECT_EQ(site.runs, 2);
}

TEST(GraphServer, AnswersWhoHasTheContentWith304) {
  Site site;
  site.set("1", "one");
  const auto server = site.serve();
  const std::string tag = etag_in(ask(*server, "/?id=1"));
  ASSERT_FALSE(tag.empty());
  EXPECT_TRUE(holds(ask(*server, "/?id=1", "If-None-Match: " + tag + "\r\n"), "HTTP/1.1 304"));
  site.set("1", "one\nand a comment");
  EXPECT_TRUE(holds(ask(*server, "/?id=1", "If-None-Match: " + tag + "\r\n"), "HTTP/1.1 304"));
  site.set("1", "two");
  EXPECT_TRUE(holds(ask(*server, "/?id=1", "If-None-Match: " + tag + "\r\n"), "HTTP/1.1 200"));
  site.set("1", "one");
  EXPECT_EQ(etag_in(ask(*server, "/?id=1")), tag) << "it is not the content's";
}

TEST(GraphServer, TellsStreamsOnlyOfPagesThatDiffer) {
  Site site;
  site.set("1", "one");
  site.set("2", "two");
  const auto server = site.serve();
  const std::string tag = etag_in(ask(*server, "/?id=1"));
  (void)ask(*server, "/?id=2");
  Client stream(server->port());
  // The tag as a page has it: without quotation marks and the mark of the script.
  stream.send("GET /.larder/events?page=%2F%3Fid%3D1&etag=" + tag.substr(1, 32) +
              " HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_FALSE(holds(stream.until("retry: 1000\n\n"), "event:"));
  site.set("1", "one\nand a comment");
  site.set("2", "another");
  const std::string told = stream.until("event: changed\ndata: [\"/?id=2\"]\n\n");
  EXPECT_FALSE(holds(told, "[\"/?id=1\"]")) << told;
}

TEST(GraphServer, TellsAPageAtOnceWhatItMissed) {
  Site site;
  site.set("1", "one");
  const auto server = site.serve();
  (void)ask(*server, "/?id=1");
  Client stream(server->port());
  stream.send("GET /.larder/events?page=%2F%3Fid%3D1&etag=0 HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_TRUE(holds(stream.until("\n\nevent"), "retry: 1000\n\nevent"));
}

TEST(GraphServer, SendsTheOldPageUntilTheNewOneIsWhole) {
  Graph graph;
  const auto text = graph.input<NoKey, std::string>("text");
  std::latch begun(1);
  std::once_flag once;  // it may be started again
  std::latch go_on(1);
  const auto page = graph.function("page", [&](Context& context, const PageKey&) {
    std::string all = context.get(text);
    if (all == "new") {
      std::call_once(once, [&] { begun.count_down(); });
      go_on.wait();
    }
    return all;
  });
  ASSERT_TRUE(graph.set(text, {}, "old"));
  auto server = GraphServer::listen(graph, page, {.has_script = false});
  ASSERT_TRUE(server);
  EXPECT_TRUE(holds(ask(**server, "/"), "\r\n\r\nold"));
  {
    const std::jthread committer([&] { EXPECT_TRUE(graph.set(text, {}, "new")); });
    begun.wait();
    EXPECT_TRUE(holds(ask(**server, "/"), "\r\n\r\nold"));
    go_on.count_down();
  }
  EXPECT_TRUE(holds(ask(**server, "/"), "\r\n\r\nnew"));
}

TEST(GraphServer, ShowsAnErrorOverTheLastGoodPage) {
  Graph graph;
  const auto text = graph.input<NoKey, std::string>("text");
  const auto page = graph.function("page", [&](Context& context, const PageKey&) -> Result<std::string> {
    std::string all = context.get(text);
    if (all.starts_with("bad")) return fail(Code::maker_failed, "it is <" + all + ">");
    return all;
  });
  ASSERT_TRUE(graph.set(text, {}, "bad at first"));
  auto server = GraphServer::listen(graph, page);
  ASSERT_TRUE(server);
  const std::string at_first = ask(**server, "/");
  EXPECT_TRUE(holds(at_first, "HTTP/1.1 500")) << at_first;
  EXPECT_TRUE(holds(at_first, "it is &lt;bad at first>")) << at_first;
  EXPECT_TRUE(holds(at_first, "live.js")) << at_first;
  Client stream((*server)->port());
  stream.send("GET /.larder/events?page=%2F&etag= HTTP/1.1\r\nHost: localhost\r\n\r\n");
  (void)stream.until("retry: 1000\n\n");
  ASSERT_TRUE(graph.set(text, {}, "good"));
  (void)stream.until("event: changed\ndata: [\"/\"]\n\n");
  EXPECT_TRUE(holds(ask(**server, "/"), "good"));
  ASSERT_TRUE(graph.set(text, {}, "bad again"));
  (void)stream.until("event: page-trouble\ndata: [\"/\",\"it is <bad again>\"]\n\n");
  EXPECT_TRUE(holds(ask(**server, "/"), "good"));
  Client late((*server)->port());
  late.send("GET /.larder/events?page=%2F&etag= HTTP/1.1\r\nHost: localhost\r\n\r\n");
  (void)late.until("event: page-trouble");
  ASSERT_TRUE(graph.set(text, {}, "good"));
  EXPECT_TRUE(holds(stream.until("event: page-mended\ndata: \"/\"\n\n"), "page-mended"));
}

TEST(GraphServer, AnswersWhatIsNotFoundWith404UntilItIs) {
  Site site;
  const auto server = site.serve();
  EXPECT_TRUE(holds(ask(*server, "/?id=1"), "HTTP/1.1 404"));
  site.set("1", "one");
  EXPECT_TRUE(holds(ask(*server, "/?id=1"), "/ one"));
  ASSERT_TRUE(site.graph.erase(site.text, "1"));
  EXPECT_TRUE(holds(ask(*server, "/?id=1"), "HTTP/1.1 404"));
}

TEST(GraphServer, KeepsOnlySoManyPagesLive) {
  Site site;
  for (const char* id : {"1", "2", "3"}) site.set(id, id);
  const auto server = site.serve({.pages_max = 2});
  for (const char* target : {"/?id=1", "/?id=2", "/?id=1", "/?id=3", "/?id=4"}) (void)ask(*server, target);
  // Those that made room are let go of before the next is made: `2` for `3`, `1` for `4`.
  const int before = site.runs;
  site.set("1", "one");
  site.set("2", "two");
  EXPECT_EQ(site.runs, before);
  site.set("3", "three");
  EXPECT_EQ(site.runs, before + 1);
  EXPECT_TRUE(holds(ask(*server, "/?id=1"), "/ one"));
}

TEST(GraphServer, MakesNoNodeOfWhatTheProgramDoesNotAccept) {
  Site site;
  site.set("1", "one");
  const auto server = site.serve({.accepts = [](const PageKey& key) {
    if (key.first == "/throws") throw 1;
    return key.second == "id=1";
  }});
  const std::uint64_t nodes = site.graph.stats().nodes;
  for (int i = 0; i < 20; ++i)
    EXPECT_TRUE(holds(ask(*server, "/?id=" + std::to_string(i + 2)), "HTTP/1.1 404"));
  EXPECT_TRUE(holds(ask(*server, "/throws"), "HTTP/1.1 500"));
  EXPECT_EQ(site.graph.stats().nodes, nodes);
  EXPECT_TRUE(holds(ask(*server, "/?id=1"), "/ one"));
}

TEST(GraphServer, AnswersNamesOfThisMachineOnly) {
  Site site;
  site.set("1", "one");
  const auto server = site.serve();
  EXPECT_TRUE(holds(ask(*server, "/?id=1", {}, "elsewhere.example"), "HTTP/1.1 421"));
  Client client(server->port());
  client.send("POST / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_TRUE(holds(client.until("\r\n\r\n"), "HTTP/1.1 405"));
  EXPECT_FALSE(GraphServer::listen(site.graph, site.page, {.address = "no address"}));
}

TEST(GraphServer, SendsAPageAsWhatItSaysItIs) {
  Graph graph;
  const auto page = graph.function("page", [](Context&, const PageKey& key) {
    return Page{Bytes(std::string("1,2")), key.first == "/table" ? "text/csv" : "application/json"};
  });
  const auto bytes =
      graph.function("bytes", [](Context&, const PageKey&) { return Bytes(std::string("b{}")); });
  auto pages = GraphServer::listen(graph, page);
  auto styles = GraphServer::listen(graph, bytes);
  ASSERT_TRUE(pages && styles);
  EXPECT_TRUE(holds(ask(**pages, "/table"), "Content-Type: text/csv\r\n"));
  EXPECT_FALSE(holds(ask(**pages, "/table"), "script"));
  EXPECT_TRUE(holds(ask(**styles, "/a.css"), "Content-Type: text/css"));
}

TEST(GraphServer, EndsWhileAPageIsMade) {
  Graph graph;
  const auto text = graph.input<NoKey, std::string>("text");
  std::latch begun(1);
  std::once_flag once;
  const auto page = graph.function("page", [&](Context& context, const PageKey&) {
    std::call_once(once, [&] { begun.count_down(); });
    for (;;) (void)context.get(text);  // until it is given up
    return std::string();
  });
  ASSERT_TRUE(graph.set(text, {}, "x"));
  auto server = GraphServer::listen(graph, page);
  ASSERT_TRUE(server);
  Client client((*server)->port());
  client.send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  begun.wait();
  server->reset();
  EXPECT_EQ(client.all(), "");
}

TEST(GraphServer, AnswersManyWhilePagesChange) {
  Site site;
  for (int id = 0; id < 8; ++id) site.set(std::to_string(id), "0");
  const auto server = site.serve({.pages_max = 6});
  std::atomic<int> good{0};
  {
    std::vector<std::jthread> clients;
    for (int client = 0; client < 4; ++client) {
      clients.emplace_back([&, client] {
        for (int i = 0; i < 40; ++i)
          if (holds(ask(*server, "/?id=" + std::to_string((client + i) % 8)), "<body>/ ")) ++good;
      });
    }
    for (int i = 1; i <= 40; ++i) site.set(std::to_string(i % 8), std::to_string(i));
  }
  EXPECT_EQ(good, 160);
}

}  // namespace
}  // namespace larder
