#include "build/log.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "format/byte_reader.hpp"
#include "format/frame.hpp"

namespace larder::build {
namespace {

constexpr std::string_view kLogMagic = "larder build log";
constexpr std::size_t kFrameEnough = 64 * 1024;  // pending bytes are written beyond this
constexpr std::size_t kGiveBack = 1 << 20;       // of a log that is read; whole pages

enum Record : char { kPath = 1, kContent, kPrint, kRun, kForget, kImprint };

using format::append_integer;

// Takes what a record has one after the other; `is_good` turns false where there are not enough bytes.
class RecordReader {
 public:
  explicit RecordReader(std::string_view text) noexcept : rest_(as_bytes(text)) {}
  bool is_at_end() const noexcept { return !good_ || rest_.at_end(); }
  bool is_good() const noexcept { return good_; }
  template <typename Integer>
  Integer take() noexcept {
    Integer value = 0;
    good_ = good_ && rest_.read(value);
    return value;
  }
  std::string_view take_bytes(std::size_t size) noexcept {
    std::string_view bytes;
    good_ = good_ && rest_.read(bytes, size);
    return bytes;
  }
  std::size_t left() const noexcept { return good_ ? rest_.left() : 0; }

 private:
  format::ByteReader rest_;
  bool good_ = true;
};

class LogReader {
 public:
  LogReader(Manifest& manifest, History& history) : manifest_(manifest), history_(history) {}

  // False when something in it is not as it should be; what came before that is taken.
  bool take_frame(std::string_view payload) {
    RecordReader reader(payload);
    while (!reader.is_at_end())
      if (!take_record(reader)) return false;
    return true;
  }

 private:
  bool take_record(RecordReader& reader);
  bool take_run(RecordReader& reader);
  Digest take_digest(RecordReader& reader) {
    Digest digest;
    digest.low = reader.take<std::uint64_t>();
    digest.high = reader.take<std::uint64_t>();
    return digest;
  }

