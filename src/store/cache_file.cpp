#include "store/cache_file.hpp"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <new>

#include "base/file.hpp"
#include "base/mutex.hpp"
#include "base/transfer.hpp"
#include "format/entry.hpp"
#include "format/futhark.hpp"
#include "larder/events.hpp"
#include "store/entry_file.hpp"
#include "store/publish.hpp"
#include "store/replace.hpp"

namespace larder {
namespace {

// Which file was read, so that only that one is removed.
struct Seen {
  dev_t device = 0;
  ino_t inode = 0;
  timespec changed{};

  static Seen of(const struct stat& status) noexcept {
    return {status.st_dev, status.st_ino, status.st_mtim};
  }
  bool is(const struct stat& status) const noexcept {
    return device == status.st_dev && inode == status.st_ino && changed.tv_sec == status.st_mtim.tv_sec &&
           changed.tv_nsec == status.st_mtim.tv_nsec;
  }
};

bool is_disabled() noexcept {
  const char* const said = ::secure_getenv("LARDER_DISABLE");
  if (said == nullptr) return false;
  for (const char* no : {"", "0", "off", "no", "false"}) {
    if (std::strcmp(said, no) == 0) return false;
  }
  return true;
}

CacheFileLoad missed(Reason reason, std::string detail) {
  CacheFileLoad load;
  load.reason = reason;
  load.detail = std::move(detail);
  return load;
}

// The file's first bytes: enough for the header of every layout.
struct Beginning {
  std::array<std::byte, format::kEntryHeaderSize> bytes;
  std::size_t size = 0;
  BytesView view() const noexcept { return {bytes.data(), size}; }
};

int read_beginning(FileSystem& files, int fd, std::uint64_t file_size, Beginning& beginning) noexcept {
  beginning.size = std::min<std::uint64_t>(file_size, beginning.bytes.size());
  return read_fully(files, fd, beginning.bytes.data(), beginning.size, 0);
}

// Whether a file that begins so is, or once was, a cache file: nobody misses it. Damage may have struck what
// tells it, so parts are enough: an empty file, one of zeros (a power cut leaves such), most of the magic, or
// a version beside its complement.
bool was_cache_file(BytesView beginning) noexcept {
  if (format::is_futhark(beginning)) return true;
  if (std::all_of(beginning.begin(), beginning.end(), [](std::byte b) { return b == std::byte{0}; }))
    return true;
  // A sound header, to compare with.
  const std::string sound = format::encode_entry_head({}, {});
  const BytesView model = as_bytes(sound);
  const std::size_t magic = std::min<std::size_t>(beginning.size(), 8);
  std::size_t same = 0;
  for (std::size_t i = 0; i < magic; ++i) same += beginning[i] == model[i] ? 1 : 0;
  if (magic < 8 ? same == magic : same + 2 >= magic) return true;
  return beginning.size() >= 16 && std::equal(model.begin() + 8, model.begin() + 16, beginning.begin() + 8);
}

// Reads one opened cache file front to back: header, head, product; each is checked before the next is read.
class Reader {
 public:
  Reader(FileSystem& files, int fd, std::uint64_t size, const std::string& path) noexcept
      : files_(files), fd_(fd), size_(size), path_(path) {}

  // Fills head(). none, or why it is no sound larder file.
  Reason read_head();
  // PRECONDITION: read_head() gave none.
  Reason read_product(Bytes& product);
  const format::EntryHead& head() const noexcept { return head_; }
  std::string detail(Reason reason) const;

 private:
  Reason failed(int error) noexcept {
    if (error > 0) return Reason::truncated;
    error_ = -error;
    return entry_file::reason_of_read(error);
  }

