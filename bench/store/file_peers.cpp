// Raw files, and the layout of seed 001 as we read it: four directories of hashes, NUMBER.src with the full
// values, NUMBER.bin with the product, a lock file while they are written, a file with the time of the last
// access, and one file with the sum of all sizes.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "checked.hpp"
#include "peer.hpp"

std::unique_ptr<Peer> make_larder();
std::unique_ptr<Peer> make_larder_mapped();

namespace {

// Malloc, so that nobody writes zeros first. Null: not there.
struct FileContent {
  char* bytes = nullptr;
  std::size_t size = 0;
  FileContent() = default;
  FileContent(const FileContent&) = delete;
  FileContent& operator=(const FileContent&) = delete;
  ~FileContent() { std::free(bytes); }
  bool read(const char* path) {
    const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    struct stat status {};
    ::fstat(fd, &status);
    size = static_cast<std::size_t>(status.st_size);
    bytes = static_cast<char*>(std::malloc(size + 1));
    std::size_t have = 0;
    while (have < size) {
      const ssize_t got = ::read(fd, bytes + have, size - have);
      if (got <= 0) break;
      have += static_cast<std::size_t>(got);
    }
    ::close(fd);
    return have == size;
  }
};

bool write_file(const char* path, const void* bytes, std::size_t size, int flags) {
  const int fd = ::open(path, O_WRONLY | O_CLOEXEC | flags, 0600);
  if (fd < 0) return false;
  const bool good = ::write(fd, bytes, size) == static_cast<ssize_t>(size);
  return ::close(fd) == 0 && good;
}

class RawPeer final : public Peer {
 public:
  bool open(const std::string& directory) override {
    directory_ = directory;
    ::mkdir(directory.c_str(), 0700);
    return true;
  }
  std::int64_t get(const larder::Recipe& recipe) override {
    char path[512];
    path_of(recipe, path, "");
    FileContent content;
    return content.read(path) ? checked_size(content.bytes, content.size) : -1;
  }
  bool put(const larder::Recipe& recipe, std::string_view product) override {
    char path[512];
    char temporary[512];
    path_of(recipe, path, "");
    // Each process writes under a name of its own; who is last replaces what is there.
    char suffix[16];
    std::snprintf(suffix, sizeof suffix, ".%d", ::getpid());
    path_of(recipe, temporary, suffix);
    const std::string all = with_checksum(product);
    return write_file(temporary, all.data(), all.size(), O_CREAT | O_EXCL) && ::rename(temporary, path) == 0;
  }

 private:
  void path_of(const larder::Recipe& recipe, char (&path)[512], const char* suffix) const {
    const larder::Key key = recipe.key();
    std::snprintf(path, sizeof path, "%s/%016lx%016lx%s", directory_.c_str(),
                  static_cast<unsigned long>(key.high), static_cast<unsigned long>(key.low), suffix);
  }
  std::string directory_;
};

class HashDirectoriesPeer final : public Peer {
 public:
  bool open(const std::string& directory) override {
    directory_ = directory;
    ::mkdir(directory.c_str(), 0700);
    return true;
  }
  std::int64_t get(const larder::Recipe& recipe) override {
    const std::string folder = folder_of(recipe);
    for (int number = 0;; ++number) {
      const std::string stem = folder + '/' + std::to_string(number);
      if (::access((stem + ".bin").c_str(), R_OK) != 0 || ::access((stem + ".src").c_str(), R_OK) != 0)
        return -1;
      if (::access((stem + ".lock").c_str(), F_OK) == 0) return -1;
      FileContent source;
      if (!source.read((stem + ".src").c_str())) return -1;
      if (std::string_view(source.bytes, source.size) != recipe.canonical()) continue;
      FileContent product;
      if (!product.read((stem + ".bin").c_str())) return -1;
      const std::string now = std::to_string(::time(nullptr)) + "000000000";
      write_file((stem + "_access_time.txt").c_str(), now.data(), now.size(), O_CREAT | O_TRUNC);
      return checked_size(product.bytes, product.size);
    }
  }
  bool put(const larder::Recipe& recipe, std::string_view product) override {
    const std::string folder = folder_of(recipe);
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    int number = 0;
    for (; ::access((folder + '/' + std::to_string(number) + ".src").c_str(), F_OK) == 0; ++number) {
      FileContent source;
      if (source.read((folder + '/' + std::to_string(number) + ".src").c_str()) &&
          std::string_view(source.bytes, source.size) == recipe.canonical()) {
        return true;
      }
    }
    const std::string stem = folder + '/' + std::to_string(number);
    if (!write_file((stem + ".lock").c_str(), "", 0, O_CREAT | O_EXCL)) return false;
    const std::string all = with_checksum(product);
    const bool good = write_file((stem + ".bin").c_str(), all.data(), all.size(), O_CREAT | O_TRUNC) &&
                      write_file((stem + ".src").c_str(), recipe.canonical().data(),
                                 recipe.canonical().size(), O_CREAT | O_TRUNC);
    const std::string now = std::to_string(::time(nullptr)) + "000000000";
    write_file((stem + "_access_time.txt").c_str(), now.data(), now.size(), O_CREAT | O_TRUNC);
    add_to_size(all.size() + recipe.canonical().size());
    ::unlink((stem + ".lock").c_str());
    return good;
  }

 private:
  std::string folder_of(const larder::Recipe& recipe) const {
    // Device, image, constants and options each have a hash; one recipe's key is cut into four.
    const std::string hex = recipe.key().hex();
    return directory_ + '/' + hex.substr(0, 2) + '/' + hex.substr(2, 14) + '/' + hex.substr(16, 8) + '/' +
           hex.substr(24);
  }
  void add_to_size(std::size_t more) const {
    const int fd = ::open((directory_ + "/cache_size.txt").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0) return;
    ::flock(fd, LOCK_EX);
    char text[32] = {};
    if (::pread(fd, text, sizeof text - 1, 0) < 0) text[0] = '\0';
    const std::string sum = std::to_string(std::strtoull(text, nullptr, 10) + more);
    [[maybe_unused]] const ssize_t wrote = ::pwrite(fd, sum.data(), sum.size(), 0);
    ::close(fd);
  }
  std::string directory_;
};

template <typename P>
std::unique_ptr<Peer> made() {
  return std::make_unique<P>();
}

}  // namespace

std::vector<PeerKind> peer_kinds() {
  return {{"raw", made<RawPeer>},
          {"larder", make_larder},
          {"larder_mapped", make_larder_mapped},
          {"hash_directories", made<HashDirectoriesPeer>}};
}
