// Pages of a graph: what is known of each, on three sides. The server's thread asks for them and never waits;
// a thread of the pages' own makes those that are new; whoever commits to the graph tells of those that came
// out different.
//
// I1  Only whole values are sent: a page's bytes are replaced in one step, when the graph has told of the
// next. I2  A subscription is ended without the lock: its end waits for a call that takes it. I3  What the
// graph told of a page is newer than what was asked of it before.
#include <algorithm>
#include <csignal>
#include <deque>
#include <map>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.hpp"
#include "format/checksum.hpp"
#include "http/page.hpp"
#include "http/server.hpp"
#include "larder/recipe.hpp"
#include "larder/serve.hpp"

namespace larder {
namespace {

constexpr std::string_view kDefaultType = "text/html; charset=utf-8";
constexpr std::size_t kTroubleMax = 64 * 1024;  // bytes of an error's text that are shown

std::string etag_of(const Page& page) {
  const auto digest = format::checksum(page.body.view());
  const auto type = format::checksum(as_bytes(page.type));
  return Key{.high = digest.high, .low = digest.low ^ type.low}.hex();
}

// As a browser says it, near enough to be compared: a `?` in the path is not the one before the query.
std::string name_of(const PageKey& key) {
  std::string name;
  for (const char c : key.first) {
    if (c == '?') {
      name += "%3F";
    } else {
      name += c;
    }
  }
  if (key.second.empty()) return name;
  name += '?';
  name += key.second;
  return name;
}

PageKey key_of(std::string_view name) {
  constexpr std::string_view kMark = "%3F";
  PageKey key;
  const std::size_t query = name.find('?');
  std::string_view path = name.substr(0, query);
  for (std::size_t mark; (mark = path.find(kMark)) != path.npos; path.remove_prefix(mark + kMark.size())) {
    key.first += path.substr(0, mark);
    key.first += '?';
  }
  key.first += path;
  if (query != name.npos) key.second = name.substr(query + 1);
  return key;
}

}  // namespace

std::string query_value(const PageKey& key, std::string_view name) {
  http::Request request;
  request.query = key.second;
  return request.parameter(name);
}

Page detail::page_of(const PageKey& key, Bytes body) {
  const std::string_view type = http::type_of(key.first);
  return {std::move(body), std::string(type.empty() ? kDefaultType : type)};
}

class GraphServer::Pages {
 public:
  Pages(detail::PageSource source, ServeOptions options)
      : source_(std::move(source)),
        options_(std::move(options)),
        is_loopback_(options_.address.starts_with("127.") || options_.address == "::1") {}
  ~Pages();
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  Result<void> start();
  unsigned port() const noexcept { return server_->port(); }

 private:
  struct Entry {
    explicit Entry(PageKey asked) : key(std::move(asked)), name(name_of(key)) {}
    const PageKey key;
    const std::string name;
    bool is_known = false;                     // made, or an error
    bool is_told = false;                      // by the graph, of its own accord
    bool is_in_work = true;                    // of the thread that makes pages
    std::shared_ptr<const std::string> bytes;  // null: there is no good value
    std::string type;
    std::string etag;
    int status = 200;     // where there are no bytes
    std::string trouble;  // empty: none
    std::uint64_t used = 0;
    GraphSubscription subscription;  // last: its end waits for calls that use the others
  };

  http::Response answer(const http::Request& request);
  http::Response page(const http::Request& request);
  http::Response events(const http::Request& request);
  std::string take(Entry& entry, const Result<Page>& value) REQUIRES(mutex_);
  bool make_room() REQUIRES(mutex_);
  void make(Entry& entry, const std::stop_token& stop);
  void run(const std::stop_token& stop);

