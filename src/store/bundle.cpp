#include "store/bundle.hpp"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <new>

#include "base/file.hpp"
#include "base/mutex.hpp"
#include "base/transfer.hpp"
#include "format/bundle.hpp"
#include "format/entry.hpp"
#include "larder/events.hpp"
#include "store/bundle_keys.hpp"
#include "store/entry_file.hpp"

namespace larder {
namespace {

// An index for sixteen million entries.
constexpr std::uint64_t kTailMax = std::uint64_t{1} << 30;

tl::unexpected<Error> cannot(Code code, const std::string& path, std::string_view why) {
  return fail(code, path + ": " + std::string(why));
}

tl::unexpected<Error> read_failed(const std::string& path, int error) {
  return error > 0 ? cannot(Code::damaged, path, "the file ends early")
                   : fail(Code::io, "read " + path + ": " + std::strerror(-error));
}

bool is_zero(BytesView bytes) noexcept {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

}  // namespace

std::string_view name(BundleTrust trust) noexcept {
  switch (trust) {
    case BundleTrust::none:
      return "unsigned";
    case BundleTrust::unknown:
      return "signed by unknown keys";
    case BundleTrust::trusted:
      return "trusted";
  }
  return "unknown";
}

struct Bundle::Impl {
  Impl(FileSystem& on_files, std::string where) : files(on_files), path(std::move(where)) {}

  FileSystem& files;
  const std::string path;
  File file;
  format::BundleHeader header;
  std::string header_bytes;
  std::string tail;  // index and signatures: a copy, so that nobody can change it after its check
  BundleTrust trust = BundleTrust::none;
  bool is_ours = false;  // nobody but this user and root can write the file
  bool is_local = false;
  mutable Mutex mutex;
  mutable std::shared_ptr<const void> mapping GUARDED_BY(mutex);

  Result<void> read_index();
  Result<void> judge(const BundleOptions& options, uid_t owner);
  BytesView tail_view() const noexcept { return as_bytes(tail); }
  BytesView index_view() const noexcept {
    return tail_view().first(header.entry_count * format::kBundleRecordSize);
  }

