#include "tool/command.hpp"

namespace larder::tool {

extern const Command kRunCommand;
extern const Command kStatsCommand;
extern const Command kLsCommand;
extern const Command kShowCommand;
extern const Command kWhyCommand;
extern const Command kVerifyCommand;
extern const Command kGcCommand;
extern const Command kClearCommand;
extern const Command kExportCommand;
extern const Command kImportCommand;
extern const Command kBuildCommand;
extern const Command kWatchCommand;
extern const Command kServeCommand;
extern const Command kCcCommand;
extern const Command kReuseReportCommand;
extern const Command kConfigCommand;
extern const Command kDoctorCommand;
extern const Command kCompletionsCommand;
extern const Command kVersionCommand;
extern const Command kHelpCommand;

namespace {

constexpr const Command* kCommands[] = {
    &kRunCommand,         &kBuildCommand,  &kWatchCommand,       &kServeCommand,   &kCcCommand,
    &kReuseReportCommand, &kStatsCommand,  &kLsCommand,          &kShowCommand,    &kWhyCommand,
    &kVerifyCommand,      &kGcCommand,     &kClearCommand,       &kExportCommand,  &kImportCommand,
    &kConfigCommand,      &kDoctorCommand, &kCompletionsCommand, &kVersionCommand, &kHelpCommand,
};

}  // namespace

std::span<const Command* const> commands() noexcept {
  return kCommands;
}

}  // namespace larder::tool
