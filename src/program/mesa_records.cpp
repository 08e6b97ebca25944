#include "program/mesa_records.hpp"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>

#include "base/file.hpp"
#include "base/hex.hpp"
#include "base/number.hpp"
#include "base/transfer.hpp"

namespace larder {
namespace {

namespace fs = std::filesystem;
static_assert(std::endian::native == std::endian::little, "Mesa writes numbers as the machine has them");

constexpr std::string_view kSingleFolder = "mesa_shader_cache_sf/";
constexpr std::string_view kDatabaseFolder = "mesa_shader_cache_db/";
constexpr std::uint64_t kFileMax = std::uint64_t{1} << 30;
constexpr std::size_t kDigits = 40;
constexpr int kTriesForLock = 1000;  // a millisecond each

std::uint32_t crc_of(std::string_view bytes) noexcept {
  static constexpr auto kTable = [] {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t i = 0; i < 256; ++i) {
      std::uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit) value = (value & 1) != 0 ? 0xEDB88320u ^ (value >> 1) : value >> 1;
      table[i] = value;
    }
    return table;
  }();
  std::uint32_t crc = 0xFFFFFFFFu;
  for (const char c : bytes) crc = kTable[(crc ^ static_cast<unsigned char>(c)) & 0xFF] ^ (crc >> 8);
  return crc;
}

template <typename T>
T number_at(std::string_view bytes, std::size_t at) noexcept {
  T number;
  std::memcpy(&number, bytes.data() + at, sizeof number);
  return number;
}
template <typename T>
void put_number(std::string& bytes, T number) {
  bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
}

// One record as the index tells of it. `place` is where its sizes (foz) or it itself (database) begins.
struct Place {
  std::uint64_t place = 0;
  std::uint32_t size = 0;
};
using Index = std::map<std::string, Place>;  // by the digits, for the database by the first 16 of them

// What the two layouts do each in its own way. Nothing of a file that is torn, of another version, or no such
// file at all is understood.
struct Layout {
  std::string_view data;
  std::string_view index;
  bool (*read_index)(std::string_view bytes, Index& index);
  // The payload, checked, of a data file of `end` bytes; nothing when it is damaged. `digits` becomes the
  // whole key.
  std::optional<std::string> (*read)(int fd, std::uint64_t end, const Place& place, std::string& digits);
  // The heads of two files that have none.
  std::pair<std::string, std::string> (*heads)();
  // Adds one record to what will be written behind `end` of the data file.
  void (*add)(const std::string& digits, std::string_view payload, std::uint64_t end, std::string& data,
              std::string& index);
};

// No memory is taken for what a file says of itself and does not have.
bool read_exactly(int fd, std::uint64_t end, std::string& bytes, std::size_t size, std::uint64_t offset) {
  if (offset > end || size > end - offset) return false;
  bytes.resize(size);
  return read_fully(FileSystem::posix(), fd, reinterpret_cast<std::byte*>(bytes.data()), size, offset) == 0;
}

// ---- foz
constexpr std::string_view kFozMagic(
    "\x81"
    "FOSSILIZEDB\0\0\0\6",
    16);
constexpr std::size_t kFozSizes = 16;
constexpr std::uint32_t kNoCompression = 1;

bool is_foz(std::string_view bytes) {
  return bytes.size() >= kFozMagic.size() && bytes.substr(0, 15) == kFozMagic.substr(0, 15) &&
         (bytes[15] == 5 || bytes[15] == 6);
}

