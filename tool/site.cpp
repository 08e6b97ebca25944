#include "tool/site.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "http/page.hpp"

namespace larder::tool {
namespace {

bool is_page(std::string_view path) noexcept {
  return path.ends_with(".html") || path.ends_with(".htm");
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

}  // namespace

std::string Site::url_of(const std::string& path) const {
  if (!path.starts_with(options_.directory) || path.starts_with('/') || path.starts_with("../")) return {};
  return '/' + path.substr(options_.directory.size());
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
  std::vector<std::string> urls;
  for (const Product& product : changed) {
    std::string url = url_of(product.path);
    if (!url.empty()) urls.push_back(std::move(url));
  }
  if (!urls.empty()) server_->broadcast(http::changed_event(urls));
}

void Site::on_trouble(const std::string& what) {
  {
    const MutexLock lock(mutex_);
    trouble_ = what;
  }
  server_->broadcast(what.empty() ? http::mended_event() : http::trouble_event(what));
}

http::Response Site::events(const http::Request& request) {
  const std::string page = request.parameter("page");
  std::string missed;
  const MutexLock lock(mutex_);
  if (page.starts_with('/')) {
    const auto found = pages_.find(options_.directory + page.substr(1));
    if (found != pages_.end() && found->second.is_made &&
        build::hex(found->second.digest) != request.parameter("etag"))
      missed += http::changed_event({page});
  }
  if (!trouble_.empty()) missed += http::trouble_event(trouble_);
  return http::events(std::move(missed));
}

// Of a product that was never made.
http::Response Site::trouble_page(const std::string& path) {
  std::string trouble;
  {
    const MutexLock lock(mutex_);
    trouble = trouble_;
  }
  http::Response response =
      trouble.empty() ? http::plain(503, path + " is being built")
                      : http::trouble(503, url_of(path), trouble, is_page(path), options_.has_script);
  response.headers.emplace_back("Retry-After", "1");
  response.is_later = trouble.empty();
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
      return missing ? trouble_page(path)
                     : http::plain(404, path + " is no file of this directory, or too large");
    }
    if (!is_content(*bytes, digest)) return trouble_page(path);
    const MutexLock lock(mutex_);
    const auto found = pages_.find(path);
    if (found != pages_.end() && found->second.digest == digest) keep(found->second, bytes);
  }
  const std::string_view type = http::type_of(path);
  return http::content(request,
                       {url_of(path), build::hex(digest),
                        std::string(type.empty() ? "application/octet-stream" : type), bytes},
                       options_.has_script);
}

http::Response Site::answer(const http::Request& request) {
  if (auto refused = http::refusal(request, options_.is_loopback)) return std::move(*refused);
  if (request.path == http::kEventsPath) return events(request);
  if (request.path == http::kScriptPath) return http::script();
  std::string path = options_.directory + request.path.substr(1);
  if (request.path.ends_with('/')) path += "index.html";
  bool is_product = false;
  bool is_directory = false;
  {
    const MutexLock lock(mutex_);
    if (!is_read_) {  // nobody knows yet what there will be
      http::Response response = http::plain(503, "the manifest is being read");
      response.is_later = true;
      return response;
    }
    is_product = pages_.contains(path);
    is_directory = pages_.contains(path + "/index.html");
  }
  if (!is_product && is_directory) {
    http::Response response = http::plain(301, request.path + '/');
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
    if (to.starts_with("//")) return http::plain(404, "no step makes that");
    response.headers.emplace_back("Location", to + '/');
    return response;
  }
  if (!is_product || url_of(path).empty()) return http::plain(404, "no step makes " + path);
  return product(request, path);
}

}  // namespace larder::tool
