// What `larder serve` answers: products by their paths, the script that reloads pages, and the stream of
// events that it listens to. The build's thread tells of products, the server's thread asks for them.
//
// I1  What is sent of a product has the digest that the build last told of it as whole. Before a command
// writes
//     it, its bytes are taken into memory; a file that is another than was told is asked for again later.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/mutex.hpp"
#include "http/server.hpp"
#include "tool/live_build.hpp"

namespace larder::tool {

inline constexpr std::size_t kProductBytesMax = std::size_t{64} << 20;  // of one that is served
inline constexpr std::size_t kSiteBytesMax = std::size_t{256} << 20;    // of all that are in memory

struct SiteOptions {
  std::string directory;    // empty, or a directory with its `/`: what `/` stands for
  bool has_script = true;   // in pages
  bool is_loopback = true;  // only names of this machine are answered
};

class Site {
 public:
  explicit Site(SiteOptions options) : options_(std::move(options)) {}
  // PRECONDITION: once, before the build begins. It outlives this.
  void set_server(http::Server* server) noexcept { server_ = server; }

  // On the server's thread.
  http::Response answer(const http::Request& request);

  // On the build's thread: as LiveListener has them.
  void on_products(const std::vector<std::string>& paths);
  void on_made(const std::vector<Product>& products);
  void on_start(const std::vector<std::string>& outputs);
  void on_built(const std::vector<Product>& changed);
  void on_trouble(const std::string& what);

 private:
  using Bytes = std::shared_ptr<const std::string>;
  struct Page {
    build::Digest digest;
    bool is_made = false;
    Bytes bytes;  // null: in the file
    std::uint64_t used = 0;
  };

  http::Response product(const http::Request& request, const std::string& path);
  http::Response events(const http::Request& request);
  http::Response trouble_page(const std::string& path);
  std::string url_of(const std::string& path) const;  // empty: it is not below the directory
  void keep(Page& page, Bytes bytes) REQUIRES(mutex_);

  const SiteOptions options_;
  http::Server* server_ = nullptr;
  Mutex mutex_;
  std::map<std::string, Page> pages_ GUARDED_BY(mutex_);
  std::size_t bytes_ GUARDED_BY(mutex_) = 0;
  std::uint64_t clock_ GUARDED_BY(mutex_) = 0;
  bool is_read_ GUARDED_BY(mutex_) = false;  // the manifest
  std::string trouble_ GUARDED_BY(mutex_);
};

}  // namespace larder::tool
