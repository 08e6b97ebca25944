#include "tool/build_seal.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace larder::tool {

build::Fingerprint look_at_log(const std::string& file) {
  const std::string log = std::string(build::kLogDirectory) + '/' + build::kept_name(file) + ".log";
  return build::look_at(log.c_str()).print;
}

build::Asked asked_of(const Call& call, const build::Fingerprint& log) {
  return {build::Ingredients::surroundings(call.values("--env")), call.values("TARGET"), log};
}

bool is_manifest_as_sealed(const build::SealFound& seal) {
  return std::all_of(seal.files.begin(), seal.files.end(), [](const build::SealedFiles& group) {
    return group.kind != build::SealedKind::manifest || build::is_same_still(group);
  });
}

bool is_still_as_sealed(const BuildSession& session, const build::Asked& asked,
                        const build::SealFound& seal) {
  return asked.log == look_at_log(session.file) &&
         build::log_directory(*session.manifest) == build::kLogDirectory && is_manifest_as_sealed(seal);
}

void write_seal(const Call& call, const BuildSession& session, const build::Build& work,
                const std::set<std::string, std::less<>>& variables,
                const std::map<std::string, std::string, std::less<>>& programs) {
  if (!session.log->trouble().empty() || build::log_directory(*session.manifest) != build::kLogDirectory)
    return;
  const std::string path = build::seal_path(session.file);
  const std::string beside = path + ".new";
  const int fd = ::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  bool is_written = fd >= 0;
  const auto write = [&](std::string_view piece) {
    is_written = is_written && ::write(fd, piece.data(), piece.size()) == static_cast<ssize_t>(piece.size());
  };
  build::SealMaker maker(write, asked_of(call, session.log->print()), variables, programs);
  for (const auto& [file, digest] : session.texts) {
    const build::Digested now = build::digest(file.c_str(), false);
    is_written = is_written && now.is_settled && now.digest == digest;
    maker.add(file, build::SealedKind::manifest, build::imprint(now.seen.print));
  }
  if (is_written && work.add_sealed(maker)) {
    maker.finish();
  } else {
    is_written = false;
  }
  if (fd >= 0) ::close(fd);
  // Without the old one in its place nothing is written out at once: a seal that the power takes is none.
  (void)::unlink(path.c_str());
  if (!is_written || ::rename(beside.c_str(), path.c_str()) != 0) (void)::unlink(beside.c_str());
}

}  // namespace larder::tool
