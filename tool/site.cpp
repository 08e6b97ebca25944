#include "tool/site.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "tool/json.hpp"

namespace larder::tool {
namespace {

// What a page does for itself; docs/build.md tells of the events.
constexpr std::string_view kScript = R"js((() => {
  const me = document.currentScript.dataset;
  const source = new EventSource('/.larder/events?page=' + encodeURIComponent(me.page) + '&etag=' + me.etag);
  let shown = null;
  const hide = () => { if (shown) shown.remove(); shown = null; };
  source.addEventListener('changed', event => {
    const paths = new Set(JSON.parse(event.data));
    const used = performance.getEntriesByType('resource').map(one => decodeURI(new URL(one.name).pathname));
    if (paths.has(me.page) || used.some(one => paths.has(one))) location.reload();
  });
  source.addEventListener('trouble', event => {
    hide();
    shown = document.createElement('pre');
    shown.id = 'larder-trouble';
    shown.style.cssText = 'position:fixed;inset:auto 0 0 0;max-height:60%;overflow:auto;margin:0;padding:1em;' +
      'background:#300;color:#fff;font:14px monospace;white-space:pre-wrap;z-index:2147483647';
    shown.textContent = JSON.parse(event.data);
    document.body.append(shown);
  });
  source.addEventListener('mended', hide);
})();
)js";

struct Type {
  std::string_view suffix;
  std::string_view type;
};
constexpr std::array<Type, 22> kTypes = {{{".html", "text/html; charset=utf-8"},
                                          {".htm", "text/html; charset=utf-8"},
                                          {".css", "text/css; charset=utf-8"},
                                          {".js", "text/javascript; charset=utf-8"},
                                          {".mjs", "text/javascript; charset=utf-8"},
                                          {".json", "application/json"},
                                          {".map", "application/json"},
                                          {".xml", "application/xml"},
                                          {".svg", "image/svg+xml"},
                                          {".png", "image/png"},
                                          {".jpg", "image/jpeg"},
                                          {".jpeg", "image/jpeg"},
                                          {".gif", "image/gif"},
                                          {".webp", "image/webp"},
                                          {".ico", "image/x-icon"},
                                          {".woff2", "font/woff2"},
                                          {".wasm", "application/wasm"},
                                          {".pdf", "application/pdf"},
                                          {".txt", "text/plain; charset=utf-8"},
                                          {".md", "text/plain; charset=utf-8"},
                                          {".log", "text/plain; charset=utf-8"},
                                          {".csv", "text/csv; charset=utf-8"}}};

std::string_view type_of(std::string_view path) noexcept {
  for (const auto& [suffix, type] : kTypes)
    if (path.ends_with(suffix)) return type;
  return "application/octet-stream";
}

bool is_page(std::string_view path) noexcept {
  return path.ends_with(".html") || path.ends_with(".htm");
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '"') {
      out += "&quot;";
    } else {
      out += c;
    }
  }
  return out;
}

std::string event_of(std::string_view name, std::string data) {
  return "event: " + std::string(name) + "\ndata: " + std::move(data) + "\n\n";
}

std::string json_of(std::string_view text) {
  Json json;
  json.value(text);
  return json.take();
}

// Where the working directory really is, with a `/` behind it.
std::string real_directory() {
  std::string directory = build::real_path(".");
  if (!directory.ends_with('/')) directory += '/';
  return directory;
}

// The bytes of a file that really lies below the working directory; null for any other, for what is no file
// and for what is too large.
std::shared_ptr<const std::string> read_file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (fd < 0) return nullptr;
  struct stat status {};
  std::array<char, 4096> real{};
  const ssize_t length =
      ::readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), real.data(), real.size());
  static const std::string& directory = *new std::string(real_directory());
  const bool is_below =
      length > 0 && std::string_view(real.data(), static_cast<std::size_t>(length)).starts_with(directory);
  std::shared_ptr<std::string> bytes;
  if (is_below && ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
      static_cast<std::size_t>(status.st_size) <= kProductBytesMax) {
    bytes = std::make_shared<std::string>(static_cast<std::size_t>(status.st_size), '\0');
    std::size_t have = 0;
    while (have < bytes->size()) {
      const ssize_t got = ::read(fd, bytes->data() + have, bytes->size() - have);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) break;
      have += static_cast<std::size_t>(got);
    }
    bytes->resize(have);
  }
  ::close(fd);
  return bytes;
}

// A content's digest marks besides whether the file may be executed.
bool is_content(const std::string& bytes, const build::Digest& digest) noexcept {
  return format::checksum(as_bytes(bytes)).low == digest.low;
}

