// A GPU API for tests: its compiler reads a small language, its driver does what the test tells it, and it
// knows what nobody released. Any thread.
//
// A source is lines: `kernel NAME`, `no LOG` (the compiler's no), anything else (code). Code for a device is
// the text of all ingredients and the device's class, so a program made from too few of them shows.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "larder/program.hpp"

namespace larder::testing {

struct FakeDevice {
  std::uint32_t number = 0;
  std::uint32_t of_class = 0;
};

struct FakeProgram {
  std::vector<std::string> code;  // for each device
  std::vector<FakeDevice> devices;
};

struct FakeKernel {
  std::string code;
  std::string name;
};

class FakeApi {
 public:
  static constexpr std::string_view kKind = "fake-program";
  using Device = FakeDevice;
  using Program = FakeProgram*;
  using Kernel = FakeKernel*;

  // What the driver does next; empty functions and false: its best.
  struct Moods {
    std::function<Result<void>()> before_build{};
    bool refuses_binaries = false;
    bool has_no_binaries = false;
    std::string driver_version = "1.0";
    std::string unknown_device{};
    FileReading file_reading = FileReading::unheard;
  };
  Moods moods;
  std::atomic<int> alive{0};

  FileReading file_reading() const { return moods.file_reading; }
  static std::string_view cannot(const ProgramInput&) { return {}; }

  static CanonicalOptions canonicalise(std::string_view options) {
    CanonicalOptions canonical{.text = std::string(options)};
    if (options.find("--dump") != std::string_view::npos) canonical.why_not = "--dump writes a file";
    return canonical;
  }
  DeviceIdentity identity(const Device& device) const {
    return {{{"class", std::to_string(device.of_class)}, {"driver", moods.driver_version}},
            moods.unknown_device};
  }
  Result<BuiltProgram<Program>> build(const ProgramIngredients& what, std::span<const Device> devices) {
    if (moods.before_build) {
      if (auto may = moods.before_build(); !may) return fail(may.error().code, std::move(may.error().what));
    }
    std::string all;
    for (std::size_t i = 0; i < what.size(); ++i) {
      all.append(what.name_at(i)).append("=").append(what.text_at(i)).append("\n");
      for (std::string_view rest = what.text_at(i); !rest.empty();) {
        const std::string_view line = rest.substr(0, rest.find('\n'));
        if (line.starts_with("no ")) {
          Error error = to_error({-11, std::string(line.substr(3))});
          return fail(error.code, std::move(error.what));
        }
        rest.remove_prefix(std::min(line.size() + 1, rest.size()));
      }
    }
    auto program = std::make_unique<FakeProgram>();
    for (const Device& device : devices) {
      program->code.push_back("code for " + std::to_string(device.of_class) + "\n" + all);
      program->devices.push_back(device);
    }
    ++alive;
    return BuiltProgram<Program>{program.release(), "a warning"};
  }
  Result<BuiltProgram<Program>> create_from_binary(const ProgramIngredients&, std::span<const Device> devices,
                                                   std::span<const Artefacts> binaries) {
    if (moods.refuses_binaries) return fail(Code::refused, "fake driver: no such binary");
    auto program = std::make_unique<FakeProgram>();
    for (std::size_t i = 0; i < devices.size(); ++i) {
      const std::string_view code = binaries[i].at(0).bytes.text();
      if (!code.starts_with("code for " + std::to_string(devices[i].of_class) + "\n")) {
        return fail(Code::refused, "fake driver: a binary for another device");
      }
      program->code.emplace_back(code);
      program->devices.push_back(devices[i]);
    }
    ++alive;
    return BuiltProgram<Program>{program.release(), {}};
  }
  Result<Artefacts> binary_of(Program program, const Device& device) {
    if (moods.has_no_binaries) return fail(Code::unsupported, "fake driver: hands out no binaries");
    for (std::size_t i = 0; i < program->devices.size(); ++i) {
      if (program->devices[i].number == device.number) {
        return Artefacts{{"binary", Bytes(std::string(program->code[i]))}};
      }
    }
    return fail(Code::invalid_argument, "fake driver: not built for this device");
  }
  Result<Kernel> kernel_of(Program program, const std::string& name) {
    if (program->code.at(0).find("kernel " + name + "\n") == std::string::npos) {
      return fail(Code::maker_failed, "fake driver: no kernel " + name);
    }
    ++alive;
    return new FakeKernel{program->code.at(0), name};
  }
  void release(Program program) noexcept {
    --alive;
    delete program;
  }
  void release(Kernel kernel) noexcept {
    --alive;
    delete kernel;
  }
};

// Any API, with its calls counted and its binaries spoiled on demand.
template <ProgramApi Inner>
class CountedApi {
 public:
  static constexpr std::string_view kKind = Inner::kKind;
  using Device = typename Inner::Device;
  using Program = typename Inner::Program;
  using Kernel = typename Inner::Kernel;

  explicit CountedApi(std::shared_ptr<Inner> api) : inner(std::move(api)) {}

  static CanonicalOptions canonicalise(std::string_view options) { return Inner::canonicalise(options); }
  FileReading file_reading() { return inner->file_reading(); }
  std::string source_folder() const requires requires(const Inner& api) { api.source_folder(); }
  { return inner->source_folder(); }
  static std::string_view cannot(const ProgramInput& input) { return Inner::cannot(input); }
  DeviceIdentity identity(const Device& device) { return inner->identity(device); }
  Result<BuiltProgram<Program>> build(const ProgramIngredients& what, std::span<const Device> devices) {
    ++builds;
    auto built = inner->build(what, devices);
    if (built) ++alive;
    return built;
  }
  Result<BuiltProgram<Program>> create_from_binary(const ProgramIngredients& what,
                                                   std::span<const Device> devices,
                                                   std::span<const Artefacts> binaries) {
    ++creates;
    std::vector<Artefacts> given(binaries.begin(), binaries.end());
    if (spoils_binaries) {
      for (Artefacts& each : given) each.at(0).bytes = Bytes(std::string(64, 'x'));
    }
    auto made = inner->create_from_binary(what, devices, given);
    if (made) ++alive;
    return made;
  }
  Result<Artefacts> binary_of(const Program& program, const Device& device) {
    return inner->binary_of(program, device);
  }
  Result<Kernel> kernel_of(const Program& program, const std::string& name) {
    ++kernels;
    auto made = inner->kernel_of(program, name);
    if (made) ++alive;
    return made;
  }
  void release(const Program& program) noexcept {
    --alive;
    inner->release(program);
  }
  void release(const Kernel& kernel) noexcept {
    --alive;
    inner->release(kernel);
  }

  std::shared_ptr<Inner> inner;
  std::atomic<int> builds{0};
  std::atomic<int> creates{0};
  std::atomic<int> kernels{0};
  std::atomic<int> alive{0};
  std::atomic<bool> spoils_binaries{false};
};

}  // namespace larder::testing