  FileSystem& files_;
  const int fd_;
  const std::uint64_t size_;
  const std::string& path_;
  int error_ = 0;
  bool is_futhark_ = false;
  std::unique_ptr<std::byte[]> head_bytes_;
  format::EntryHead head_;
};

Reason Reader::read_head() {
  Beginning beginning;
  if (const int error = read_beginning(files_, fd_, size_, beginning); error != 0) return failed(error);
  is_futhark_ = format::is_futhark(beginning.view());
  if (is_futhark_) return Reason::other_version;
  if (size_ < format::kEntrySizeMin) return Reason::truncated;
  if (size_ > CacheFile::kSizeMax + format::kEntryRecipeSizeMax) return Reason::too_large;
  const Reason reason = format::decode_entry_header(beginning.view(), size_, head_);
  if (reason != Reason::none) return reason;
  head_bytes_.reset(new std::byte[head_.head_size]);
  const int error = read_fully(files_, fd_, head_bytes_.get(), head_.head_size, 0);
  if (error != 0) return failed(error);
  return format::decode_entry_head({head_bytes_.get(), head_.head_size}, head_);
}

Reason Reader::read_product(Bytes& product) {
  const std::uint64_t size = head_.product_size;
  const std::shared_ptr<std::byte[]> copy(new std::byte[size]);
  const int error = read_fully(files_, fd_, copy.get(), size, head_.head_size);
  if (error != 0) return failed(error);
  const BytesView view(copy.get(), size);
  if (format::checksum(view) != head_.product_checksum) return Reason::corrupt;
  product = Bytes(copy, view);
  return Reason::none;
}

std::string Reader::detail(Reason reason) const {
  switch (reason) {
    case Reason::none:
      return {};
    case Reason::truncated:
      return path_ + ": the file ends early";
    case Reason::corrupt:
      return path_ + ": the file is damaged";
    case Reason::other_version:
      return path_ +
             (is_futhark_ ? ": the file is a Futhark program's" : ": another version of larder wrote it");
    case Reason::too_large:
      return path_ + ": the file is larger than any cache file";
    default:
      return path_ + ": read: " + std::strerror(error_);
  }
}

// What the operating system says of the file, before any of it is read. Empty: it can be trusted.
std::string distrust(const struct stat& status) {
  if (S_ISDIR(status.st_mode)) return "is a directory";
  if (S_ISLNK(status.st_mode)) return "is a symbolic link; name the file it leads to";
  if (!S_ISREG(status.st_mode)) return "is no plain file";
  if (status.st_uid != ::geteuid() && status.st_uid != 0) {
    return "belongs to user " + std::to_string(status.st_uid);
  }
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) return "can be written by others; chmod go-w it";
  return {};
}

}  // namespace

struct CacheFile::Impl {
  Impl(std::string where, FileSystem& on_files, const Clock& by_clock)
      : path(std::move(where)), files(on_files), clock(by_clock) {
    const std::size_t slash = path.rfind('/');
    dir = slash == std::string::npos ? "." : path.substr(0, std::max<std::size_t>(slash, 1));
    name = slash == std::string::npos ? path : path.substr(slash + 1);
  }

  std::string path, dir, name;
  FileSystem& files;
  const Clock& clock;
  Mutex mutex;
  std::optional<Seen> seen GUARDED_BY(mutex);  // what the last load read
  bool is_rejected GUARDED_BY(mutex) = false;
  bool has_warned GUARDED_BY(mutex) = false;

  File open_dir() noexcept { return {files, files.open_at(AT_FDCWD, dir.c_str(), O_PATH | O_DIRECTORY)}; }
  std::string dir_detail(int error) const {
    if (error == ENOENT) return "the directory " + dir + " does not exist; make it, or name another file";
    return "open " + dir + ": " + std::strerror(error);
  }

  CacheFileLoad load(const Recipe& recipe);
  CacheFileLoad load_opened(const Recipe& recipe, int fd, const struct stat& status);
  CacheFileSave save(const Recipe& recipe, BytesView product, Nanoseconds cost);
  // Why the place cannot be written, or must not.
  CacheFileSave prepare_place(int directory);
  bool remove(const Seen& which) noexcept;
  void remember(std::optional<Seen> which) {
    const MutexLock lock(mutex);
    seen = which;
  }
  void tell_load(const Recipe& recipe, const CacheFileLoad& load) noexcept;
  void tell_save(const Recipe& recipe, const CacheFileSave& save, std::uint64_t bytes,
                 Nanoseconds cost) noexcept;
};

