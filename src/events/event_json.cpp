#include "events/event_json.hpp"

#include <charconv>
#include <chrono>
#include <cstring>

#include "base/assert.hpp"
#include "base/clock.hpp"
#include "base/utf8.hpp"

namespace larder {
namespace {

constexpr char kHex[] = "0123456789abcdef";

class Line {
 public:
  explicit Line(EventLine& out) noexcept
      : begin_(out.data()), at_(out.data()), end_(out.data() + out.size()) {}

  void raw(std::string_view text) noexcept {
    LARDER_ASSERT(text.size() <= static_cast<std::size_t>(end_ - at_));
    std::memcpy(at_, text.data(), text.size());
    at_ += text.size();
  }
  template <typename Integer>
  void number(Integer value) noexcept {
    at_ = std::to_chars(at_, end_, value).ptr;
  }
  // `value` with leading zeros to `width` digits.
  void digits(std::uint64_t value, std::size_t width) noexcept {
    char text[20];
    for (std::size_t i = width; i > 0; --i, value /= 10) text[i - 1] = static_cast<char>('0' + value % 10);
    raw({text, width});
  }
  void name(std::string_view field) noexcept {
    raw(",\"");
    raw(field);
    raw("\":");
  }
  void string(std::string_view field, std::string_view text, std::size_t size_max) noexcept {
    name(field);
    raw("\"");
    const bool is_cut = text.size() > size_max;
    // The dots count too, and a sequence is not cut in half.
    std::size_t room = is_cut ? size_max - 3 : text.size();
    while (room > 0) {
      const std::size_t size = utf8_sequence_size(text);
      if (size > room) break;
      escaped(text.substr(0, size));
      const std::size_t read = size == 0 ? 1 : size;
      text.remove_prefix(read);
      room -= read;
    }
    raw(is_cut ? "...\"" : "\"");
  }
  std::string_view text() const noexcept { return {begin_, static_cast<std::size_t>(at_ - begin_)}; }

 private:
  // One UTF-8 sequence; empty: a byte that is none.
  void escaped(std::string_view sequence) noexcept {
    if (sequence.empty()) return raw("\\ufffd");
    const auto first = static_cast<unsigned char>(sequence.front());
    if (first >= 0x20 && first != '"' && first != '\\' && first != 0x7f) return raw(sequence);
    switch (first) {
      case '"':
        return raw("\\\"");
      case '\\':
        return raw("\\\\");
      case '\n':
        return raw("\\n");
      case '\t':
        return raw("\\t");
      default:
        break;
    }
    const char code[] = {'\\', 'u', '0', '0', kHex[first >> 4], kHex[first & 15]};
    raw({code, sizeof code});
  }

  char* begin_;
  char* at_;
  char* end_;
};

// Without gmtime_r, which takes a lock that a fork may find held.
void write_time(Line& line, std::int64_t unix_ns) noexcept {
  constexpr std::int64_t kDay = 86'400 * kSecondNs;
  std::int64_t day = unix_ns / kDay;
  std::int64_t in_day = unix_ns % kDay;
  if (in_day < 0) {
    in_day += kDay;
    --day;
  }
  const std::chrono::year_month_day date{std::chrono::sys_days{std::chrono::days{day}}};
  const auto part = [&](std::int64_t value, std::size_t width, std::string_view after) {
    line.digits(static_cast<std::uint64_t>(value), width);
    line.raw(after);
  };
  part(static_cast<int>(date.year()), 4, "-");
  part(static_cast<unsigned>(date.month()), 2, "-");
  part(static_cast<unsigned>(date.day()), 2, "T");
  part(in_day / (3600 * kSecondNs), 2, ":");
  part(in_day / (60 * kSecondNs) % 60, 2, ":");
  part(in_day / kSecondNs % 60, 2, ".");
  part(in_day % kSecondNs, 9, "Z");
}

void write_key(Line& line, const Key& key) noexcept {
  char text[32];
  for (std::size_t i = 0; i < 16; ++i) {
    text[i] = kHex[(key.high >> (60 - 4 * i)) & 15];
    text[16 + i] = kHex[(key.low >> (60 - 4 * i)) & 15];
  }
  line.raw({text, sizeof text});
}

}  // namespace

std::string_view write_json(const Event& event, int pid, EventLine& out) noexcept {
  Line line(out);
  const auto word = [&](std::string_view field, std::string_view value) {
    line.name(field);
    line.raw("\"");
    line.raw(value);
    line.raw("\"");
  };
  const auto number = [&](std::string_view field, auto value) {
    line.name(field);
    line.number(value);
  };
  line.raw("{\"schema\":1,\"time\":\"");
  write_time(line, event.unix_ns);
  line.raw("\"");
  number("pid", pid);
  word("event", name(event.kind));
  if (event.kind == EventKind::request) word("outcome", name(event.outcome));
  if (event.reason != Reason::none) word("reason", name(event.reason));
  if (event.tier != Tier::none) word("tier", name(event.tier));
  if (!event.recipe_kind.empty() || event.key != Key{}) {
    line.string("recipe", event.recipe_kind, kRecipeKindShownMax);
    line.name("key");
    line.raw("\"");
    write_key(line, event.key);
    line.raw("\"");
  }
  number("bytes", event.bytes);
  number("cost_ns", event.cost.count());
  number("saved_ns", event.saved.count());
  number("duration_ns", event.duration.count());
  if (!event.detail.empty()) line.string("detail", event.detail, kDetailShownMax);
  line.raw("}\n");
  return line.text();
}

}  // namespace larder
