// Any bytes given as a manifest, a dyndep file, a depfile, a build log and a seal's files: each is read or
// refused with a place in its text, and what is read hangs together.
#include <cstdint>
#include <string>

#include "build/command_line.hpp"
#include "build/depfile.hpp"
#include "build/dyndep.hpp"
#include "build/log.hpp"
#include "build/seal.hpp"
#include "fuzz/demand.hpp"

constexpr std::size_t kCommandsMax = std::size_t{1} << 20;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace larder;
  const std::string input(reinterpret_cast<const char*>(data), size);
  auto read = build::read_manifest("build.ninja", [&](const std::string& path) -> Result<std::string> {
    if (path == "build.ninja" || path == "again") return input;
    return fail(Code::not_found, "open " + path);
  });
  if (!read) {
    demand(read.error().what.find('^') != std::string::npos);
  } else {
    build::Manifest& manifest = **read;
    std::size_t looked_at = 0;  // of commands: those of many steps may be long
    for (build::StepId step = 0; step < manifest.step_count(); ++step) {
      demand(!manifest.outputs(step).empty());
      for (const build::TargetId output : manifest.outputs(step)) demand(manifest.producer(output) == step);
      for (const build::TargetId input_of : manifest.all_inputs(step)) demand(manifest.is_used(input_of));
      if (looked_at > kCommandsMax) continue;
      const std::string command = manifest.value(step, "command");
      looked_at += command.size();
      if (command.size() > kCommandsMax) continue;
      (void)build::plain_words(command);
      (void)build::programs(command);
      (void)build::variables(command);
    }
    for (build::TargetId target = 0; target < manifest.target_count(); ++target)
      demand(manifest.find(manifest.path(target)) == target);
  }
  if (const auto names = build::read_depfile("x.d", input); !names)
    demand(names.error().what.find('^') != std::string::npos);
  if (const auto entries = build::read_dyndep("x.dd", input); !entries)
    demand(entries.error().what.find('^') != std::string::npos);
  // What stands in a seal is believed only behind its checksum; here that is right.
  std::string seal;
  build::SealMaker maker([&](std::string_view piece) { seal += piece; }, {}, {}, {});
  maker.finish();
  seal.resize(seal.size() - sizeof(std::uint32_t) - sizeof(build::Digest));
  seal += input;
  const build::Digest check = format::checksum(as_bytes(seal));
  seal.append(reinterpret_cast<const char*>(&check), sizeof check);
  if (const auto found = build::look_at_seal(seal, {}, 0)) demand(found->holds());
  build::Manifest manifest;
  build::History history;
  demand(build::read_log(input, manifest, history) <= size);
  for (const build::TargetId target : history.recorded()) {
    const auto run = history.run(target);
    demand(run && run->declared <= run->inputs.size() && !run->outputs.empty());
  }
  return 0;
}
