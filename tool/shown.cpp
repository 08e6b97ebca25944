#include "tool/shown.hpp"

#include <chrono>
#include <cstdio>

#include "settings/units.hpp"

namespace larder::tool {

std::string age(std::int64_t now_unix_ns, std::int64_t at_unix_ns) {
  if (at_unix_ns <= 0 || at_unix_ns > now_unix_ns) return "-";
  // Nobody wants to know of less than a second.
  const auto whole = std::chrono::seconds((now_unix_ns - at_unix_ns) / 1'000'000'000);
  return settings::readable_duration(whole);
}

std::string ago(std::int64_t now_unix_ns, std::int64_t at_unix_ns) {
  if (at_unix_ns > now_unix_ns) return "in the future, says the clock";
  return at_unix_ns <= 0 ? "at a time not known" : age(now_unix_ns, at_unix_ns) + " ago";
}

std::string entries_text(std::uint64_t count) {
  return std::to_string(count) + (count == 1 ? " entry" : " entries");
}

std::string_view meaning(Reason reason) noexcept {
  switch (reason) {
    case Reason::none:
      return "the cache was not asked for it";
    case Reason::absent:
      return "nothing was known of it";
    case Reason::evicted:
      return "it had been kept, and had left to make room for others";
    case Reason::expired:
      return "it had been kept, and was unused for longer than age-max";
    case Reason::truncated:
      return "its file ended early and was put aside";
    case Reason::corrupt:
      return "its file was damaged and was put aside";
    case Reason::other_recipe:
      return "another recipe has the same key";
    case Reason::other_version:
      return "another version of larder wrote it";
    case Reason::unreadable:
      return "the system refused to read it";
    case Reason::untrusted:
      return "its file is not the user's alone";
    case Reason::refused:
      return "its consumer did not accept what was kept";
    case Reason::out_of_resources:
      return "memory or descriptors were exhausted";
    case Reason::timed_out:
      return "another process was making it and took too long";
    case Reason::mismatch:
      return "it was made again and differed";
    case Reason::refreshed:
      return "the program asked to make it anew";
    case Reason::cleared:
      return "it had been removed";
    default:
      return name(reason);
  }
}

std::string date(std::int64_t unix_ns) {
  const std::chrono::sys_time<std::chrono::nanoseconds> moment{std::chrono::nanoseconds(unix_ns)};
  const auto day = std::chrono::floor<std::chrono::days>(moment);
  const std::chrono::year_month_day date{day};
  const std::chrono::hh_mm_ss time{std::chrono::floor<std::chrono::seconds>(moment - day)};
  char text[64];
  std::snprintf(text, sizeof text, "%04d-%02u-%02u %02d:%02d:%02d UTC", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                static_cast<int>(time.hours().count()), static_cast<int>(time.minutes().count()),
                static_cast<int>(time.seconds().count()));
  return text;
}

int say_no(const Call& call, const Complaint& complaint) {
  call.console().complain(complaint);
  if (call.wants_json()) {
    Json json = begin_json();
    json.member("reason", complaint.why.empty() ? complaint.what : complaint.what + ": " + complaint.why)
        .member("advice", complaint.advice)
        .end_object();
    call.console().out(std::move(json).text());
  }
  return kNo;
}

}  // namespace larder::tool