bool is_digits(std::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool read_foz_index(std::string_view bytes, Index& index) {
  constexpr std::size_t kRow = kDigits + kFozSizes + sizeof(std::uint64_t);
  if (!is_foz(bytes) || (bytes.size() - kFozMagic.size()) % kRow != 0) return false;
  for (std::size_t at = kFozMagic.size(); at < bytes.size(); at += kRow) {
    const std::string_view digits = bytes.substr(at, kDigits);
    if (!is_digits(digits) || number_at<std::uint32_t>(bytes, at + kDigits) != sizeof(std::uint64_t))
      return false;
    // What was written first is what Mesa wrote; a later one of the same key says the same.
    index.try_emplace(std::string(digits),
                      Place{number_at<std::uint64_t>(bytes, at + kDigits + kFozSizes), 0});
  }
  return true;
}

std::optional<std::string> read_foz(int fd, std::uint64_t end, const Place& place, std::string& digits) {
  std::string sizes;
  if (place.place < kDigits || !read_exactly(fd, end, sizes, kDigits + kFozSizes, place.place - kDigits))
    return std::nullopt;
  const auto size = number_at<std::uint32_t>(sizes, kDigits);
  std::string payload;
  if (sizes.substr(0, kDigits) != digits || number_at<std::uint32_t>(sizes, kDigits + 4) != kNoCompression ||
      size == 0 || !read_exactly(fd, end, payload, size, place.place + kFozSizes) ||
      crc_of(payload) != number_at<std::uint32_t>(sizes, kDigits + 8))
    return std::nullopt;
  return payload;
}

std::pair<std::string, std::string> foz_heads() {
  return {std::string(kFozMagic), std::string(kFozMagic)};
}

void put_foz_sizes(std::string& bytes, std::uint32_t size, std::uint32_t crc) {
  for (const std::uint32_t number : {size, kNoCompression, crc, size}) put_number(bytes, number);
}

void add_foz(const std::string& digits, std::string_view payload, std::uint64_t end, std::string& data,
             std::string& index) {
  data += digits;
  const std::uint64_t place = end + data.size();
  put_foz_sizes(data, static_cast<std::uint32_t>(payload.size()), crc_of(payload));
  data += payload;
  index += digits;
  put_foz_sizes(index, sizeof place, 0);
  put_number(index, place);
}

// ---- database
constexpr std::string_view kDatabaseMagic("MESA_DB\0\1\0\0\0", 12);
constexpr std::size_t kDatabaseHead = 20;
constexpr std::size_t kDatabaseRow = 28;

bool read_database_index(std::string_view bytes, Index& index) {
  if (bytes.size() < kDatabaseHead || !bytes.starts_with(kDatabaseMagic) ||
      (bytes.size() - kDatabaseHead) % kDatabaseRow != 0)
    return false;
  for (std::size_t at = kDatabaseHead; at < bytes.size(); at += kDatabaseRow) {
    const Place place{number_at<std::uint64_t>(bytes, at + 20), number_at<std::uint32_t>(bytes, at + 8)};
    if (place.size == 0 || place.place < kDatabaseHead) return false;
    index.try_emplace(to_hex(as_bytes(bytes.substr(at, 8))), place);
  }
  return true;
}

std::optional<std::string> read_database(int fd, std::uint64_t end, const Place& place, std::string& digits) {
  std::string bytes;
  if (!read_exactly(fd, end, bytes, kDatabaseRow + place.size, place.place)) return std::nullopt;
  const std::string whole = to_hex(as_bytes(std::string_view(bytes).substr(0, 20)));
  std::string payload = bytes.substr(kDatabaseRow);
  if (!whole.starts_with(digits) || number_at<std::uint32_t>(bytes, 24) != place.size ||
      number_at<std::uint32_t>(bytes, 20) != crc_of(payload))
    return std::nullopt;
  digits = whole;
  return payload;
}

std::uint64_t monotonic_ns() {
  struct timespec now {};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(now.tv_nsec);
}

std::pair<std::string, std::string> database_heads() {
  std::string head(kDatabaseMagic);
  put_number(head, (static_cast<std::uint64_t>(::time(nullptr)) << 32) | (monotonic_ns() & 0xFFFFFFFFu) | 1);
  return {head, head};
}

void add_database(const std::string& digits, std::string_view payload, std::uint64_t end, std::string& data,
                  std::string& index) {
  std::string key;
  for (std::size_t i = 0; i < kDigits; i += 2)
    key.push_back(
        static_cast<char>(to_number<unsigned char>(std::string_view(digits).substr(i, 2), 16).value_or(0)));
  const std::uint64_t place = end + data.size();
  const auto size = static_cast<std::uint32_t>(payload.size());
  data += key;
  put_number(data, crc_of(payload));
  put_number(data, size);
  data += payload;
  index += key.substr(0, 8);
  put_number(index, size);
  put_number(index, monotonic_ns());
  put_number(index, place);
}

constexpr Layout kSingle{"foz_cache.foz", "foz_cache_idx.foz", read_foz_index, read_foz, foz_heads, add_foz};
constexpr Layout kDatabase{"mesa_cache.db", "mesa_cache.idx", read_database_index,
                           read_database,   database_heads,   add_database};

// The folder that a record's name stands in, with its layout; null: it is no record's.
const Layout* layout_of(std::string_view name) {
  const std::size_t slash = name.rfind('/');
  if (slash == std::string_view::npos || name.size() - slash - 1 != kDigits ||
      !is_digits(name.substr(slash + 1)))
    return nullptr;
  if (name.starts_with(kSingleFolder)) return &kSingle;
  return name.substr(0, slash + 1) == kDatabaseFolder ? &kDatabase : nullptr;
}

// Two files of one folder, held under the locks that Mesa takes while one lives.
class Pair {
 public:
  Pair(const std::string& folder, const Layout& layout, bool makes)
      : layout_(layout),
        data_(FileSystem::posix(), open(folder, layout.data, makes)),
        index_(FileSystem::posix(), data_.is_open() ? open(folder, layout.index, makes) : -1) {
    is_held_ = data_.is_open() && index_.is_open() && lock(data_.fd()) && lock(index_.fd());
  }

  // False: nothing there is understood.
  bool read(Index& index) {
    if (!is_held_ || !measure()) return false;
    std::string bytes;
    std::string head;
    const std::size_t whole = std::min<std::uint64_t>(index_size_, kFileMax);
    if (index_size_ > kFileMax || data_size_ > kFileMax ||
        !read_exactly(index_.fd(), index_size_, bytes, whole, 0) || !layout_.read_index(bytes, index))
      return false;
    // Both files of a database say which one they belong to.
    const std::size_t size = layout_.heads().first.size();
    return read_exactly(data_.fd(), data_size_, head, size, 0) &&
           std::string_view(bytes).substr(0, size) == head;
  }
  std::optional<std::string> payload(const Place& place, std::string& digits) {
    return layout_.read(data_.fd(), data_size_, place, digits);
  }
  bool is_empty() { return is_held_ && measure() && data_size_ == 0 && index_size_ == 0; }
  bool begin() {
    const auto [data, index] = layout_.heads();
    return append(data, index);
  }
  std::uint64_t end() { return measure() ? data_size_ : 0; }
  // The data first: an index names nothing that is not there.
  bool append(const std::string& data, const std::string& index) {
    FileSystem& files = FileSystem::posix();
    if (!measure() || data_size_ + data.size() > kFileMax) return false;
    if (write_fully(files, data_.fd(), as_bytes(data), data_size_) != 0) return false;
    if (write_fully(files, index_.fd(), as_bytes(index), index_size_) == 0) return true;
    files.truncate(index_.fd(), index_size_);
    return false;
  }

 private:
  static int open(const std::string& folder, std::string_view name, bool makes) {
    const std::string path = folder + '/' + std::string(name);
    const int flags = O_RDWR | O_NOFOLLOW | (makes ? O_CREAT : 0);
    const int fd = FileSystem::posix().open_at(AT_FDCWD, path.c_str(), flags, 0600);
    return fd < 0 ? -1 : fd;
  }
  static bool lock(int fd) {
    for (int i = 0; i < kTriesForLock; ++i) {
      if (::flock(fd, LOCK_EX | LOCK_NB) == 0) return true;
      if (errno != EWOULDBLOCK && errno != EINTR) return false;
      ::usleep(1000);
    }
    return false;
  }
  bool measure() {
    struct stat data {};
    struct stat index {};
    FileSystem& files = FileSystem::posix();
    if (files.status(data_.fd(), data) < 0 || files.status(index_.fd(), index) < 0 ||
        !S_ISREG(data.st_mode) || !S_ISREG(index.st_mode))
      return false;
    data_size_ = static_cast<std::uint64_t>(data.st_size);
    index_size_ = static_cast<std::uint64_t>(index.st_size);
    return true;
  }

  const Layout& layout_;
  File data_;
  File index_;
  bool is_held_ = false;
  std::uint64_t data_size_ = 0;
  std::uint64_t index_size_ = 0;
};

// Folders below `directory` in which such a pair may lie, by their names in it.
std::vector<std::pair<std::string, const Layout*>> folders_in(const std::string& directory) {
  std::vector<std::pair<std::string, const Layout*>> folders;
  std::error_code failed;
  if (fs::exists(directory + '/' + std::string(kDatabaseFolder) + std::string(kDatabase.data), failed))
    folders.emplace_back(kDatabaseFolder.substr(0, kDatabaseFolder.size() - 1), &kDatabase);
  const std::string single = directory + '/' + std::string(kSingleFolder);
  fs::recursive_directory_iterator each(single, fs::directory_options::skip_permission_denied, failed);
  for (; !failed && each != fs::recursive_directory_iterator(); each.increment(failed)) {
    if (each->path().filename() == kSingle.data)
      folders.emplace_back(each->path().parent_path().lexically_relative(directory).string(), &kSingle);
  }
  return folders;
}

// The database's index says only the first half of a key: as long as nothing is read, that is the name.
std::string beginning_of(std::string_view name, const Layout& layout) {
  return std::string(name.substr(0, name.size() - (&layout == &kDatabase ? kDigits - 16 : 0)));
}

std::vector<DriverRecord> read_new(const std::string& directory, const std::set<std::string>& known) {
  std::set<std::string> begun;
  for (const std::string& name : known) {
    const Layout* const layout = layout_of(name);
    if (layout != nullptr) begun.insert(beginning_of(name, *layout));
  }
  std::vector<DriverRecord> records;
  for (const auto& [folder, layout] : folders_in(directory)) {
    Pair pair(directory + '/' + folder, *layout, false);
    Index index;
    if (!pair.read(index)) continue;
    for (const auto& [short_digits, place] : index) {
      if (begun.contains(folder + '/' + short_digits)) continue;
      std::string digits = short_digits;
      auto payload = pair.payload(place, digits);
      if (payload) records.push_back({folder + '/' + digits, std::move(*payload)});
    }
  }
  return records;
}

std::set<std::string> lacking(const std::string& directory, const std::vector<std::string>& names) {
  std::map<std::string, Index> there;
  std::set<std::string> lacking;
  for (const std::string& name : names) {
    const Layout* const layout = layout_of(name);
    if (layout == nullptr) continue;
    const std::string folder = name.substr(0, name.rfind('/'));
    const auto [found, is_new] = there.try_emplace(folder);
    if (is_new) Pair(directory + '/' + folder, *layout, false).read(found->second);
    if (!found->second.contains(beginning_of(name, *layout).substr(folder.size() + 1))) lacking.insert(name);
  }
  return lacking;
}

std::set<std::string> add(const std::string& directory, const std::vector<DriverRecord>& records) {
  std::map<std::string, std::vector<const DriverRecord*>> by_folder;
  for (const DriverRecord& record : records) {
    if (layout_of(record.name) != nullptr && !record.bytes.empty() && record.bytes.size() <= kFileMax)
      by_folder[record.name.substr(0, record.name.rfind('/'))].push_back(&record);
  }
  std::set<std::string> added;
  for (const auto& [folder, all] : by_folder) {
    const Layout& layout = *layout_of(all.front()->name);
    std::error_code failed;
    fs::create_directories(directory + '/' + folder, failed);
    Pair pair(directory + '/' + folder, layout, true);
    if (pair.is_empty() && !pair.begin()) continue;
    Index index;
    if (!pair.read(index)) continue;
    std::string data_bytes;
    std::string index_bytes;
    std::vector<std::string> names;
    for (const DriverRecord* record : all) {
      const std::string digits = record->name.substr(folder.size() + 1);
      if (index.contains(beginning_of(record->name, layout).substr(folder.size() + 1))) continue;
      layout.add(digits, record->bytes, pair.end(), data_bytes, index_bytes);
      names.push_back(record->name);
    }
    if (pair.append(data_bytes, index_bytes)) added.insert(names.begin(), names.end());
  }
  return added;
}

}  // namespace

const RecordFiles kMesaRecords{[](std::string_view name) { return layout_of(name) != nullptr; }, lacking, add,
                               read_new};

}  // namespace larder
