// A GraphServer serves a Graph over HTTP: path and query string are the key of a function, whose value is the
// page.
//
//     Graph graph;
//     auto post = graph.input<std::string, std::string>("post");
//     auto page = graph.function("page", [=](Context& context, const PageKey& asked) {
//       return "<!doctype html><body>" + context.get(post, asked.first) + "</body>";
//     });
//     auto server = GraphServer::listen(graph, page, {.port = 8000});
//
// A page that is asked for is made once, by a thread of the server, and live from then on: kept up to date
// after each commit, before anyone asks. What is sent is always whole: the last value of which the graph
// told, until it tells of the next. Its ETag is the digest of its content; who has that gets 304. Pages of
// type text/html get a small script that loads them again when they, or what they are made up from, came out
// different, and that shows what keeps them from being made. What is answered besides pages, and what a
// client may cost, is as of `larder serve`: docs/build.md.
//
// Of a page that is an error: not_found is answered by 404. Any other leaves the last good value in its
// place, over which the script shows the error's text; without a good one it is answered by 500 and the text.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "larder/bytes.hpp"
#include "larder/export.h"
#include "larder/graph.hpp"
#include "larder/result.hpp"

namespace larder {

// What is asked for: the path, decoded, which begins with `/` and has no segment `.` or `..`; and the query
// string as it was sent, without `?`.
using PageKey = std::pair<std::string, std::string>;

// A value of the query string, decoded; empty when there is none of that name, or when it is not encoded
// well.
LARDER_API std::string query_value(const PageKey& key, std::string_view name);

// What a function may return for a page. A std::string, or Bytes, is one whose type follows from the path's
// suffix and is text/html without.
struct Page {
  Bytes body;
  std::string type = "text/html; charset=utf-8";
  friend bool operator==(const Page&, const Page&) = default;
};

template <>
struct Written<Page> {
  using Parts = std::tuple<std::string, std::string>;
  static void write(const Page& page, std::string& to) {
    Written<Parts>::write({std::string(page.body.text()), page.type}, to);
  }
  static bool read(std::string_view from, Page& page) {
    Parts parts;
    if (!Written<Parts>::read(from, parts)) return false;
    page = Page{Bytes(std::move(std::get<0>(parts))), std::move(std::get<1>(parts))};
    return true;
  }
};

struct ServeOptions {
  // Numeric. Any but one of this machine's own lets others ask; on its own only requests whose Host is a name
  // of this machine are answered.
  std::string address = "127.0.0.1";
  unsigned port = 0;             // 0: any that is free
  bool has_script = true;        // in pages
  std::size_t pages_max = 1024;  // that are live at once; who was asked for longest ago makes room
  // Whether there can be a page. Each key that is asked for becomes a node of the graph and stays one: a
  // program whose clients are not all its friends says here what is none, which is answered by 404. Empty:
  // all may be. On the server's thread: must not wait.
  std::function<bool(const PageKey&)> accepts{};
};

namespace detail {

// A page function without its types.
struct PageSource {
  using Told = std::function<void(const Result<Page>&)>;
  std::function<Result<Page>(const PageKey&, const std::stop_token&)> get;
  std::function<Result<GraphSubscription>(const PageKey&, Told)> subscribe;
};
LARDER_API Page page_of(const PageKey& key, Bytes body);

template <typename V>
Result<Page> page_from(const PageKey& key, const Result<V>& value) {
  if (!value) return tl::unexpected<Error>(value.error());
  if constexpr (std::is_same_v<V, Page>) {
    return *value;
  } else {
    return page_of(key, Bytes(*value));
  }
}

}  // namespace detail

class LARDER_API GraphServer {
 public:
  // Serves what `pages` of `graph` returns, which is a Page, a std::string or Bytes. Errors: why it cannot
  // listen. The graph outlives the server.
  template <typename V>
  static Result<std::unique_ptr<GraphServer>> listen(Graph& graph, Function<PageKey, V> pages,
                                                     ServeOptions options = {}) {
    static_assert(std::is_same_v<V, Page> || std::is_same_v<V, std::string> || std::is_same_v<V, Bytes>,
                  "a page is a Page, a std::string or Bytes");
    detail::PageSource source;
    source.get = [&graph, pages](const PageKey& key, const std::stop_token& stop) {
      return detail::page_from<V>(key, graph.get(pages, key, stop));
    };
    source.subscribe = [&graph, pages](const PageKey& key, detail::PageSource::Told told) {
      return graph.subscribe(pages, key, [key, told = std::move(told)](const Result<V>& value, Revision) {
        told(detail::page_from<V>(key, value));
      });
    };
    return open(std::move(source), std::move(options));
  }
  static Result<std::unique_ptr<GraphServer>> open(detail::PageSource source, ServeOptions options);

  // Ends all connections, and what runs to make a page for them alone. Not from inside of a function of the
  // graph, nor from a subscriber.
  ~GraphServer();
  GraphServer(const GraphServer&) = delete;
  GraphServer& operator=(const GraphServer&) = delete;

  unsigned port() const noexcept;

 private:
  class Pages;
  explicit GraphServer(std::unique_ptr<Pages> pages) noexcept;
  std::unique_ptr<Pages> pages_;
};

}  // namespace larder
