#include "recipe/readable.hpp"

#include <algorithm>

#include "base/utf8.hpp"

namespace larder {
namespace {

bool is_unseen(char32_t c) noexcept {
  return c < 0x20 || (c >= 0x7f && c <= 0xa0) || c == 0xad || c == 0x61c || (c >= 0x200b && c <= 0x200f) ||
         (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) || c == 0xfeff ||
         (c >= 0xfff0 && c <= 0xfffb) || (c >= 0xe0000 && c <= 0xe0fff);
}

void append_hex(std::string& out, std::uint32_t value, unsigned digits) {
  static constexpr char kDigits[] = "0123456789abcdef";
  for (unsigned i = digits; i > 0; --i) out.push_back(kDigits[(value >> (4 * (i - 1))) & 15]);
}

void append_escaped(std::string& out, char32_t c) {
  switch (c) {
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      break;
  }
  if (c < 0x80) {
    out += "\\x";
    append_hex(out, c, 2);
  } else {
    out += "\\u{";
    append_hex(out, c, c > 0xffff ? 6 : 4);
    out += "}";
  }
}

// How many bytes at the front of `text` stand for themselves: ASCII that is seen and needs no escape in
// quotes.
std::size_t plain_size(std::string_view text) noexcept {
  std::size_t size = 0;
  while (size < text.size() && text[size] >= ' ' && text[size] <= '~' && text[size] != '"' &&
         text[size] != '\\')
    ++size;
  return size;
}

enum class Escapes { unseen, quoted, exact };

void append_readable(std::string& out, std::string_view text, std::size_t from, std::size_t width,
                     Escapes escapes) {
  // Not within a character.
  while (from > 0 && from < text.size() && (static_cast<unsigned char>(text[from]) & 0xc0) == 0x80) --from;
  if (from > 0) out += "...";
  text.remove_prefix(std::min(from, text.size()));
  const std::size_t begin = out.size();
  while (!text.empty()) {
    const std::size_t used = out.size() - begin;
    const std::size_t plain = plain_size(text.substr(0, used < width ? width - used : 0));
    out.append(text.substr(0, plain));
    text.remove_prefix(plain);
    if (text.empty()) return;
    const std::size_t size = utf8_sequence_size(text);
    if (out.size() - begin + size > width) {
      out += "...";
      return;
    }
    if (size == 0) {
      out += "\\x";
      append_hex(out, static_cast<unsigned char>(text.front()), 2);
    } else if (const char32_t c = utf8_character(text.substr(0, size));
               is_unseen(c) || (escapes == Escapes::exact && c >= 0x80)) {
      append_escaped(out, c);
    } else {
      if ((escapes == Escapes::quoted && c == '"') || (escapes != Escapes::unseen && c == '\\'))
        out.push_back('\\');
      out += text.substr(0, size);
    }
    text.remove_prefix(size == 0 ? 1 : size);
  }
}

}  // namespace

bool is_readable(BytesView bytes) noexcept {
  std::string_view text = as_text(bytes);
  const std::size_t size = text.size();
  std::size_t odd = 0;
  while (!text.empty()) {
    const std::size_t sequence = utf8_sequence_size(text);
    const char c = text.front();
    if (c == '\0') return false;
    if (sequence == 0 ||
        (is_unseen(static_cast<unsigned char>(c)) && sequence == 1 && c != '\n' && c != '\t' && c != '\r')) {
      ++odd;
    }
    text.remove_prefix(sequence == 0 ? 1 : sequence);
  }
  return odd * 16 <= size;
}

std::string to_readable(std::string_view text, std::size_t from, std::size_t width) {
  std::string out;
  append_readable(out, text, from, width, Escapes::unseen);
  return out;
}

std::string to_exact(std::string_view text, std::size_t place, std::size_t width) {
  std::string before;
  append_readable(before, text.substr(0, place), 0, width, Escapes::exact);
  std::string out;
  append_readable(out, text, before.size() <= width / 2 ? 0 : place - std::min(place, width / 8), width,
                  Escapes::exact);
  return out;
}

std::string to_quoted(std::string_view text, std::size_t from, std::size_t width) {
  std::string out = "\"";
  append_readable(out, text, from, width, Escapes::quoted);
  return out + "\"";
}

std::string to_name(std::string_view name, std::size_t width) {
  const bool is_plain = !name.empty() && plain_size(name) == name.size() && name.size() <= width &&
                        name.find(": ") == std::string_view::npos;
  return is_plain ? std::string(name) : to_quoted(name, 0, width);
}

std::string to_size(std::uint64_t size) {
  return std::to_string(size) + (size == 1 ? " byte" : " bytes");
}

}  // namespace larder
