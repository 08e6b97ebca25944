#include "store/bundle_writer.hpp"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>

#include "base/transfer.hpp"

namespace larder {
namespace {

std::atomic<unsigned> g_next_writer{0};

// Why `path` must stay as it is: only a bundle, or an empty file, gives way to another bundle. Empty: it may
// go.
std::string why_kept(FileSystem& files, const std::string& path) {
  struct stat status {};
  const int error = files.status_at(AT_FDCWD, path.c_str(), status);
  if (error == -ENOENT) return {};
  if (error < 0) return path + ": " + std::strerror(-error);
  if (S_ISLNK(status.st_mode)) return path + " is a symbolic link; name the file that it leads to";
  if (S_ISDIR(status.st_mode)) return path + " is a directory; name a file in it";
  if (!S_ISREG(status.st_mode)) return path + " is no plain file; name another";
  if (status.st_size == 0) return {};
  const File file(files, files.open_at(AT_FDCWD, path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
  std::array<std::byte, 8> beginning{};
  const bool is_bundle = file.is_open() &&
                         read_fully(files, file.fd(), beginning.data(), beginning.size(), 0) == 0 &&
                         format::is_bundle(beginning);
  return is_bundle ? std::string()
                   : path + " is no bundle and would be lost; name another file, or remove it";
}

}  // namespace

BundleWriter::BundleWriter(FileSystem& files, std::string path, std::string temporary, File file) noexcept
    : files_(files), path_(std::move(path)), temporary_(std::move(temporary)), file_(std::move(file)) {}

BundleWriter::BundleWriter(BundleWriter&& other) noexcept
    : files_(other.files_),
      path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      file_(std::move(other.file_)),
      records_(std::move(other.records_)),
      end_(other.end_) {}

BundleWriter::~BundleWriter() {
  if (!temporary_.empty()) files_.unlink_at(AT_FDCWD, temporary_.c_str());
}

Result<BundleWriter> BundleWriter::open(FileSystem& files, const std::string& path) {
  if (std::string why = why_kept(files, path); !why.empty()) return fail(Code::refused, std::move(why));
  std::string temporary =
      path + ".new-" + std::to_string(::getpid()) + '-' + std::to_string(g_next_writer.fetch_add(1));
  // What somebody wants to ship may be read by everybody whom the umask lets.
  const int fd = files.open_at(AT_FDCWD, temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0644);
  if (fd < 0) return fail(Code::io, "open " + temporary + ": " + std::strerror(-fd));
  return BundleWriter(files, path, std::move(temporary), File(files, fd));
}

Result<void> BundleWriter::write(BytesView bytes, std::uint64_t at) {
  const int error = write_fully(files_, file_.fd(), bytes, at);
  if (error < 0) return fail(Code::io, "write " + temporary_ + ": " + std::strerror(-error));
  return {};
}

Result<void> BundleWriter::add(const format::EntryHead& head, BytesView product) {
  if (!records_.empty() && head.key <= records_.back().key) {
    return fail(Code::invalid_argument, "bundle: entries out of order at " + head.key.hex());
  }
  const std::string text = format::encode_entry_head(head, product);
  format::BundleRecord record;
  record.key = head.key;
  record.offset = format::bundle_aligned(end_);
  record.size = text.size() + product.size();
  record.digest = format::digest(as_bytes(text), product);
  // A gap that is never written reads as zeros, as the format wants it.
  if (Result<void> done = write(as_bytes(text), record.offset); !done) return done;
  if (Result<void> done = write(product, record.offset + text.size()); !done) return done;
  end_ = record.offset + record.size;
  records_.push_back(record);
  return {};
}

Result<void> BundleWriter::finish(const std::optional<bundle_keys::SecretKey>& key) {
  const std::string index = format::encode_bundle_index(records_);
  const std::string header = format::encode_bundle_header(records_, index, key ? 1 : 0);
  std::string tail = index;
  if (key) {
    const Result<format::BundleSignature> signature =
        bundle_keys::sign(*key, format::signed_text(as_bytes(header), as_bytes(index)));
    if (!signature) return fail(signature.error().code, signature.error().what);
    tail += format::encode_bundle_signatures(std::span(&*signature, 1));
  }
  const std::uint64_t index_offset = format::bundle_aligned(end_);
  if (Result<void> done = write(as_bytes(tail), index_offset); !done) return done;
  // An empty bundle may end in a gap.
  if (const int error = files_.truncate(file_.fd(), index_offset + tail.size()); error < 0) {
    return fail(Code::io, "truncate " + temporary_ + ": " + std::strerror(-error));
  }
  if (Result<void> done = write(as_bytes(header), 0); !done) return done;
  int error = files_.sync(file_.fd(), false);
  const int closed = file_.close();
  if (error >= 0) error = closed;
  if (error >= 0) error = files_.rename_at(AT_FDCWD, temporary_.c_str(), AT_FDCWD, path_.c_str(), 0);
  if (error < 0) return fail(Code::io, "write " + path_ + ": " + std::strerror(-error));
  temporary_.clear();
  return {};
}

}  // namespace larder