  const detail::PageSource source_;
  const ServeOptions options_;
  const bool is_loopback_;
  Mutex mutex_;
  Condition condition_;
  std::map<PageKey, std::unique_ptr<Entry>> entries_ GUARDED_BY(mutex_);
  std::deque<Entry*> due_ GUARDED_BY(mutex_);  // to be made
  std::vector<std::unique_ptr<Entry>> dropped_ GUARDED_BY(mutex_);
  std::uint64_t clock_ GUARDED_BY(mutex_) = 0;
  bool is_ending_ GUARDED_BY(mutex_) = false;
  std::unique_ptr<http::Server> server_;
  std::jthread thread_;
};

Result<void> GraphServer::Pages::start() {
  auto server = http::Server::listen(options_.address, options_.port,
                                     [this](const http::Request& request) { return answer(request); });
  if (!server) return tl::unexpected<Error>(server.error());
  server_ = std::move(*server);
  // The process's signals are for others.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return {};
}

// The thread that makes pages first: it tells the server. Then the subscriptions, which tell it, too.
GraphServer::Pages::~Pages() {
  if (thread_.joinable()) {
    thread_.request_stop();
    {
      const MutexLock lock(mutex_);
      is_ending_ = true;
    }
    condition_.notify_all();
    thread_.join();
  }
  std::map<PageKey, std::unique_ptr<Entry>> entries;
  std::vector<std::unique_ptr<Entry>> dropped;
  {
    const MutexLock lock(mutex_);
    std::swap(entries, entries_);
    std::swap(dropped, dropped_);
  }
  for (const auto& [key, entry] : entries) entry->subscription = {};
  entries.clear();  // I2
  dropped.clear();
  server_.reset();
}

// What those who listen are told of it.
std::string GraphServer::Pages::take(Entry& entry, const Result<Page>& value) {
  const bool was_known = std::exchange(entry.is_known, true);
  const std::string trouble = std::exchange(entry.trouble, {});
  if (value) {
    std::string etag = etag_of(*value);
    if (entry.bytes != nullptr && entry.etag == etag)
      return trouble.empty() ? std::string() : http::page_mended_event(entry.name);
    entry.bytes = http::text_body(std::string(value->body.text()));
    entry.type = value->type;
    entry.etag = std::move(etag);
    return was_known ? http::changed_event({entry.name}) : std::string();
  }
  entry.trouble = value.error().what.substr(0, kTroubleMax);
  if (entry.trouble.empty()) entry.trouble = name(value.error().code);
  if (value.error().code == Code::not_found) {
    entry.status = 404;
    const bool was_there = entry.bytes != nullptr;
    entry.bytes.reset();
    entry.etag.clear();
    return was_there ? http::changed_event({entry.name}) : std::string();
  }
  entry.status = 500;
  return was_known && trouble != entry.trouble ? http::page_trouble_event(entry.name, entry.trouble)
                                               : std::string();
}

// False: all there are are being made.
bool GraphServer::Pages::make_room() {
  while (entries_.size() >= std::max<std::size_t>(options_.pages_max, 1)) {
    auto oldest = entries_.end();
    for (auto one = entries_.begin(); one != entries_.end(); ++one)
      if (!one->second->is_in_work && (oldest == entries_.end() || one->second->used < oldest->second->used))
        oldest = one;
    if (oldest == entries_.end()) return false;
    dropped_.push_back(std::move(oldest->second));
    entries_.erase(oldest);
  }
  return true;
}

http::Response GraphServer::Pages::page(const http::Request& request) {
  const PageKey key{request.path, request.query};
  bool is_there = false;
  {
    const MutexLock lock(mutex_);
    is_there = entries_.contains(key);
  }
  if (!is_there && options_.accepts && !options_.accepts(key))
    return http::plain(404, "there is no such page");
  const MutexLock lock(mutex_);
  auto found = entries_.find(key);  // still as it was: only this thread adds and drops
  if (found == entries_.end()) {
    if (!make_room()) {
      http::Response response = http::plain(503, "too many pages are being made");
      response.headers.emplace_back("Retry-After", "1");
      return response;
    }
    found = entries_.emplace(key, std::make_unique<Entry>(key)).first;
    due_.push_back(found->second.get());
    condition_.notify_all();
  }
  Entry& entry = *found->second;
  entry.used = ++clock_;
  if (!entry.is_known) {
    http::Response response = http::plain(503, entry.name + " is being made");
    response.headers.emplace_back("Retry-After", "1");
    response.is_later = true;
    return response;
  }
  if (entry.bytes == nullptr)
    return http::trouble(entry.status, entry.name, entry.trouble,
                         detail::page_of(key, {}).type.starts_with("text/html"), options_.has_script);
  return http::content(request, {entry.name, entry.etag, entry.type, entry.bytes}, options_.has_script);
}

http::Response GraphServer::Pages::events(const http::Request& request) {
  const std::string name = request.parameter("page");
  const PageKey key = key_of(name);
  std::string missed;
  const MutexLock lock(mutex_);
  const auto found = entries_.find(key);
  // One that had to make room is loaded again, so that it is live again.
  if (found == entries_.end()) return http::events(name.empty() ? missed : http::changed_event({name}));
  Entry& entry = *found->second;
  entry.used = ++clock_;
  if (entry.is_known && entry.etag != request.parameter("etag")) missed += http::changed_event({entry.name});
  if (entry.bytes != nullptr && !entry.trouble.empty())
    missed += http::page_trouble_event(entry.name, entry.trouble);
  return http::events(std::move(missed));
}

http::Response GraphServer::Pages::answer(const http::Request& request) {
  try {
    if (auto refused = http::refusal(request, is_loopback_)) return std::move(*refused);
    if (request.path == http::kEventsPath) return events(request);
    if (request.path == http::kScriptPath) return http::script();
    return page(request);
  } catch (...) {  // of `accepts`, or memory that is exhausted
    http::Response response;
    response.status = 500;
    return response;
  }
}

// On the thread that makes pages. An entry in work is not dropped.
void GraphServer::Pages::make(Entry& entry, const std::stop_token& stop) {
  const Result<Page> first = source_.get(entry.key, stop);
  if (stop.stop_requested()) return;
  auto subscription = source_.subscribe(entry.key, [this, &entry](const Result<Page>& value) {
    std::string event;
    {
      const MutexLock lock(mutex_);
      entry.is_told = true;
      event = take(entry, value);
    }
    server_->broadcast(event);
  });
  // From here on it is told of what comes; what came before is asked for.
  const Result<Page> now = subscription ? source_.get(entry.key, stop) : first;
  if (stop.stop_requested()) return;
  const MutexLock lock(mutex_);
  if (subscription) entry.subscription = std::move(*subscription);
  if (!entry.is_told) (void)take(entry, now);  // I3
  entry.is_in_work = false;
}

void GraphServer::Pages::run(const std::stop_token& stop) {
  for (;;) {
    Entry* entry = nullptr;
    std::vector<std::unique_ptr<Entry>> dropped;
    {
      const MutexLock lock(mutex_);
      while (due_.empty() && dropped_.empty() && !is_ending_) condition_.wait(mutex_);
      if (is_ending_) return;
      std::swap(dropped, dropped_);
      if (!due_.empty()) {
        entry = due_.front();
        due_.pop_front();
      }
    }
    dropped.clear();  // I2
    if (entry == nullptr) continue;
    try {
      make(*entry, stop);
    } catch (...) {  // memory is exhausted
      const MutexLock lock(mutex_);
      entry->is_in_work = false;
      if (!entry->is_known) {
        entry->is_known = true;
        entry->status = 503;
      }
    }
    server_->retry();
  }
}

GraphServer::GraphServer(std::unique_ptr<Pages> pages) noexcept : pages_(std::move(pages)) {}
GraphServer::~GraphServer() = default;

unsigned GraphServer::port() const noexcept {
  return pages_->port();
}

Result<std::unique_ptr<GraphServer>> GraphServer::open(detail::PageSource source, ServeOptions options) {
  auto pages = std::make_unique<Pages>(std::move(source), std::move(options));
  if (auto started = pages->start(); !started) return tl::unexpected<Error>(started.error());
  return std::unique_ptr<GraphServer>(new GraphServer(std::move(pages)));
}

}  // namespace larder