  Manifest& manifest_;
  History& history_;
  std::vector<TargetId> paths_;
  std::vector<ContentId> ids_;
};

bool LogReader::take_record(RecordReader& reader) {
  switch (reader.take<char>()) {
    case kPath: {
      const auto size = reader.take<std::uint32_t>();
      const std::string_view path = reader.take_bytes(size);
      if (!reader.is_good() || path.empty() || path.find('\0') != path.npos) return false;
      const TargetId target = manifest_.target(path);
      history_.set_path_number(target, static_cast<std::uint32_t>(paths_.size()));
      paths_.push_back(target);
      return true;
    }
    case kContent: {
      const auto path = reader.take<std::uint32_t>();
      const Digest digest = take_digest(reader);
      if (!reader.is_good() || path >= paths_.size()) return false;
      // Each is told once: then ours are the log's numbers.
      const std::size_t number = history_.content_count();
      if (history_.content(paths_[path], digest) != number) return false;
      history_.set_contents_told();
      return true;
    }
    case kPrint: {
      const auto content = reader.take<std::uint32_t>();
      Fingerprint print;
      print.changed_ns = reader.take<std::int64_t>();
      print.modified_ns = reader.take<std::int64_t>();
      print.inode = reader.take<std::uint64_t>();
      print.size = reader.take<std::uint64_t>();
      if (!reader.is_good() || content >= history_.content_count()) return false;
      history_.trust(content, imprint(print));
      return true;
    }
    case kImprint: {
      const auto content = reader.take<std::uint32_t>();
      Imprint print;
      print.modified = reader.take<std::uint32_t>();
      print.low = reader.take<std::uint32_t>();
      print.high = reader.take<std::uint32_t>();
      if (!reader.is_good() || content >= history_.content_count()) return false;
      history_.trust(content, print);
      return true;
    }
    case kRun:
      return take_run(reader);
    case kForget: {
      const auto path = reader.take<std::uint32_t>();
      if (!reader.is_good() || path >= paths_.size()) return false;
      history_.forget(paths_[path]);
      return true;
    }
    default:
      return false;
  }
}

bool LogReader::take_run(RecordReader& reader) {
  const auto path = reader.take<std::uint32_t>();
  Run run;
  run.command = take_digest(reader);
  run.duration_ms = reader.take<std::uint32_t>();
  run.is_generator = reader.take<std::uint8_t>() != 0;
  const std::size_t inputs = reader.take<std::uint32_t>();
  run.declared = reader.take<std::uint32_t>();
  const std::size_t discovered = reader.take<std::uint32_t>();
  const std::size_t outputs = reader.take<std::uint32_t>();
  const std::size_t count = inputs + discovered + outputs;
  if (!reader.is_good() || path >= paths_.size() || run.declared > inputs || outputs == 0 ||
      count > reader.left() / sizeof(std::uint32_t)) {
    return false;
  }
  ids_.clear();
  for (std::size_t i = 0; i < count; ++i) {
    const auto id = reader.take<std::uint32_t>();
    if (id >= history_.content_count()) return false;
    ids_.push_back(id);
  }
  run.inputs = std::span(ids_).first(inputs);
  run.discovered = std::span(ids_).subspan(inputs, discovered);
  run.outputs = std::span(ids_).last(outputs);
  history_.keep(paths_[path], run);
  return true;
}

std::string header(std::uint32_t version = kLogVersion) {
  std::string payload(kLogMagic);
  append_integer(payload, version);
  std::string frame;
  format::append_frame(frame, payload);
  return frame;
}

// As mkdir -p.
bool make_directories(const std::string& path) {
  for (std::size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    if (::mkdir(path.substr(0, slash).c_str(), 0777) != 0 && errno != EEXIST) return false;
    if (slash == std::string::npos) return true;
  }
}

std::string said(const std::string& what, int error) {
  return what + ": " + std::strerror(error);
}

}  // namespace

std::size_t read_log(std::string_view text, Manifest& manifest, History& history,
                     const std::function<void(std::size_t)>& on_read) {
  LogReader reader(manifest, history);
  std::size_t whole = 0;
  const std::string first = header();
  if (!text.starts_with(first) && !text.starts_with(header(1))) return 0;
  whole = first.size();
  format::for_each_frame(text.substr(whole), [&](std::string_view payload) {
    const auto begin = static_cast<std::size_t>(payload.data() - text.data());
    if (begin != whole + format::kFrameHeaderSize || !reader.take_frame(payload)) return false;
    whole = begin + payload.size();
    if (on_read) on_read(whole);
    return true;
  });
  return whole;
}

std::string log_directory(const Manifest& manifest) {
  std::string directory(manifest.top_value("builddir"));
  if (!directory.empty()) directory += '/';
  return directory.append(kLogDirectory);
}

std::string kept_name(const std::string& manifest_file) {
  std::string name;
  for (const char c : manifest_file) {
    if (c == '/' || c == '%') {
      name += c == '/' ? "%2F" : "%25";
    } else {
      name += c;
    }
  }
  return name;
}

Log::~Log() {
  flush();
  if (fd_ >= 0) ::close(fd_);
}

void Log::give_up(const std::string& why) {
  if (trouble_.empty()) trouble_ = why;
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
  pending_.clear();
}

void Log::open(const std::string& manifest_file, Manifest& manifest, History& history, bool read_only) {
  const std::string directory = log_directory(manifest);
  path_ = directory + '/' + kept_name(manifest_file) + ".log";
  if (!read_only && !make_directories(directory)) give_up(said("make " + directory, errno));
  const int flags = read_only ? O_RDONLY : O_RDWR | O_CREAT | O_APPEND;
  fd_ = ::open(path_.c_str(), flags | O_CLOEXEC, 0666);
  if (fd_ < 0) {
    if (!read_only) give_up(said("open " + path_, errno));
    return;
  }
  struct stat status {};
  const std::size_t size = ::fstat(fd_, &status) == 0 ? static_cast<std::size_t>(status.st_size) : 0;
  std::size_t whole = 0;
  bool is_old = false;
  if (size != 0) {
    void* const mapped = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd_, 0);
    if (mapped != MAP_FAILED) {
      history.reserve(manifest.target_count(), manifest.step_count());
      std::size_t given_back = 0;
      const auto give_back = [&](std::size_t read) {
        if (read - given_back < 2 * kGiveBack) return;
        const std::size_t more = (read - given_back) / kGiveBack * kGiveBack;
        (void)::madvise(static_cast<char*>(mapped) + given_back, more, MADV_DONTNEED);
        given_back += more;
      };
      const std::string_view text(static_cast<const char*>(mapped), size);
      is_old = !text.starts_with(header());
      whole = read_log(text, manifest, history, give_back);
      ::munmap(mapped, size);
    }
  }
  if (read_only) {
    ::close(fd_);
    fd_ = -1;
    return;
  }
  history.tell(this, &manifest);
  // Of what is cut off some may have been read, and numbered.
  if (is_old || whole != size || whole == 0 || history.told() > 2 * history.live() + 1000)
    rewrite(manifest, history);
}

