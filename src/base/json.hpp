// Json writes one JSON text front to back. The caller keeps brackets paired; commas and escapes are done
// here. Bytes that are no UTF-8 become U+FFFD, so that what comes out is always JSON.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace larder {

class Json {
 public:
  Json& begin_object() { return open('{'); }
  Json& end_object() { return close('}'); }
  Json& begin_array() { return open('['); }
  Json& end_array() { return close(']'); }
  // Inside an object, before the value.
  Json& key(std::string_view name);

  Json& value(std::string_view text);
  Json& value(const char* text) { return value(std::string_view(text)); }
  Json& value(bool yes) { return raw(yes ? "true" : "false"); }
  Json& value(double number);
  template <std::integral Integer>
  Json& value(Integer number) {
    return raw(std::to_string(number));
  }
  Json& null() { return raw("null"); }

  template <typename T>
  Json& member(std::string_view name, const T& of) {
    return key(name).value(of);
  }

  // What was written since the last call, so that long output need not be held in memory.
  std::string take() { return std::exchange(text_, {}); }
  // What was written, with a newline at its end.
  std::string text() && { return std::move(text_) + '\n'; }

 private:
  Json& open(char bracket);
  Json& close(char bracket);
  Json& raw(std::string_view text);
  void separate();
  void append_string(std::string_view text);

  std::string text_;
  bool needs_comma_ = false;
};

}  // namespace larder
