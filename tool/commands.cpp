#include "tool/command.hpp"

namespace larder::tool {

extern const Command kRunCommand;
extern const Command kConfigCommand;
extern const Command kDoctorCommand;
extern const Command kCompletionsCommand;
extern const Command kVersionCommand;
extern const Command kHelpCommand;

namespace {

constexpr const Command* kCommands[] = {
    &kRunCommand, &kConfigCommand, &kDoctorCommand, &kCompletionsCommand, &kVersionCommand, &kHelpCommand,
};

}  // namespace

std::span<const Command* const> commands() noexcept {
  return kCommands;
}

}  // namespace larder::tool
