#include "program/adopted.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "base/file.hpp"
#include "base/transfer.hpp"
#include "cache/cache_core.hpp"
#include "larder/events.hpp"
#include "program/file_turns.hpp"
#include "store/trust.hpp"

namespace larder {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kFileMax = std::uint64_t{256} << 20;

// A name as it stands in the index, which may come from elsewhere: relative, and nowhere upwards.
bool is_harmless(std::string_view name) {
  if (name.empty() || name.find('\0') != std::string_view::npos) return false;
  while (true) {
    const std::string_view part = name.substr(0, name.find('/'));
    if (part.empty() || part == "." || part == "..") return false;
    if (part.size() == name.size()) return true;
    name.remove_prefix(part.size() + 1);
  }
}

std::optional<std::string> read_file(const std::string& path) {
  FileSystem& files = FileSystem::posix();
  const File file(files, files.open_at(AT_FDCWD, path.c_str(), O_RDONLY | O_NOFOLLOW));
  struct stat status {};
  if (!file.is_open() || files.status(file.fd(), status) < 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  if (static_cast<std::uint64_t>(status.st_size) > kFileMax) return std::nullopt;
  std::string bytes(static_cast<std::size_t>(status.st_size), '\0');
  if (read_fully(files, file.fd(), reinterpret_cast<std::byte*>(bytes.data()), bytes.size(), 0) != 0) {
    return std::nullopt;
  }
  return bytes;
}

// In one step, so that a driver at work beside us sees it whole or not at all.
bool write_file(const std::string& path, BytesView bytes) {
  FileSystem& files = FileSystem::posix();
  std::error_code failed;
  fs::create_directories(fs::path(path).parent_path(), failed);
  if (failed) return false;
  const std::string unfinished = path + ".new-" + std::to_string(::getpid());
  File file(files,
            files.open_at(AT_FDCWD, unfinished.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0700));
  const bool is_written = file.is_open() && write_fully(files, file.fd(), bytes, 0) == 0 && file.close() == 0;
  if (is_written && files.rename_at(AT_FDCWD, unfinished.c_str(), AT_FDCWD, path.c_str(), 0) == 0)
    return true;
  files.unlink_at(AT_FDCWD, unfinished.c_str());
  return false;
}

Nanoseconds to_time(const timespec& stamp) {
  return std::chrono::seconds(stamp.tv_sec) + Nanoseconds(stamp.tv_nsec);
}

// Adds regular files of the open directory `fd` (which it closes) and of those below it, under names that
// begin with `prefix`. What cannot be looked at is not there.
void add_files(int fd, const std::string& prefix, std::vector<AdoptedFile>& files) {
  DIR* const folder = fd < 0 ? nullptr : ::fdopendir(fd);
  if (folder == nullptr) {
    if (fd >= 0) ::close(fd);
    return;
  }
  while (const dirent* const each = ::readdir(folder)) {
    const std::string_view name(each->d_name);
    if (name == "." || name == "..") continue;
    struct stat status {};
    bool is_folder = each->d_type == DT_DIR;
    if (!is_folder) {
      if (::fstatat(::dirfd(folder), each->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
      is_folder = S_ISDIR(status.st_mode);
    }
    if (is_folder) {
      const int below =
          ::openat(::dirfd(folder), each->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
      add_files(below, prefix + each->d_name + '/', files);
    } else if (S_ISREG(status.st_mode)) {
      files.push_back({prefix + each->d_name, static_cast<std::uint64_t>(status.st_size),
                       to_time(status.st_mtim), status.st_atim.tv_sec != 0});
    }
  }
  ::closedir(folder);
}

// By their names, which are sorted.
std::vector<AdoptedFile> files_in(const std::string& directory) {
  std::vector<AdoptedFile> files;
  add_files(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC), "", files);
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return files;
}

// A file that nobody has read since carries the earliest time of access. File systems that keep these times
// only now and then still do so after one that lies before the last change.
void forget_reading(const std::string& path) {
  const timespec times[2] = {{.tv_sec = 0, .tv_nsec = 0}, {.tv_sec = 0, .tv_nsec = UTIME_OMIT}};
  ::utimensat(AT_FDCWD, path.c_str(), times, AT_SYMLINK_NOFOLLOW);
}

Nanoseconds to_time(const struct statx_timestamp& stamp) {
  return std::chrono::seconds(stamp.tv_sec) + Nanoseconds(stamp.tv_nsec);
}

// From the birth of its folder to its last change; nothing where the file system does not tell, or when the
// folder is older than `began`.
std::optional<Nanoseconds> time_of_making(const std::string& path, Nanoseconds began) {
  struct statx folder {};
  struct statx file {};
  if (::statx(AT_FDCWD, path.substr(0, path.rfind('/')).c_str(), 0, STATX_BTIME, &folder) != 0 ||
      ::statx(AT_FDCWD, path.c_str(), 0, STATX_MTIME, &file) != 0 || (folder.stx_mask & STATX_BTIME) == 0) {
    return std::nullopt;
  }
  const Nanoseconds took = to_time(file.stx_mtime) - to_time(folder.stx_btime);
  if (took.count() <= 0 || to_time(folder.stx_btime) < began) return std::nullopt;
  return took;
}

}  // namespace

Result<Adoption> Adoption::open(Cache& cache, AdoptedDriver driver, const std::string& root) {
  if (driver.identity.empty() || driver.is_worth_keeping == nullptr) {
    return fail(Code::unsupported, "adopt " + driver.name + ": its build or its layout is not known");
  }
  const Key key =
      Recipe("adopted-directory").add("driver", driver.name).add("identity", driver.identity).key();
  const std::string directory = root + "/adopted/" + driver.name + '-' + key.hex().substr(0, 16);
  FileSystem& files = FileSystem::posix();
  std::error_code failed;
  fs::create_directories(root, failed);
  for (const std::string& each : {root + "/adopted", directory}) {
    files.make_directory_at(AT_FDCWD, each.c_str(), 0700);
    struct stat status {};
    const int error = files.status_at(AT_FDCWD, each.c_str(), status);
    if (error < 0) return fail(Code::io, "adopt " + driver.name + ": " + each + " cannot be made");
    // Drivers load code from there.
    if (!S_ISDIR(status.st_mode) || !trust::is_our_directory(status, ::geteuid())) {
      return fail(Code::refused, "adopt " + driver.name + ": " + each + " is not this user's alone");
    }
  }
  return Adoption(cache, std::move(driver), directory);
}

std::optional<Product> Adoption::look(Cache& cache, const Recipe& recipe) {
  return cache.core_->look(recipe);
}

Recipe Adoption::recipe_of(std::string_view file) const {
  Recipe recipe("adopted");
  recipe.add("driver", driver_.name).add("identity", driver_.identity).add("file", file);
  return recipe;
}

Recipe Adoption::index_recipe() const {
  Recipe recipe("adopted-index");
  recipe.add("driver", driver_.name).add("identity", driver_.identity);
  return recipe;
}

std::vector<std::string> Adoption::index() {
  std::vector<std::string> names;
  const auto product = cache_->core_->look(index_recipe());
  if (!product) return names;
  for (std::string_view rest = product->bytes.text(); !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    if (is_harmless(line)) names.emplace_back(line);
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
  }
  return names;
}

std::string Adoption::program_of(const std::string& file) const {
  return driver_.program_of == nullptr ? file : std::string(driver_.program_of(file));
}

bool Adoption::is_record(std::string_view name) const {
  return driver_.records != nullptr && driver_.records->is_record(name);
}

void Adoption::lay() {
  // The times of files lag behind by up to a tick.
  began_ = Nanoseconds(Clock::system().unix_ns()) - std::chrono::milliseconds(20);
  std::vector<std::string> records;
  for (const std::string& name : index()) {
    if (is_record(name)) {
      records.push_back(name);
      continue;
    }
    const std::string path = directory_ + '/' + name;
    struct stat status {};
    if (::lstat(path.c_str(), &status) == 0) {
      ++report_.known_files;
      there_.emplace(name, Outcome::memory_hit);
      forget_reading(path);
      continue;
    }
    const auto product = cache_->core_->look(recipe_of(name));
    if (!product) lost_.push_back(name);
    if (!product || !write_file(path, product->bytes.view())) continue;
    there_.emplace(name, product->outcome);
    forget_reading(path);
    ++report_.laid_files;
    report_.laid_bytes += product->bytes.size();
  }
  if (!records.empty()) lay_records(records);
  if (report_.laid_files != 0 || !lost_.empty()) FileTurns::forget(directory_);
}

void Adoption::lay_records(const std::vector<std::string>& names) {
  const std::set<std::string> lacking = driver_.records->lacking(directory_, names);
  report_.known_files += names.size() - lacking.size();
  std::vector<DriverRecord> records;
  std::map<std::string, std::uint64_t> sizes;
  for (const std::string& name : lacking) {
    const auto product = cache_->core_->look(recipe_of(name));
    if (!product) {
      lost_.push_back(name);
      continue;
    }
    sizes.emplace(name, product->bytes.size());
    records.push_back({name, std::string(product->bytes.text())});
  }
  for (const std::string& name : driver_.records->add(directory_, records)) {
    ++report_.laid_files;
    report_.laid_bytes += sizes[name];
  }
}

void Adoption::take_in(Nanoseconds cost, std::uint64_t bytes_max) {
  std::vector<std::string> known = index();
  for (const std::string& name : lost_)
    known.erase(std::remove(known.begin(), known.end(), name), known.end());
  std::sort(known.begin(), known.end());
  std::vector<AdoptedFile> files = files_in(directory_);
  std::vector<std::string> fresh;
  for (const AdoptedFile& file : files) {
    if (!std::binary_search(known.begin(), known.end(), file.name) && is_harmless(file.name))
      fresh.push_back(file.name);
  }
  Programs programs = used(files);
  keep(fresh, std::move(known), cost, programs);
  report_.asked_programs = programs.size();
  for (const auto& [program, outcome] : programs) {
    report_.there_programs += outcome == Outcome::memory_hit ? 1 : 0;
    report_.disk_programs += outcome == Outcome::disk_hit ? 1 : 0;
    report_.bundle_programs += outcome == Outcome::bundle_hit ? 1 : 0;
    report_.remote_programs += outcome == Outcome::remote_hit ? 1 : 0;
    report_.made_programs += outcome == Outcome::made ? 1 : 0;
  }
  remove_oldest(files, bytes_max);
}

// Of files as they were before anything of larder read them.
Adoption::Programs Adoption::used(const std::vector<AdoptedFile>& files) {
  Programs programs;
  for (const AdoptedFile& file : files) {
    const auto there = there_.find(file.name);
    if (there == there_.end() || !file.was_read) continue;
    Outcome& outcome = programs.try_emplace(program_of(file.name), there->second).first->second;
    outcome = std::max(outcome, there->second);
    // As a request, so that what drivers use is known to be of use.
    if (const auto product = cache_->get(recipe_of(file.name))) report_.saved += product->cost;
  }
  return programs;
}

void Adoption::keep(const std::vector<std::string>& fresh, std::vector<std::string> known, Nanoseconds cost,
                    Programs& programs) {
  std::string why;
  const auto listening = subscribe([&why](const Event& event) {
    if (event.kind == EventKind::warning && event.reason != Reason::none) why = name(event.reason);
  });
  std::vector<DriverRecord> records;
  if (driver_.records != nullptr)
    records = driver_.records->read_new(directory_, {known.begin(), known.end()});
  const Nanoseconds share =
      cost / static_cast<std::int64_t>(std::max<std::size_t>(fresh.size() + records.size(), 1));
  const auto keep_one = [&](const std::string& name, std::string bytes, Nanoseconds took) {
    programs[program_of(name)] = Outcome::made;
    const std::uint64_t size = bytes.size();
    why.clear();
    const bool is_kept = cache_->core_->put_made(recipe_of(name), Bytes(std::move(bytes)), took);
    if (!is_kept || !why.empty()) {
      ++report_.not_kept[why.empty() ? "switched off" : why];
      return;
    }
    known.push_back(name);
    ++report_.taken_files;
    report_.taken_bytes += size;
  };
  for (const std::string& file : fresh) {
    if (driver_.may_keep != nullptr && !driver_.may_keep(file)) continue;
    const std::string path = directory_ + '/' + file;
    auto bytes = read_file(path);
    if (!bytes) {
      ++report_.not_kept["unreadable, or above " + std::to_string(kFileMax >> 20) + " MiB"];
      continue;
    }
    if (!driver_.is_worth_keeping(file, *bytes)) continue;  // scratch of the driver's
    keep_one(file, std::move(*bytes),
             program_of(file) == file ? share : time_of_making(path, began_).value_or(share));
  }
  for (DriverRecord& record : records) keep_one(record.name, std::move(record.bytes), share);
  if (report_.taken_files == 0) return;
  std::sort(known.begin(), known.end());
  std::string lines;
  for (const std::string& name : known) lines += name + '\n';
  cache_->core_->remove(index_recipe(), Reason::refreshed);
  cache_->put(index_recipe(), Bytes(lines));
}

void Adoption::remove_oldest(const std::vector<AdoptedFile>& files, std::uint64_t bytes_max) {
  std::uint64_t total = 0;
  for (const AdoptedFile& file : files) total += file.bytes;
  if (total <= bytes_max) return;
  struct Folder {
    std::uint64_t bytes = 0;
    std::uint64_t files = 0;
    Nanoseconds used{0};
  };
  std::map<std::string, Folder> folders;  // a program each
  for (const AdoptedFile& file : files) {
    Folder& folder = folders[program_of(file.name)];
    folder.bytes += file.bytes;
    folder.files += 1;
    folder.used = std::max(folder.used, file.changed);
  }
  std::vector<std::pair<Nanoseconds, std::string>> oldest;
  for (const auto& [name, folder] : folders) oldest.emplace_back(folder.used, name);
  std::sort(oldest.begin(), oldest.end());
  const Nanoseconds recently = Nanoseconds(Clock::system().unix_ns()) - std::chrono::hours(1);
  std::error_code ignored;
  for (const auto& [used, name] : oldest) {
    if (total <= bytes_max || used > recently) break;
    fs::remove_all(directory_ + '/' + name, ignored);
    total -= folders[name].bytes;
    report_.removed_files += folders[name].files;
  }
  if (report_.removed_files != 0) FileTurns::forget(directory_);
}

}  // namespace larder