  // The whole entry, read or mapped and checked. `product` and the views of `head` live as long as `bytes`.
  struct Content {
    Reason reason = Reason::none;
    Bytes bytes;
    format::EntryHead head;
    BytesView product;
  };
  Content read(const format::BundleRecord& record, bool may_map) const;
  // As read, the head only; `product` stays empty.
  Content read_head(const format::BundleRecord& record) const;
  // Whether the bytes between an entry and what follows it are zeros: nobody signed them.
  bool has_clean_gap(const format::BundleRecord& record) const noexcept;
  Reason copy(std::uint64_t offset, std::uint64_t size, Bytes& bytes) const;
  Reason map(std::uint64_t offset, std::uint64_t size, Bytes& bytes) const;
  void tell_damage(const format::BundleRecord& record, Reason reason) const noexcept;
  void visit_each(bool whole, const std::function<bool(const BundleEntry&)>& visit) const;
};

Result<void> Bundle::Impl::read_index() {
  struct stat status {};
  if (const int error = files.status(file.fd(), status); error < 0) {
    return fail(Code::io, "fstat " + path + ": " + std::strerror(-error));
  }
  if (!S_ISREG(status.st_mode)) return cannot(Code::refused, path, "is no plain file");
  const auto size = static_cast<std::uint64_t>(status.st_size);
  header_bytes.assign(std::min<std::uint64_t>(size, format::kBundleHeaderSize), '\0');
  int error =
      read_fully(files, file.fd(), reinterpret_cast<std::byte*>(header_bytes.data()), header_bytes.size(), 0);
  if (error != 0) return read_failed(path, error);
  if (!format::is_bundle(as_bytes(header_bytes))) return cannot(Code::unsupported, path, "is no bundle");
  switch (format::decode_bundle_header(as_bytes(header_bytes), size, header)) {
    case Reason::none:
      break;
    case Reason::other_version:
      return cannot(Code::unsupported, path, "another version of larder made it; export it anew");
    case Reason::truncated:
      return cannot(Code::damaged, path, "the file ends early; copy it anew");
    default:
      return cannot(Code::damaged, path, "the file is damaged; copy it anew");
  }
  if (header.tail_size() > kTailMax)
    return cannot(Code::unsupported, path, "has more entries than can be used");
  tail.assign(header.tail_size(), '\0');
  error = read_fully(files, file.fd(), reinterpret_cast<std::byte*>(tail.data()), tail.size(),
                     header.index_offset);
  if (error != 0) return read_failed(path, error);
  if (format::check_bundle_tail(tail_view(), header) != Reason::none) {
    return cannot(Code::damaged, path, "the index is damaged; copy it anew");
  }
  FileSpace space;
  is_local = files.space(file.fd(), space) >= 0 && space.is_local;
  is_ours =
      (status.st_uid == ::geteuid() || status.st_uid == 0) && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
  return {};
}

Result<void> Bundle::Impl::judge(const BundleOptions& options, uid_t owner) {
  std::vector<format::PublicKey> trusted;
  for (const std::string& key_file : options.key_files) {
    Result<std::vector<format::PublicKey>> keys = bundle_keys::read_public(key_file);
    if (!keys) return fail(Code::refused, path + ": its signature cannot be checked: " + keys.error().what);
    trusted.insert(trusted.end(), keys->begin(), keys->end());
  }
  if (header.signature_count > 0) trust = BundleTrust::unknown;
  std::string text;
  for (std::uint64_t number = 0; number < header.signature_count; ++number) {
    const format::BundleSignature signature = format::bundle_signature(tail_view(), header, number);
    if (std::find(trusted.begin(), trusted.end(), signature.key) == trusted.end()) continue;
    if (text.empty()) text = format::signed_text(as_bytes(header_bytes), index_view());
    if (!bundle_keys::is_signed(signature, text)) {
      return cannot(Code::refused, path, "was changed after a trusted key signed it; copy it anew");
    }
    trust = BundleTrust::trusted;
  }
  if (trust == BundleTrust::trusted) return {};
  if (options.require_signature) {
    return cannot(Code::refused, path,
                  trust == BundleTrust::none
                      ? "is not signed, and require-signature is on"
                      : "no trusted key has signed it; add its maker's key to bundle-keys");
  }
  if (!is_ours) {
    return fail(Code::refused,
                path + ": user " + std::to_string(owner) +
                    " or others can write it; chmod go-w a copy of your own, or have it signed");
  }
  return {};
}

Reason Bundle::Impl::copy(std::uint64_t offset, std::uint64_t size, Bytes& bytes) const {
  const std::shared_ptr<std::byte[]> memory(new std::byte[size]);
  const int error = read_fully(files, file.fd(), memory.get(), size, offset);
  if (error > 0) return Reason::truncated;
  if (error < 0) return entry_file::reason_of_read(error);
  bytes = Bytes(memory, BytesView(memory.get(), size));
  return Reason::none;
}

bool Bundle::Impl::has_clean_gap(const format::BundleRecord& record) const noexcept {
  std::array<std::byte, format::kBundleAlignment> gap;
  const std::uint64_t end = record.offset + record.size;
  const std::uint64_t size = format::bundle_aligned(end) - end;
  return read_fully(files, file.fd(), gap.data(), size, end) == 0 && is_zero(std::span(gap).first(size));
}

Reason Bundle::Impl::map(std::uint64_t offset, std::uint64_t size, Bytes& bytes) const {
  // In a forked child the lock may belong to a thread that is not there: then it copies.
  if (!mutex.try_lock()) return Reason::unreadable;
  int error = 0;
  if (mapping == nullptr) {
    void* const address = files.map(file.fd(), header.file_size, error);
    if (address != nullptr) {
      mapping =
          std::shared_ptr<const void>(address, [&fs = files, length = header.file_size](const void* mapped) {
            fs.unmap(const_cast<void*>(mapped), length);
          });
    }
  }
  const std::shared_ptr<const void> owner = mapping;
  mutex.unlock();
  if (owner == nullptr) return entry_file::reason_of_read(error);
  bytes = Bytes(owner, BytesView(static_cast<const std::byte*>(owner.get()) + offset, size));
  return Reason::none;
}

Bundle::Impl::Content Bundle::Impl::read(const format::BundleRecord& record, bool may_map) const {
  Content content;
  const bool maps = may_map && is_local && is_ours && record.size >= entry_file::kMapSizeMin;
  // With what lies between it and the next entry, which nobody signed: it must be zeros.
  const std::uint64_t size = format::bundle_aligned(record.offset + record.size) - record.offset;
  content.reason = maps ? map(record.offset, size, content.bytes) : Reason::unreadable;
  if (content.reason != Reason::none) content.reason = copy(record.offset, size, content.bytes);
  if (content.reason != Reason::none) return content;
  const BytesView entry = content.bytes.view().first(record.size);
  if (!is_zero(content.bytes.view().subspan(record.size))) {
    content.reason = Reason::corrupt;
    return content;
  }
  // The digest is what was signed; where nothing was, the entry's own checksum finds damage.
  if (trust == BundleTrust::trusted && format::digest(entry) != record.digest) {
    content.reason = Reason::corrupt;
    return content;
  }
  content.reason = format::decode_entry(entry, content.head, content.product);
  if (content.reason == Reason::none && content.head.key != record.key) content.reason = Reason::corrupt;
  return content;
}

Bundle::Impl::Content Bundle::Impl::read_head(const format::BundleRecord& record) const {
  constexpr std::uint64_t kFirst = 4096;
  Content content;
  const std::uint64_t first = std::min(kFirst, record.size);
  content.reason = copy(record.offset, first, content.bytes);
  if (content.reason != Reason::none) return content;
  content.reason = format::decode_entry_header(content.bytes.view(), record.size, content.head);
  if (content.reason != Reason::none) return content;
  if (content.head.head_size > first) {
    content.reason = copy(record.offset, content.head.head_size, content.bytes);
    if (content.reason != Reason::none) return content;
  }
  content.reason = format::decode_entry_head(content.bytes.view(), content.head);
  if (content.reason == Reason::none && content.head.key != record.key) content.reason = Reason::corrupt;
  if (content.reason == Reason::none && !has_clean_gap(record)) content.reason = Reason::corrupt;
  return content;
}

void Bundle::Impl::tell_damage(const format::BundleRecord& record, Reason reason) const noexcept {
  if (reason != Reason::corrupt && reason != Reason::truncated) return;
  emit({.kind = EventKind::damaged,
        .reason = reason,
        .tier = Tier::bundle,
        .recipe_kind = {},
        .key = record.key,
        .bytes = record.size,
        .detail = path});
}

void Bundle::Impl::visit_each(bool whole, const std::function<bool(const BundleEntry&)>& visit) const {
  for (std::uint64_t number = 0; number < header.entry_count; ++number) {
    const format::BundleRecord record = format::bundle_record(tail_view(), number);
    BundleEntry entry;
    entry.key = record.key;
    entry.file_bytes = record.size;
    const Content content = whole ? read(record, false) : read_head(record);
    entry.reason = content.reason;
    if (whole && entry.reason == Reason::none &&
        format::digest(content.bytes.view().first(record.size)) != record.digest) {
      entry.reason = Reason::corrupt;
    }
    if (entry.reason == Reason::none) {
      Result<Recipe> recipe = Recipe::from_canonical(content.head.recipe);
      if (recipe) {
        entry.recipe = std::move(*recipe);
        entry.log = content.head.log;
        entry.cost = content.head.cost;
        entry.made_at_unix_ns = content.head.made_at_unix_ns;
        entry.product_bytes = content.head.product_size;
      } else {
        entry.reason = Reason::corrupt;
      }
    }
    if (!visit(entry)) return;
  }
}

Bundle::Bundle(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
Bundle::Bundle(Bundle&&) noexcept = default;
Bundle& Bundle::operator=(Bundle&&) noexcept = default;
Bundle::~Bundle() = default;

Result<Bundle> BundleFor::open(const std::string& path, const BundleOptions& options, FileSystem& files) {
  auto impl = std::make_unique<Bundle::Impl>(files, path);
  const int fd = files.open_at(AT_FDCWD, path.c_str(), O_RDONLY | O_NONBLOCK);
  if (fd == -ENOENT || fd == -ENOTDIR) return cannot(Code::not_found, path, "no such bundle");
  if (fd < 0) return fail(Code::io, "open " + path + ": " + std::strerror(-fd));
  impl->file = File(files, fd);
  if (Result<void> done = impl->read_index(); !done)
    return fail(done.error().code, std::move(done.error().what));
  struct stat status {};
  if (const int error = files.status(fd, status); error < 0) {
    return fail(Code::io, "fstat " + path + ": " + std::strerror(-error));
  }
  if (Result<void> done = impl->judge(options, status.st_uid); !done) {
    return fail(done.error().code, std::move(done.error().what));
  }
  return Bundle(std::move(impl));
}

Result<Bundle> Bundle::open(const std::string& path, const BundleOptions& options) {
  return BundleFor::open(path, options, FileSystem::posix());
}

BundleLookup Bundle::get(const Recipe& recipe, const Key& key, BundleGet how) const noexcept try {
  BundleLookup found;
  const std::uint64_t number = format::find_in_bundle(impl_->tail_view(), impl_->header, key);
  if (number == impl_->header.entry_count) return found;
  const format::BundleRecord record = format::bundle_record(impl_->tail_view(), number);
  Impl::Content content = impl_->read(record, how.may_map);
  found.reason = content.reason;
  impl_->tell_damage(record, content.reason);
  if (found.reason != Reason::none) return found;
  if (content.head.recipe != recipe.canonical()) {
    found.reason = Reason::other_recipe;
    return found;
  }
  // The product holds the memory of the whole entry, and with it the views.
  const BytesView product = content.product;
  found.product = Bytes(std::make_shared<const Bytes>(std::move(content.bytes)), product);
  found.log = content.head.log;
  found.attachment = content.head.attachment;
  found.cost = content.head.cost;
  found.made_at_unix_ns = content.head.made_at_unix_ns;
  return found;
} catch (const std::bad_alloc&) {
  BundleLookup none;
  none.reason = Reason::out_of_resources;
  return none;
}

bool Bundle::contains(const Key& key) const noexcept {
  return format::find_in_bundle(impl_->tail_view(), impl_->header, key) < impl_->header.entry_count;
}

void Bundle::for_each(const std::function<bool(const BundleEntry&)>& visit) const {
  impl_->visit_each(false, visit);
}
void Bundle::verify_each(const std::function<bool(const BundleEntry&)>& visit) const {
  impl_->visit_each(true, visit);
}

const std::string& Bundle::path() const noexcept {
  return impl_->path;
}
BundleTrust Bundle::trust() const noexcept {
  return impl_->trust;
}
std::uint64_t Bundle::entries() const noexcept {
  return impl_->header.entry_count;
}
std::uint64_t Bundle::file_bytes() const noexcept {
  return impl_->header.file_size;
}

namespace {

std::string readable(std::string_view text) {
  constexpr std::size_t kLongest = 80;
  std::string cut(text.substr(0, kLongest));
  for (char& c : cut) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return text.size() > kLongest ? cut + "..." : cut;
}

// The first ingredient of `recipe` that says another thing than a fact of its name; null when none does.
const MachineFact* misfit(const Recipe& recipe, const std::vector<MachineFact>& machine,
                          std::string& theirs) {
  for (const Ingredient& ingredient : recipe.ingredients()) {
    for (const MachineFact& fact : machine) {
      if (fact.name != ingredient.name) continue;
      if (!ingredient.is_digest && as_text(ingredient.bytes) == fact.value) continue;
      theirs = ingredient.is_digest ? "another" : readable(as_text(ingredient.bytes));
      return &fact;
    }
  }
  return nullptr;
}

}  // namespace

BundleReport preflight(const std::string& path, const BundleOptions& options,
                       const std::vector<MachineFact>& machine) {
  BundleReport report;
  const Result<Bundle> bundle = Bundle::open(path, options);
  if (!bundle) {
    report.detail = bundle.error().what;
    return report;
  }
  report.trust = bundle->trust();
  report.entries = bundle->entries();
  report.file_bytes = bundle->file_bytes();
  std::map<std::pair<std::string, std::string>, BundleReport::Misfit> misfits;
  bundle->for_each([&](const BundleEntry& entry) {
    std::string theirs;
    if (!entry.recipe) {
      ++report.damaged;
    } else if (const MachineFact* fact = misfit(*entry.recipe, machine, theirs)) {
      BundleReport::Misfit& one = misfits[{fact->name, theirs}];
      one = {fact->name, theirs, readable(fact->value), one.entries + 1};
    } else {
      ++report.fitting;
    }
    return true;
  });
  for (auto& [what, one] : misfits) report.misfits.push_back(std::move(one));
  std::stable_sort(
      report.misfits.begin(), report.misfits.end(),
      [](const BundleReport::Misfit& a, const BundleReport::Misfit& b) { return a.entries > b.entries; });
  report.is_usable = report.fitting > 0;
  return report;
}

}  // namespace larder
