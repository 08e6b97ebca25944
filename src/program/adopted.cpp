#include "program/adopted.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <set>

#include "base/file.hpp"
#include "base/transfer.hpp"
#include "larder/driver_identity.hpp"
#include "program/library_file.hpp"
#include "store/trust.hpp"

namespace larder {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kFileMax = std::uint64_t{256} << 20;

// PoCL's layout: XX/HASH/program.bc, XX/HASH/KERNEL/SHAPE/KERNEL.so; empty marks of time; files of its own
// making that it forgets to remove.
bool is_worth_keeping_of_pocl(std::string_view name, std::string_view bytes) {
  const std::string_view last = name.substr(name.rfind('/') + 1);
  if (bytes.empty() || last.starts_with("tempfile") || name.find('/') == std::string_view::npos) return false;
  if (last.ends_with(".so")) return is_whole_elf(bytes);
  return last == "program.bc" && bytes.starts_with("BC\xc0\xde");
}

// A name as it stands in the index, which may come from elsewhere: relative, and nowhere upwards.
bool is_harmless(std::string_view name) {
  if (name.empty() || name.front() == '/' || name.find('\0') != std::string_view::npos) return false;
  for (const fs::path& part : fs::path(name)) {
    if (part == ".." || part == "." || part.empty()) return false;
  }
  return true;
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

// Regular files below `directory`, by their names in it.
std::vector<std::string> files_in(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code failed;
  fs::recursive_directory_iterator each(directory, fs::directory_options::skip_permission_denied, failed);
  for (; !failed && each != fs::recursive_directory_iterator(); each.increment(failed)) {
    std::error_code ignored;
    if (!each->is_symlink(ignored) && each->is_regular_file(ignored)) {
      names.push_back(each->path().lexically_relative(directory).string());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

std::optional<AdoptedDriver> find_pocl(const std::string& vendors) {
  std::error_code ignored;
  for (const auto& each : fs::directory_iterator(vendors, ignored)) {
    if (each.path().extension() != ".icd") continue;
    const auto text = read_file(fs::canonical(each.path(), ignored).string());
    if (!text) continue;
    const std::string name = text->substr(0, text->find_first_of("\r\n"));
    if (name.find("pocl") == std::string::npos) continue;
    const std::string found = find_library(name);
    if (found.empty()) continue;
    const std::string library = fs::canonical(found, ignored).string();
    const std::string build =
        library_file_identity(library, fs::path(library).parent_path().string() + "/pocl");
    const std::string processor = processor_identity();
    if (build.empty() || processor.empty()) continue;
    constexpr std::string_view kPrefixes[] = {"POCL_"};
    constexpr std::string_view kHarmless[] = {"POCL_CACHE_DIR", "POCL_DEBUG", "POCL_TRACING"};
    return AdoptedDriver{"pocl", "POCL_CACHE_DIR",
                         build + processor + environment_identity(kPrefixes, kHarmless),
                         is_worth_keeping_of_pocl};
  }
  return std::nullopt;
}

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
  const auto product = cache_->get(index_recipe());
  if (!product) return names;
  for (std::string_view rest = product->bytes.text(); !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    if (is_harmless(line)) names.emplace_back(line);
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
  }
  return names;
}

void Adoption::lay() {
  for (const std::string& name : index()) {
    const std::string path = directory_ + '/' + name;
    std::error_code ignored;
    if (fs::exists(fs::symlink_status(path, ignored))) {
      ++report_.known_files;
      continue;
    }
    const auto product = cache_->get(recipe_of(name));
    if (!product) lost_.push_back(name);
    if (!product || !write_file(path, product->bytes.view())) continue;
    ++report_.laid_files;
    report_.laid_bytes += product->bytes.size();
  }
}

void Adoption::take_in(Nanoseconds cost, std::uint64_t bytes_max) {
  const std::vector<std::string> indexed = index();
  std::set<std::string> known(indexed.begin(), indexed.end());
  for (const std::string& name : lost_) known.erase(name);
  std::vector<std::pair<std::string, Bytes>> fresh;
  for (const std::string& name : files_in(directory_)) {
    if (known.find(name) != known.end() || !is_harmless(name)) continue;
    auto bytes = read_file(directory_ + '/' + name);
    if (!bytes || !driver_.is_worth_keeping(name, *bytes)) continue;
    fresh.emplace_back(name, Bytes(std::move(*bytes)));
  }
  const auto share = cost / static_cast<std::int64_t>(std::max<std::size_t>(fresh.size(), 1));
  for (const auto& [name, bytes] : fresh) {
    if (!cache_->put(recipe_of(name), bytes, {.cost = share})) continue;
    known.insert(name);
    ++report_.taken_files;
    report_.taken_bytes += bytes.size();
  }
  if (report_.taken_files != 0) {
    std::string lines;
    for (const std::string& name : known) lines += name + '\n';
    (void)cache_->get_or_make(index_recipe(), [&] { return Made{.bytes = Bytes(lines)}; },
                              {.mode = Mode::refresh});
  }
  remove_oldest(bytes_max);
}

void Adoption::remove_oldest(std::uint64_t bytes_max) {
  struct Folder {
    std::uint64_t bytes = 0;
    std::uint64_t files = 0;
    fs::file_time_type used = fs::file_time_type::min();
  };
  std::map<std::string, Folder> folders;  // by the first two components: a program each
  std::uint64_t total = 0;
  std::error_code ignored;
  for (const std::string& name : files_in(directory_)) {
    const std::size_t first = name.find('/');
    const std::size_t second = first == std::string::npos ? first : name.find('/', first + 1);
    const fs::path path = directory_ + '/' + name;
    Folder& folder = folders[name.substr(0, second)];
    const std::uint64_t bytes = fs::file_size(path, ignored);
    folder.bytes += bytes;
    folder.files += 1;
    folder.used = std::max(folder.used, fs::last_write_time(path, ignored));
    total += bytes;
  }
  std::vector<std::pair<fs::file_time_type, std::string>> oldest;
  for (const auto& [name, folder] : folders) oldest.emplace_back(folder.used, name);
  std::sort(oldest.begin(), oldest.end());
  const auto recently = fs::file_time_type::clock::now() - std::chrono::hours(1);
  for (const auto& [used, name] : oldest) {
    if (total <= bytes_max || used > recently) break;
    fs::remove_all(directory_ + '/' + name, ignored);
    total -= folders[name].bytes;
    report_.removed_files += folders[name].files;
  }
}

}  // namespace larder
