#include "store/export.hpp"

#include "cache/selected.hpp"
#include "larder/bundle.hpp"
#include "settings/units.hpp"
#include "tool/entries.hpp"
#include "tool/interrupt.hpp"
#include "tool/paths.hpp"
#include "tool/place.hpp"
#include "tool/progress.hpp"
#include "tool/selection.hpp"
#include "tool/shards.hpp"
#include "tool/shown.hpp"

namespace larder::tool {
namespace {

int make_key(const Call& call) {
  const std::string path = absolute(call, call.value("--new-key"));
  if (const auto made = make_bundle_keys(path); !made) {
    return call.refuse("no pair of keys was made", made.error().what, "name a file that is not there");
  }
  if (call.wants_json()) {
    Json json = begin_json();
    json.member("secret_key", path).member("public_key", path + ".pub").end_object();
    call.console().out(std::move(json).text());
    return kDone;
  }
  call.console().out(printable(path) + " signs bundles: keep it to yourself\n" + printable(path) +
                     ".pub is for everybody who is to trust them (bundle-keys)\n");
  return kDone;
}

void report(const Call& call, const std::string& path, const ExportReport& report, bool is_signed) {
  if (call.wants_json()) {
    Json json = begin_json();
    json.member("path", path)
        .member("entries", report.entries)
        .member("bytes", report.bytes)
        .member("left_out", report.left_out)
        .member("is_signed", is_signed)
        .end_object();
    call.console().out(std::move(json).text());
    return;
  }
  call.console().out("exported " + entries_text(report.entries) + ", " +
                     settings::readable_size(report.bytes) + (is_signed ? ", signed" : "") + ", to " +
                     printable(path) + '\n');
  if (report.left_out != 0) {
    call.console().err(
        remark(entries_text(report.left_out) + " left out: damaged, or gone meanwhile; see `larder verify`"));
  }
}

int run_export(Call& call) {
  if (call.has("--new-key")) return make_key(call);
  if (call.value("FILE").empty()) {
    return call.refuse("larder export needs FILE", "the bundle has to go somewhere",
                       "see `larder help export`");
  }
  const auto selection = Selection::of(call);
  if (selection == nullptr) return kError;
  const auto place = open_place(call, Access::look);
  if (!place) return kError;
  if (place->store == nullptr) {
    return say_no(call, {"nothing was exported", "nothing is kept in " + place->root + " yet",
                         "name another directory with --dir"});
  }
  Store& store = *place->store;
  const Selected selected(selection->selector(), store.notes(), Clock::system().unix_ns());
  const std::string path = absolute(call, call.value("FILE"));
  Interrupt interrupt;
  Progress progress(call.console(), "exporting entries", 0);
  ExportOptions options;
  options.selects = [&](const EntryInfo& info) { return selected.is(info); };
  if (call.has("--sign")) options.key_file = absolute(call, call.value("--sign"));
  options.needs_entries = true;
  options.goes_on = [&](std::uint64_t, std::uint64_t total) {
    progress.set_total(total);
    progress.advance();
    return !Interrupt::is_requested();
  };
  const auto done = export_entries(store, path, options);
  if (!done && done.error().code == Code::not_found && done.error().what == kNothingSelected) {
    return say_no(call, {"nothing was exported",
                         selection->says_anything() ? "no entry is " + selection->text() : "no entry is kept",
                         "see `larder ls`"});
  }
  if (!done) {
    return call.refuse("the bundle was not written", done.error().what,
                       "look at the file named; what stood there before is as it was");
  }
  if (done->was_stopped) {
    call.console().err(remark("interrupted; no bundle was written, run it again to begin anew"));
    return kInterrupted;
  }
  report(call, path, *done, call.has("--sign"));
  // The bundle is whole as far as it goes; nobody can say what else it should hold.
  return tell_unread(call, unread_shards(*place)) ? kNo : kDone;
}

constexpr Argument kExportArguments[] = {
    {"FILE", "", "the bundle to write; a bundle, or an empty file, that is there gives way"},
    {"--sign", "KEYFILE", "sign it with this secret key"},
    {"--new-key", "KEYFILE", "instead make a pair of keys: KEYFILE and KEYFILE.pub"},
    kKindArgument,
    kProgramArgument,
    kOlderArgument,
    kPathArgument,
};

}  // namespace

extern const Command kExportCommand;
const Command kExportCommand{
    "export",
    "write entries into one file that other machines can use",
    "Writes the entries that are selected, or all, into a bundle: one read-only file that `larder import` "
    "takes "
    "in and that the setting bundles uses as it is. The same entries make the same bytes. The bundle appears "
    "whole or not at all, so an interrupted export begins anew. What is there and is no bundle (a link, a "
    "device, a file of another kind) stays, and is an error. Exits with 1 when no entry is selected.",
    kExportArguments,
    true,
    false,
    run_export,
    "larder export kernels.bundle --kind opencl-program\nlarder export --new-key ~/.config/larder/key\n"
    "larder export kernels.bundle --sign ~/.config/larder/key"};

}  // namespace larder::tool
