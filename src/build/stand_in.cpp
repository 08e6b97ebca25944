#include "build/stand_in.hpp"

#include <string>

namespace larder::build {
namespace {

bool is_of_nothing(const Digest& digest) {
  static const Digest plain = digest_of_bytes({}, false);
  static const Digest program = digest_of_bytes({}, true);
  return digest.low == plain.low && (digest.high == plain.high || digest.high == program.high);
}

}  // namespace

ContentId taken_content(const Manifest& manifest, History& history, const Present& present, TargetId input) {
  const ContentId content = present[input];
  const StepId step = manifest.producer(input);
  if (step == kNone || content >= kMissing || manifest.is_phony(step))
    return content;  // missing, or not looked at
  if (!is_of_nothing(history[content].digest)) return content;
  const auto run = history.run(manifest.outputs(step)[0]);
  if (!run || run->is_generator) return content;
  std::string all = "stands for\n";
  const auto add = [&](const Digest& digest) {
    all.append(reinterpret_cast<const char*>(&digest), sizeof digest);
  };
  add(run->command);
  for (const ContentId one : run->inputs) add(history[one].digest);
  for (const ContentId one : run->discovered) add(history[one].digest);
  return history.content(input, format::checksum(as_bytes(all)));
}

}  // namespace larder::build