// `http://[::1]:80/` is asked for with Host `[::1]:80`. Numbers only: `127.example.org` is anybody's.
bool is_own_name(std::string_view host) noexcept {
  const std::size_t port = host.rfind(':');
  const bool has_port = port != host.npos && host.find_first_not_of("0123456789", port + 1) == host.npos;
  if (has_port && !host.ends_with(']')) host = host.substr(0, port);
  if (host.starts_with("127.")) return host.find_first_not_of("0123456789.") == host.npos;
  return host.empty() || host == "[::1]" || host == "localhost" || host.ends_with(".localhost");
}

http::Response plain(int status, const std::string& text) {
  http::Response response;
  response.status = status;
  response.headers = {{"Content-Type", "text/plain; charset=utf-8"}, {"Cache-Control", "no-store"}};
  response.body = http::text_body(text + '\n');
  return response;
}

}  // namespace

std::string Site::url_of(const std::string& path) const {
  if (!path.starts_with(options_.directory) || path.starts_with('/') || path.starts_with("../")) return {};
  return '/' + path.substr(options_.directory.size());
}

std::string Site::script_tag(const std::string& path, const std::string& etag) const {
  return "<script src=\"/.larder/live.js\" data-page=\"" + escaped(url_of(path)) + "\" data-etag=\"" + etag +
         "\"></script>\n";
}

void Site::keep(Page& page, Bytes bytes) {
  if (page.bytes != nullptr) bytes_ -= page.bytes->size();
  page.bytes = std::move(bytes);
  page.used = ++clock_;
  if (page.bytes != nullptr) bytes_ += page.bytes->size();
  while (bytes_ > kSiteBytesMax) {
    Page* oldest = nullptr;
    for (auto& [path, one] : pages_)
      if (one.bytes != nullptr && (oldest == nullptr || one.used < oldest->used)) oldest = &one;
    if (oldest == nullptr) return;
    bytes_ -= oldest->bytes->size();
    oldest->bytes.reset();
  }
}

void Site::on_products(const std::vector<std::string>& paths) {
  const MutexLock lock(mutex_);
  is_read_ = true;
  std::map<std::string, Page> pages;
  for (const std::string& path : paths) {
    const auto before = pages_.find(path);
    if (before == pages_.end()) {
      pages.try_emplace(path);
    } else {
      pages.insert(pages_.extract(before));
    }
  }
  for (const auto& [path, page] : pages_)
    if (page.bytes != nullptr) bytes_ -= page.bytes->size();
  pages_ = std::move(pages);
}

void Site::on_made(const std::vector<Product>& products) {
  {
    const MutexLock lock(mutex_);
    for (const Product& product : products) {
      const auto found = pages_.find(product.path);
      if (found == pages_.end()) continue;
      Page& page = found->second;
      if (page.is_made && page.digest == product.digest) continue;
      page.digest = product.digest;
      page.is_made = true;
      keep(page, nullptr);
    }
  }
  server_->retry();
}

void Site::on_start(const std::vector<std::string>& outputs) {
  for (const std::string& path : outputs) {
    build::Digest digest;
    {
      const MutexLock lock(mutex_);
      const auto found = pages_.find(path);
      if (found == pages_.end() || !found->second.is_made || found->second.bytes != nullptr) continue;
      digest = found->second.digest;
    }
    auto bytes = read_file(path);
    if (bytes == nullptr || !is_content(*bytes, digest)) continue;
    const MutexLock lock(mutex_);
    const auto found = pages_.find(path);
    if (found != pages_.end() && found->second.digest == digest) keep(found->second, std::move(bytes));
  }
}

void Site::on_built(const std::vector<Product>& changed) {
  on_made(changed);
  Json paths;
  paths.begin_array();
  bool any = false;
  for (const Product& product : changed) {
    const std::string url = url_of(product.path);
    if (url.empty()) continue;
    paths.value(url);
    any = true;
  }
  paths.end_array();
  if (any) server_->broadcast(event_of("changed", paths.take()));
}

void Site::on_trouble(const std::string& what) {
  {
    const MutexLock lock(mutex_);
    trouble_ = what;
  }
  server_->broadcast(what.empty() ? event_of("mended", "{}") : event_of("trouble", json_of(what)));
}

http::Response Site::events(const http::Request& request) {
  http::Response response;
  response.headers = {{"Content-Type", "text/event-stream"}, {"Cache-Control", "no-store"}};
  response.is_stream = true;
  const std::string page = request.parameter("page");
  std::string first = "retry: 1000\n\n";
  const MutexLock lock(mutex_);
  if (page.starts_with('/')) {
    const auto found = pages_.find(options_.directory + page.substr(1));
    if (found != pages_.end() && found->second.is_made &&
        build::hex(found->second.digest) != request.parameter("etag"))
      first += event_of("changed", '[' + json_of(page) + ']');
  }
  if (!trouble_.empty()) first += event_of("trouble", json_of(trouble_));
  response.body = http::text_body(std::move(first));
  return response;
}