void Log::rewrite(Manifest& manifest, History& history) {
  const std::string beside = path_ + ".new";
  const int fd = ::open(beside.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
  if (fd < 0) return give_up(said("open " + beside, errno));
  ::close(fd_);
  fd_ = fd;
  const std::string first = header();
  if (::write(fd_, first.data(), first.size()) != static_cast<ssize_t>(first.size()))
    return give_up(said("write " + beside, errno));
  history.tell_all(*this, manifest);
  flush();
  // A log that the power took may come back empty, but not with a stranger's blocks in it.
  if (fd_ >= 0 && history.live() != 0 && ::fdatasync(fd_) != 0) return give_up(said("sync " + beside, errno));
  if (fd_ >= 0 && ::rename(beside.c_str(), path_.c_str()) != 0) give_up(said("rename " + beside, errno));
}

void Log::flush() {
  if (pending_.empty() || fd_ < 0) return pending_.clear();
  if (pending_.size() > format::kFramePayloadMax)
    return give_up(path_ + " cannot hold a path as long as one here");
  std::string frame;
  format::append_frame(frame, pending_);
  pending_.clear();
  const ssize_t written = ::write(fd_, frame.data(), frame.size());
  if (written == static_cast<ssize_t>(frame.size())) return;
  give_up(said("write " + path_, written < 0 ? errno : ENOSPC));
}

Fingerprint Log::print() const noexcept {
  return look_at(path_.c_str()).print;
}

std::pair<std::uint64_t, std::uint64_t> Log::mark() const noexcept {
  struct stat status {};
  if (path_.empty() || ::stat(path_.c_str(), &status) != 0) return {};
  return {status.st_ino, static_cast<std::uint64_t>(status.st_size)};
}

void Log::on_path(std::string_view path) {
  if (pending_.size() > kFrameEnough) flush();
  pending_ += static_cast<char>(kPath);
  append_integer(pending_, static_cast<std::uint32_t>(path.size()));
  pending_ += path;
}

void Log::on_content(std::uint32_t path, const Digest& digest) {
  if (pending_.size() > kFrameEnough) flush();
  pending_ += static_cast<char>(kContent);
  append_integer(pending_, path);
  append_integer(pending_, digest.low);
  append_integer(pending_, digest.high);
}

void Log::on_print(std::uint32_t content, const Imprint& print) {
  if (pending_.size() > kFrameEnough) flush();
  pending_ += static_cast<char>(kImprint);
  append_integer(pending_, content);
  append_integer(pending_, print.modified);
  append_integer(pending_, print.low);
  append_integer(pending_, print.high);
}

void Log::on_run(std::uint32_t output_path, const Run& run) {
  const std::size_t count = run.inputs.size() + run.discovered.size() + run.outputs.size();
  if (pending_.size() > kFrameEnough) flush();
  // What fits no frame is not kept: the step is made again each time.
  if (count * sizeof(std::uint32_t) > format::kFramePayloadMax - 2 * kFrameEnough)
    return on_forget(output_path);
  if (pending_.size() + count * sizeof(std::uint32_t) > format::kFramePayloadMax - kFrameEnough) flush();
  pending_ += static_cast<char>(kRun);
  append_integer(pending_, output_path);
  append_integer(pending_, run.command.low);
  append_integer(pending_, run.command.high);
  append_integer(pending_, run.duration_ms);
  pending_ += static_cast<char>(run.is_generator ? 1 : 0);
  append_integer(pending_, static_cast<std::uint32_t>(run.inputs.size()));
  append_integer(pending_, run.declared);
  append_integer(pending_, static_cast<std::uint32_t>(run.discovered.size()));
  append_integer(pending_, static_cast<std::uint32_t>(run.outputs.size()));
  for (const auto& ids : {run.inputs, run.discovered, run.outputs})
    for (const ContentId id : ids) append_integer(pending_, id);
}

void Log::on_forget(std::uint32_t output_path) {
  pending_ += static_cast<char>(kForget);
  append_integer(pending_, output_path);
}

BuildLock::~BuildLock() {
  commands_.reset();  // before anybody else has the turn
  if (fd_ >= 0) ::close(fd_);
}

Result<bool> BuildLock::take(const std::string& directory) {
  if (fd_ < 0) {
    if (!make_directories(directory)) return fail(Code::io, said("make " + directory, errno));
    const std::string path = directory + "/lock";
    fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd_ < 0) return fail(Code::io, said("open " + path, errno));
  }
  if (::flock(fd_, LOCK_EX | LOCK_NB) == 0) {
    commands_.emplace(directory);
    return true;
  }
  if (errno == EWOULDBLOCK || errno == EINTR) return false;
  return fail(Code::io, said("lock " + directory + "/lock", errno));
}

}  // namespace larder::build