CacheFileLoad CacheFile::Impl::load(const Recipe& recipe) {
  if (is_disabled()) return missed(Reason::disabled, "LARDER_DISABLE is set");
  remember(std::nullopt);
  const int dir_fd = files.open_at(AT_FDCWD, dir.c_str(), O_PATH | O_DIRECTORY);
  if (dir_fd < 0) {
    const Reason reason = entry_file::reason_of_read(dir_fd);
    return missed(reason == Reason::out_of_resources ? reason : Reason::unreadable, dir_detail(-dir_fd));
  }
  const File directory(files, dir_fd);
  // O_NONBLOCK: a FIFO in this place must not hold the program up.
  const int fd = files.open_at(directory.fd(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) {
    const Reason reason = entry_file::reason_of_read(fd);
    if (reason == Reason::absent) {
      const MutexLock lock(mutex);
      if (is_rejected) return missed(Reason::refused, path + ": was removed because it was not accepted");
      return missed(reason, path + ": no such file yet");
    }
    return missed(reason, path + ": " +
                              (fd == -ELOOP ? "is a symbolic link; name the file it leads to"
                                            : "open: " + std::string(std::strerror(-fd))));
  }
  const File file(files, fd);
  struct stat status {};
  if (const int error = files.status(fd, status); error < 0) {
    return missed(entry_file::reason_of_read(error), path + ": fstat: " + std::strerror(-error));
  }
  if (const std::string why = distrust(status); !why.empty())
    return missed(Reason::untrusted, path + ": " + why);
  return load_opened(recipe, fd, status);
}

CacheFileLoad CacheFile::Impl::load_opened(const Recipe& recipe, int fd, const struct stat& status) {
  Reader reader(files, fd, static_cast<std::uint64_t>(status.st_size), path);
  CacheFileLoad load;
  load.reason = reader.read_head();
  if (load.reason == Reason::none && reader.head().recipe != recipe.canonical()) {
    return missed(Reason::other_recipe, path + ": holds the product of another recipe");
  }
  if (load.reason == Reason::none) load.reason = reader.read_product(load.product);
  if (load.reason != Reason::none) return missed(load.reason, reader.detail(load.reason));
  load.cost = reader.head().cost;
  remember(Seen::of(status));
  return load;
}

CacheFileSave CacheFile::Impl::prepare_place(int directory) {
  struct stat status {};
  const int error = files.status_at(directory, name.c_str(), status);
  if (error == -ENOENT) return {};
  if (error < 0) return {publish::reason_of_write(error), path + ": " + std::strerror(-error)};
  if (!S_ISREG(status.st_mode)) return {Reason::untrusted, path + ": " + distrust(status)};
  if (status.st_uid != ::geteuid()) {
    return {Reason::untrusted, path + ": belongs to user " + std::to_string(status.st_uid)};
  }
  if (status.st_size == 0) return {};
  const File file(files, files.open_at(directory, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
  Beginning beginning;
  const bool is_read =
      file.is_open() &&
      read_beginning(files, file.fd(), static_cast<std::uint64_t>(status.st_size), beginning) == 0;
  if (is_read && was_cache_file(beginning.view())) return {};
  return {Reason::untrusted, path + ": is no cache file, and left alone; name another file, or remove it"};
}

CacheFileSave CacheFile::Impl::save(const Recipe& recipe, BytesView product, Nanoseconds cost) {
  if (is_disabled()) return {Reason::disabled, "LARDER_DISABLE is set"};
  if (product.size() > kSizeMax || recipe.canonical().size() > format::kEntryRecipeSizeMax) {
    return {Reason::too_large, path + ": the product is larger than a cache file may be"};
  }
  const int dir_fd = files.open_at(AT_FDCWD, dir.c_str(), O_PATH | O_DIRECTORY);
  if (dir_fd < 0) {
    const Reason reason = publish::reason_of_write(dir_fd);
    return {reason == Reason::untrusted ? Reason::unwritable : reason, dir_detail(-dir_fd)};
  }
  const File directory(files, dir_fd);
  CacheFileSave save = prepare_place(directory.fd());
  if (!save) return save;
  format::EntryHead head;
  head.key = recipe.key();
  head.recipe = recipe.canonical();
  head.made_at_unix_ns = clock.unix_ns();
  head.cost = cost;
  const int error =
      replace::replace(files, directory.fd(), name, format::encode_entry_head(head, product), product);
  if (error < 0) return {publish::reason_of_write(error), path + ": " + std::strerror(-error)};
  const MutexLock lock(mutex);
  is_rejected = false;
  seen.reset();
  return save;
}

bool CacheFile::Impl::remove(const Seen& which) noexcept {
  const File directory = open_dir();
  struct stat status {};
  return directory.is_open() && files.status_at(directory.fd(), name.c_str(), status) == 0 &&
         which.is(status) && files.unlink_at(directory.fd(), name.c_str()) == 0;
}

void CacheFile::Impl::tell_load(const Recipe& recipe, const CacheFileLoad& load) noexcept {
  if ((load.reason != Reason::truncated && load.reason != Reason::corrupt) || !is_listened()) return;
  emit({.kind = EventKind::damaged,
        .reason = load.reason,
        .tier = Tier::disk,
        .recipe_kind = recipe.kind(),
        .key = recipe.key(),
        .detail = load.detail});
}

void CacheFile::Impl::tell_save(const Recipe& recipe, const CacheFileSave& save, std::uint64_t bytes,
                                Nanoseconds cost) noexcept {
  if (!is_listened() || save.reason == Reason::disabled) return;
  if (!save) {
    // The same file will fail alike every time.
    const MutexLock lock(mutex);
    if (std::exchange(has_warned, true)) return;
  }
  emit({.kind = save ? EventKind::stored : EventKind::warning,
        .reason = save.reason,
        .tier = Tier::disk,
        .recipe_kind = recipe.kind(),
        .key = recipe.key(),
        .bytes = bytes,
        .cost = cost,
        .detail = save.detail});
}

// One get_or_make: its answer, and the event that tells of it.
struct CacheFile::Request {
  Request(const Impl& of, const Recipe& by) noexcept : impl(of), recipe(by), begun(of.clock.steady()) {}

  const Impl& impl;
  const Recipe& recipe;
  const Nanoseconds begun;
  CacheFileAnswer answer;

  CacheFileAnswer answered() && {
    tell(answer.detail);
    return std::move(answer);
  }
  void failed(const std::string& what) {
    answer.outcome = Outcome::failed;
    tell(what);
  }

 private:
  void tell(std::string_view detail) const noexcept {
    if (!is_listened()) return;
    emit({.kind = EventKind::request,
          .outcome = answer.outcome,
          .reason = answer.reason,
          .tier = Tier::disk,
          .recipe_kind = recipe.kind(),
          .key = recipe.key(),
          .bytes = answer.product.size(),
          .cost = answer.cost,
          .saved = answer.outcome == Outcome::disk_hit ? answer.cost : Nanoseconds{0},
          .duration = impl.clock.steady() - begun,
          .detail = detail});
  }
};

CacheFile::CacheFile(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
CacheFile::CacheFile(CacheFile&&) noexcept = default;
CacheFile& CacheFile::operator=(CacheFile&&) noexcept = default;
CacheFile::~CacheFile() = default;

const std::string& CacheFile::path() const noexcept {
  return impl_->path;
}

Result<CacheFile> CacheFileFor::open(std::string path, FileSystem& files, const Clock& clock) {
  if (path.empty()) return fail(Code::invalid_argument, "cache file: the path is empty");
  if (path.back() == '/') return fail(Code::invalid_argument, "cache file: " + path + " names a directory");
  if (path.find('\0') != std::string::npos)
    return fail(Code::invalid_argument, "cache file: a zero byte in the path");
  if (path[0] != '/') {
    // The program may change its working directory; the file stays where it was meant.
    char here[PATH_MAX];
    if (::getcwd(here, sizeof here) != nullptr) path = std::string(here) + '/' + path;
  }
  return CacheFile(std::make_unique<CacheFile::Impl>(std::move(path), files, clock));
}

Result<CacheFile> CacheFile::open(std::string path) {
  return CacheFileFor::open(std::move(path), FileSystem::posix(), Clock::system());
}

CacheFileLoad CacheFile::load(const Recipe& recipe) noexcept try {
  Request request(*impl_, recipe);
  CacheFileLoad load = impl_->load(recipe);
  impl_->tell_load(recipe, load);
  if (load) {
    request.answer.outcome = Outcome::disk_hit;
    request.answer.product = load.product;
    request.answer.cost = load.cost;
    (void)std::move(request).answered();
  }
  return load;
} catch (const std::bad_alloc&) {
  return missed(Reason::out_of_resources, {});
}

CacheFileSave CacheFile::save(const Recipe& recipe, BytesView product, Nanoseconds cost) noexcept try {
  CacheFileSave save = impl_->save(recipe, product, cost);
  impl_->tell_save(recipe, save, product.size(), cost);
  return save;
} catch (const std::bad_alloc&) {
  return {Reason::out_of_resources, {}};
}

bool CacheFile::reject() noexcept {
  std::optional<Seen> which;
  {
    const MutexLock lock(impl_->mutex);
    which = std::exchange(impl_->seen, std::nullopt);
    impl_->is_rejected = impl_->is_rejected || which.has_value();
  }
  return which && impl_->remove(*which);
}

Result<CacheFileAnswer> CacheFile::get_or_make(const Recipe& recipe,
                                               const std::function<bool(const Bytes&)>& accept,
                                               const std::function<Made()>& make) {
  Request request(*impl_, recipe);
  CacheFileLoad load;
  try {
    load = impl_->load(recipe);
  } catch (const std::bad_alloc&) {
    load = missed(Reason::out_of_resources, {});
  }
  impl_->tell_load(recipe, load);
  if (load && !accept(load.product)) {
    reject();
    load = missed(Reason::refused, impl_->path + ": its product was not accepted");
  }
  CacheFileAnswer& answer = request.answer;
  answer.reason = load.reason;
  answer.detail = std::move(load.detail);
  if (load) {
    answer.outcome = Outcome::disk_hit;
    answer.product = std::move(load.product);
    answer.cost = load.cost;
    return std::move(request).answered();
  }
  answer.outcome = answer.reason == Reason::disabled ? Outcome::bypassed : Outcome::made;
  const auto making = impl_->clock.steady();
  Made made = make();
  answer.cost = impl_->clock.steady() - making;
  if (!made) {
    request.failed(made.error().what);
    return fail(made.error().code, std::move(made.error().what));
  }
  if (made->has_value()) {
    answer.product = std::move(**made);
    CacheFileSave kept = save(recipe, answer.product.view(), answer.cost);
    answer.not_kept = kept.reason;
    answer.not_kept_detail = std::move(kept.detail);
  } else {
    answer.not_kept = Reason::nothing_to_store;
  }
  return std::move(request).answered();
}

namespace {

Result<CacheFileInfo> inspect_larder(FileSystem& files, int fd, const std::string& path, CacheFileInfo info) {
  Reader reader(files, fd, info.file_bytes, path);
  info.reason = reader.read_head();
  Bytes product;
  if (info.reason == Reason::none) info.reason = reader.read_product(product);
  if (info.reason == Reason::unreadable) return fail(Code::io, reader.detail(info.reason));
  info.key = reader.head().key;
  info.cost = reader.head().cost;
  info.made_at_unix_ns = reader.head().made_at_unix_ns;
  info.product_bytes = reader.head().product_size;
  if (info.reason == Reason::none) {
    Result<Recipe> recipe = Recipe::from_canonical(reader.head().recipe);
    if (recipe) {
      info.recipe = std::move(*recipe);
    } else {
      info.reason = Reason::corrupt;
    }
  }
  return info;
}

}  // namespace

Result<CacheFileInfo> CacheFile::inspect(const std::string& path) {
  FileSystem& files = FileSystem::posix();
  const int fd = files.open_at(AT_FDCWD, path.c_str(), O_RDONLY | O_NONBLOCK);
  if (fd == -ENOENT) return fail(Code::not_found, path + ": no such file");
  if (fd < 0) return fail(Code::io, "open " + path + ": " + std::strerror(-fd));
  const File file(files, fd);
  struct stat status {};
  if (const int error = files.status(fd, status); error < 0) {
    return fail(Code::io, "fstat " + path + ": " + std::strerror(-error));
  }
  if (!S_ISREG(status.st_mode)) return fail(Code::refused, path + ": is no plain file");
  CacheFileInfo info;
  info.file_bytes = static_cast<std::uint64_t>(status.st_size);
  Beginning beginning;
  if (const int error = read_beginning(files, fd, info.file_bytes, beginning); error < 0) {
    return fail(Code::io, "read " + path + ": " + std::strerror(-error));
  }
  if (format::is_futhark(beginning.view())) {
    format::FutharkFile futhark;
    info.layout = CacheFileInfo::Layout::futhark;
    info.reason = format::decode_futhark(beginning.view(), info.file_bytes, futhark);
    info.said_bytes = futhark.said_size;
    info.futhark_key = futhark.key;
    info.product_bytes =
        info.file_bytes - std::min<std::uint64_t>(info.file_bytes, format::kFutharkHeaderSize);
    return info;
  }
  if (!was_cache_file(beginning.view())) return fail(Code::unsupported, path + ": is no cache file");
  return inspect_larder(files, fd, path, std::move(info));
}

}  // namespace larder