// Of a product that was never made.
http::Response Site::trouble_page(const std::string& path) {
  http::Response response = plain(503, path + " is being built");
  std::string trouble;
  {
    const MutexLock lock(mutex_);
    trouble = trouble_;
  }
  response.headers.emplace_back("Retry-After", "1");
  response.is_later = trouble.empty();
  if (trouble.empty() || !is_page(path)) {
    if (!trouble.empty()) response.body = http::text_body(path + " is not built:\n" + trouble);
    return response;
  }
  response.headers[0].second = "text/html; charset=utf-8";
  response.body = http::text_body("<!doctype html>\n<title>" + escaped(path) +
                                  " is not built</title>\n<body><pre>" + escaped(trouble) + "</pre>\n" +
                                  (options_.has_script ? script_tag(path, "") : std::string()) + "</body>\n");
  return response;
}

http::Response Site::page_of(const http::Request& request, const std::string& path, const std::string& etag,
                             const Bytes& bytes) const {
  const bool has_script = options_.has_script && is_page(path);
  const std::string tag = '"' + etag + (has_script ? "s\"" : "\"");
  http::Response response;
  response.headers = {{"ETag", tag}, {"Cache-Control", "no-cache"}, {"Accept-Ranges", "none"}};
  const std::string_view known = request.header("if-none-match");
  if (known == "*" || known.find(tag) != known.npos) {
    response.status = 304;
    return response;
  }
  response.headers.emplace_back("Content-Type", type_of(path));
  response.body = bytes;
  if (!has_script) return response;
  std::string text = *bytes;
  const std::size_t end = text.rfind("</body>");
  text.insert(end == text.npos ? text.size() : end, script_tag(path, etag));
  response.body = http::text_body(std::move(text));
  return response;
}

http::Response Site::product(const http::Request& request, const std::string& path) {
  build::Digest digest;
  Bytes bytes;
  bool is_made = false;
  {
    const MutexLock lock(mutex_);
    const auto found = pages_.find(path);
    if (found != pages_.end() && found->second.is_made) {
      is_made = true;
      digest = found->second.digest;
      bytes = found->second.bytes;
      found->second.used = ++clock_;
    }
  }
  if (!is_made) return trouble_page(path);
  if (bytes == nullptr) {
    bytes = read_file(path);
    if (bytes == nullptr) {
      const auto missing = ::access(path.c_str(), F_OK) != 0;
      // Gone: it is made again. There, and still not to be had: it leads elsewhere, or is no file.
      return missing ? trouble_page(path) : plain(404, path + " is no file of this directory, or too large");
    }
    if (!is_content(*bytes, digest)) return trouble_page(path);
    const MutexLock lock(mutex_);
    const auto found = pages_.find(path);
    if (found != pages_.end() && found->second.digest == digest) keep(found->second, bytes);
  }
  return page_of(request, path, build::hex(digest), bytes);
}

http::Response Site::answer(const http::Request& request) {
  if (options_.is_loopback && !is_own_name(request.header("host")))
    return plain(421, "this server answers for localhost only");
  if (request.method != "GET" && request.method != "HEAD") {
    http::Response response = plain(405, "only GET and HEAD are answered");
    response.headers.emplace_back("Allow", "GET, HEAD");
    return response;
  }
  if (request.path == "/.larder/events") return events(request);
  if (request.path == "/.larder/live.js") {
    http::Response response;
    response.headers = {{"Content-Type", "text/javascript; charset=utf-8"}, {"Cache-Control", "no-cache"}};
    response.body = http::text_body(std::string(kScript));
    return response;
  }
  std::string path = options_.directory + request.path.substr(1);
  if (request.path.ends_with('/')) path += "index.html";
  bool is_product = false;
  bool is_directory = false;
  {
    const MutexLock lock(mutex_);
    if (!is_read_) {  // nobody knows yet what there will be
      http::Response response = plain(503, "the manifest is being read");
      response.is_later = true;
      return response;
    }
    is_product = pages_.contains(path);
    is_directory = pages_.contains(path + "/index.html");
  }
  if (!is_product && is_directory) {
    http::Response response = plain(301, request.path + '/');
    // As it was asked for, but for what could end a header's line.
    std::string to;
    for (const char c : request.path) {
      static constexpr std::string_view kDigits = "0123456789ABCDEF";
      const auto byte = static_cast<unsigned char>(c);
      if (byte > ' ' && byte < 0x7f && c != '%' && c != '?' && c != '#' && c != '"') {
        to += c;
      } else {
        to += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
      }
    }
    if (to.starts_with("//")) return plain(404, "no step makes that");
    response.headers.emplace_back("Location", to + '/');
    return response;
  }
  if (!is_product || url_of(path).empty()) return plain(404, "no step makes " + path);
  return product(request, path);
}

}  // namespace larder::tool
