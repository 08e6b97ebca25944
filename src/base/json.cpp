#include "base/json.hpp"

#include <charconv>
#include <cmath>

#include "base/utf8.hpp"

namespace larder {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

}  // namespace

void Json::separate() {
  if (needs_comma_) text_.push_back(',');
  needs_comma_ = true;
}

Json& Json::open(char bracket) {
  separate();
  text_.push_back(bracket);
  needs_comma_ = false;
  return *this;
}

Json& Json::close(char bracket) {
  text_.push_back(bracket);
  needs_comma_ = true;
  return *this;
}

Json& Json::raw(std::string_view text) {
  separate();
  text_.append(text);
  return *this;
}

Json& Json::key(std::string_view name) {
  separate();
  append_string(name);
  text_.push_back(':');
  needs_comma_ = false;
  return *this;
}

Json& Json::value(std::string_view text) {
  separate();
  append_string(text);
  return *this;
}

Json& Json::value(double number) {
  if (!std::isfinite(number)) return null();
  char text[32];
  const auto [end, error] = std::to_chars(text, text + sizeof text, number);
  return raw(std::string_view(text, static_cast<std::size_t>(end - text)));
}

void Json::append_string(std::string_view text) {
  static constexpr char kDigits[] = "0123456789abcdef";
  text_.push_back('"');
  while (!text.empty()) {
    const char c = text[0];
    const auto byte = static_cast<unsigned char>(c);
    const std::size_t size = utf8_sequence_size(text);
    if (c == '"' || c == '\\') {
      text_.push_back('\\');
      text_.push_back(c);
    } else if (c == '\n') {
      text_ += "\\n";
    } else if (byte < 0x20) {
      text_ += "\\u00";
      text_.push_back(kDigits[byte >> 4]);
      text_.push_back(kDigits[byte & 15]);
    } else if (size == 0) {
      text_ += kReplacement;
    } else {
      text_ += text.substr(0, size);
    }
    text.remove_prefix(size == 0 ? 1 : size);
  }
  text_.push_back('"');
}

}  // namespace larder
