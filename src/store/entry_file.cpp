#include "store/entry_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <new>

#include "base/transfer.hpp"
#include "recipe/key_hash.hpp"
#include "store/trust.hpp"

namespace larder::entry_file {
namespace {

// Read and checked piece by piece, so that what is checked is still in the processor's cache.
constexpr std::size_t kPiece = 256 * 1024;
// From here on a copy is laid in huge pages where the system has them.
constexpr std::size_t kHugeMin = std::size_t{2} << 20;
constexpr std::size_t kHugePage = std::size_t{2} << 20;

// Memory for `size` bytes that nobody has written yet. Null when there is none.
LARDER_HOT std::shared_ptr<std::byte> allocate(std::size_t size) {
  if (size < kHugeMin) {
    return {static_cast<std::byte*>(::operator new(size)), [](std::byte* p) { ::operator delete(p); }};
  }
  const std::size_t reserved = size + kHugePage;
  void* const address = ::mmap(nullptr, reserved, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED) throw std::bad_alloc();
  const auto number = reinterpret_cast<std::uintptr_t>(address);
  auto* const aligned = reinterpret_cast<std::byte*>((number + kHugePage - 1) / kHugePage * kHugePage);
  ::madvise(aligned, size, MADV_HUGEPAGE);
  return {aligned, [address, reserved](std::byte*) { ::munmap(address, reserved); }};
}

Content failed(int error) noexcept {
  Content content;
  content.reason = error > 0 ? Reason::truncated : reason_of_read(error);
  content.is_stale = error == -ESTALE;
  return content;
}

Content failed(Reason reason) noexcept {
  Content content;
  content.reason = reason;
  return content;
}

// An entry from when larger ones were allowed, or damage that would keep the key from ever being stored: the
// header knows how long the file should be.
Content read_too_large(FileSystem& files, int fd, std::uint64_t size) noexcept {
  std::byte header[format::kEntryHeaderSize];
  if (const int error = read_fully(files, fd, header, sizeof header, 0); error != 0) return failed(error);
  format::EntryHead head;
  const Reason reason = format::decode_entry_header(header, size, head);
  return failed(reason == Reason::none ? Reason::too_large : reason);
}

LARDER_HOT Content read_small(FileSystem& files, int fd, std::size_t size) {
  auto memory = allocate(size);
  if (const int error = read_fully(files, fd, memory.get(), size, 0); error != 0) return failed(error);
  Content content;
  const BytesView all(memory.get(), size);
  content.reason = format::decode_entry(all, content.head, content.product);
  content.memory = std::move(memory);
  return content;
}

LARDER_HOT Content read_mapped(FileSystem& files, int fd, std::size_t size) {
  int error = 0;
  void* const address = files.map(fd, size, error);
  if (address == nullptr) return failed(error);
  Content content;
  content.memory.reset(address, [&files, size](void* mapped) { files.unmap(mapped, size); });
  content.reason =
      format::decode_entry({static_cast<const std::byte*>(address), size}, content.head, content.product);
  return content;
}

LARDER_HOT Content read_large(FileSystem& files, int fd, std::size_t size, format::EntryHead head) {
  auto memory = allocate(size);
  if (const int error = read_fully(files, fd, memory.get(), head.head_size, 0); error != 0)
    return failed(error);
  Content content;
  content.head = head;
  content.reason = format::decode_entry_head({memory.get(), head.head_size}, content.head);
  if (content.reason != Reason::none) return content;

  format::RunningChecksum sum;
  for (std::size_t offset = head.head_size; offset < size;) {
    const std::size_t piece = std::min(kPiece, size - offset);
    if (const int error = read_fully(files, fd, memory.get() + offset, piece, offset); error != 0) {
      return failed(error);
    }
    sum.add({memory.get() + offset, piece});
    offset += piece;
  }
  if (sum.result() != content.head.product_checksum) return failed(Reason::corrupt);
  content.product = {memory.get() + head.head_size, size - head.head_size};
  content.memory = std::move(memory);
  return content;
}

}  // namespace

Reason reason_of_read(int error) noexcept {
  switch (-error) {
    case 0:
      return Reason::none;
    case ENOENT:
    case ENOTDIR:
      return Reason::absent;
    case ELOOP:
    case EPERM:
    case ENXIO:
    case EXDEV:
    case EISDIR:
      return Reason::untrusted;
    case EMFILE:
    case ENFILE:
    case ENOMEM:
      return Reason::out_of_resources;
    default:
      return Reason::unreadable;
  }
}

Opened open(Directory& directory, const Key& key) noexcept {
  Opened opened;
  // O_NONBLOCK: a FIFO in the place of an entry must not make us wait.
  const int fd =
      directory.open_in_shard(layout::shard_of(key), layout::entry_path(key).c_str(), O_RDONLY | O_NONBLOCK);
  opened.file = File(directory.files(), fd);
  int error = fd;
  if (fd >= 0) error = directory.files().status(fd, opened.status);
  opened.reason = reason_of_read(std::min(error, 0));
  opened.is_stale = error == -ESTALE;
  if (opened.reason == Reason::none && !trust::is_our_file(opened.status, directory.user())) {
    opened.reason = Reason::untrusted;
  }
  return opened;
}

Content read(Directory& directory, const Opened& opened, const Limits& limits) noexcept try {
  FileSystem& files = directory.files();
  const int fd = opened.file.fd();
  const auto size = static_cast<std::uint64_t>(opened.status.st_size);
  if (size < format::kEntrySizeMin) return failed(Reason::truncated);
  if (limits.file_bytes_max != 0 && size > limits.file_bytes_max) return read_too_large(files, fd, size);
  if (size < kMapSizeMin) return read_small(files, fd, size);
  if (limits.may_map && directory.is_local()) return read_mapped(files, fd, size);

  // Nothing is allocated on the word of a file's size alone: a file with a large hole has no header.
  std::byte header[format::kEntryHeaderSize];
  if (const int error = read_fully(files, fd, header, sizeof header, 0); error != 0) return failed(error);
  format::EntryHead head;
  if (const Reason reason = format::decode_entry_header(header, size, head); reason != Reason::none) {
    return failed(reason);
  }
  return read_large(files, fd, size, head);
} catch (const std::bad_alloc&) {
  return failed(Reason::out_of_resources);
}

Content read_head(Directory& directory, const Opened& opened) noexcept try {
  FileSystem& files = directory.files();
  const auto size = static_cast<std::uint64_t>(opened.status.st_size);
  if (size < format::kEntrySizeMin) return failed(Reason::truncated);
  constexpr std::size_t kFirst = 4096;
  auto memory = allocate(std::min<std::uint64_t>(kFirst, size));
  std::size_t have = std::min<std::uint64_t>(kFirst, size);
  if (const int error = read_fully(files, opened.file.fd(), memory.get(), have, 0); error != 0)
    return failed(error);
  Content content;
  content.reason = format::decode_entry_header({memory.get(), have}, size, content.head);
  if (content.reason != Reason::none) return content;
  const std::size_t head_size = content.head.head_size;
  if (head_size > have) {
    memory = allocate(head_size);
    if (const int error = read_fully(files, opened.file.fd(), memory.get(), head_size, 0); error != 0) {
      return failed(error);
    }
  }
  content.reason = format::decode_entry_head({memory.get(), head_size}, content.head);
  content.memory = std::move(memory);
  return content;
} catch (const std::bad_alloc&) {
  return failed(Reason::out_of_resources);
}

Content read_recipe(Directory& directory, const Opened& opened) noexcept try {
  FileSystem& files = directory.files();
  const auto size = static_cast<std::uint64_t>(opened.status.st_size);
  if (size < format::kEntrySizeMin) return failed(Reason::truncated);
  constexpr std::size_t kFirst = 4096;
  const std::size_t first = std::min<std::uint64_t>(kFirst, size);
  auto memory = allocate(first);
  if (const int error = read_fully(files, opened.file.fd(), memory.get(), first, 0); error != 0)
    return failed(error);
  Content content;
  content.reason = format::decode_entry_header({memory.get(), first}, size, content.head);
  if (content.reason != Reason::none) return content;
  if (content.head.head_size <= first) {
    content.reason = format::decode_entry_head({memory.get(), content.head.head_size}, content.head);
    content.head.log = {};
    content.head.attachment = {};
    content.memory = std::move(memory);
    return content;
  }
  const std::uint64_t recipe = format::recipe_size({memory.get(), first});
  if (format::kEntryHeaderSize + recipe > first) {
    memory = allocate(format::kEntryHeaderSize + recipe);
    if (const int error =
            read_fully(files, opened.file.fd(), memory.get(), format::kEntryHeaderSize + recipe, 0);
        error != 0) {
      return failed(error);
    }
  }
  content.head.recipe = as_text({memory.get() + format::kEntryHeaderSize, recipe});
  if (key_of(content.head.recipe) != content.head.key) return failed(Reason::corrupt);
  content.memory = std::move(memory);
  return content;
} catch (const std::bad_alloc&) {
  return failed(Reason::out_of_resources);
}

Content check(Directory& directory, const Opened& opened) noexcept try {
  FileSystem& files = directory.files();
  const auto size = static_cast<std::uint64_t>(opened.status.st_size);
  if (size < kMapSizeMin) return read(directory, opened, {});
  Content content = read_head(directory, opened);
  if (content.reason != Reason::none) return content;
  const auto memory = allocate(kPiece);
  format::RunningChecksum sum;
  for (std::uint64_t offset = content.head.head_size; offset < size;) {
    const std::size_t piece = std::min<std::uint64_t>(kPiece, size - offset);
    if (const int error = read_fully(files, opened.file.fd(), memory.get(), piece, offset); error != 0) {
      return failed(error);
    }
    sum.add({memory.get(), piece});
    offset += piece;
  }
  if (sum.result() != content.head.product_checksum) return failed(Reason::corrupt);
  return content;
} catch (const std::bad_alloc&) {
  return failed(Reason::out_of_resources);
}

}  // namespace larder::entry_file
