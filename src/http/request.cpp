#include "http/request.hpp"

#include <algorithm>

namespace larder::http {
namespace {

constexpr std::size_t kMethodMax = 16;

bool is_token_char(char c) noexcept {
  if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) return true;
  return std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

bool is_token(std::string_view text) noexcept {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_token_char);
}

char lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

int digit_of(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  const char l = lower(c);
  return l >= 'a' && l <= 'f' ? l - 'a' + 10 : -1;
}

std::string_view trimmed(std::string_view text) noexcept {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

bool has_word(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    const std::string_view one = trimmed(list.substr(0, comma));
    list = comma == list.npos ? std::string_view() : list.substr(comma + 1);
    if (std::equal(one.begin(), one.end(), word.begin(), word.end(),
                   [](char a, char b) { return lower(a) == b; }))
      return true;
  }
  return false;
}

// The path without anything that leads elsewhere. 0, or why not.
int take_target(std::string_view target, Request& request) {
  if (target.size() > kTargetMax) return 414;
  if (target.starts_with("http://")) {  // as proxies are asked
    const std::size_t slash = target.find('/', 7);
    target = slash == target.npos ? std::string_view("/") : target.substr(slash);
  }
  if (!target.starts_with('/')) return 400;
  for (const char c : target)
    if (static_cast<unsigned char>(c) <= ' ' || c == 0x7f || c == '#') return 400;
  const std::size_t mark = target.find('?');
  if (mark != target.npos) request.query = target.substr(mark + 1);
  if (!decode(target.substr(0, mark), request.path)) return 400;
  std::string_view rest = std::string_view(request.path).substr(1);
  for (;;) {
    const std::size_t slash = rest.find('/');
    const std::string_view segment = rest.substr(0, slash);
    if (segment == "." || segment == "..") return 404;
    if (slash == rest.npos) return 0;
    rest = rest.substr(slash + 1);
  }
}

int take_first_line(std::string_view line, Request& request, bool& is_new) {
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == line.npos || last == first) return 400;
  const std::string_view method = line.substr(0, first);
  if (method.size() > kMethodMax || !is_token(method)) return 400;
  request.method = method;
  const std::string_view version = line.substr(last + 1);
  if (version != "HTTP/1.1" && version != "HTTP/1.0") return version.starts_with("HTTP/") ? 505 : 400;
  is_new = version == "HTTP/1.1";
  return take_target(line.substr(first + 1, last - first - 1), request);
}

int take_header(std::string_view line, Request& request) {
  if (request.headers.size() == kHeadersMax) return 431;
  const std::size_t colon = line.find(':');
  if (colon == line.npos || !is_token(line.substr(0, colon))) return 400;  // a folded line, too
  std::string name(line.substr(0, colon));
  std::transform(name.begin(), name.end(), name.begin(), lower);
  const std::string_view value = trimmed(line.substr(colon + 1));
  for (const char c : value)
    if ((static_cast<unsigned char>(c) < ' ' && c != '\t') || c == 0x7f) return 400;
  request.headers.emplace_back(std::move(name), value);
  return 0;
}

int judge_headers(Request& request, bool is_new) {
  unsigned hosts = 0;
  request.keeps_connection = is_new;
  for (const auto& [name, value] : request.headers) {
    if (name == "host") ++hosts;
    if (name == "transfer-encoding") return 413;
    if (name == "content-length" && value != "0") {
      const bool is_number = !value.empty() && std::all_of(value.begin(), value.end(),
                                                           [](char c) { return c >= '0' && c <= '9'; });
      return is_number ? 413 : 400;
    }
    if (name == "connection" && has_word(value, "close")) request.keeps_connection = false;
    if (name == "connection" && !is_new && has_word(value, "keep-alive")) request.keeps_connection = true;
  }
  return hosts > 1 || (hosts == 0 && is_new) ? 400 : 0;
}

Parsed refused(int status) {
  Parsed parsed;
  parsed.status = status;
  return parsed;
}

}  // namespace

std::string_view Request::header(std::string_view name) const noexcept {
  for (const auto& [one, value] : headers)
    if (one == name) return value;
  return {};
}

std::string Request::parameter(std::string_view name) const {
  std::string_view rest = query;
  while (!rest.empty()) {
    const std::size_t end = rest.find('&');
    const std::string_view one = rest.substr(0, end);
    rest = end == rest.npos ? std::string_view() : rest.substr(end + 1);
    const std::size_t equals = one.find('=');
    if (equals == one.npos || one.substr(0, equals) != name) continue;
    std::string value;
    return decode(one.substr(equals + 1), value) ? value : std::string();
  }
  return {};
}

bool decode(std::string_view encoded, std::string& decoded) {
  decoded.clear();
  for (std::size_t i = 0; i < encoded.size(); ++i) {
    if (encoded[i] != '%') {
      decoded += encoded[i];
      continue;
    }
    if (i + 2 >= encoded.size()) return false;
    const int high = digit_of(encoded[i + 1]);
    const int low = digit_of(encoded[i + 2]);
    if (high < 0 || low < 0 || (high == 0 && low == 0)) return false;
    decoded += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return true;
}

Parsed parse_request(std::string_view bytes) {
  std::size_t at = bytes.starts_with("\r\n") ? 2 : 0;  // some send one too many behind the last request
  Parsed parsed;
  bool is_first = true;
  bool is_new = false;
  for (;;) {
    const std::size_t end = bytes.find('\n', at);
    if (end == bytes.npos ? bytes.size() > kHeadMax : end + 1 > kHeadMax)
      return refused(is_first && bytes.size() - at > kTargetMax ? 414 : 431);
    if (end == bytes.npos) return {};
    if (end == at || bytes[end - 1] != '\r') return refused(400);
    const std::string_view line = bytes.substr(at, end - 1 - at);
    at = end + 1;
    if (is_first) {
      if (const int status = take_first_line(line, parsed.request, is_new); status != 0)
        return refused(status);
      is_first = false;
    } else if (line.empty()) {
      if (const int status = judge_headers(parsed.request, is_new); status != 0) return refused(status);
      parsed.status = 200;
      parsed.used = at;
      return parsed;
    } else if (const int status = take_header(line, parsed.request); status != 0) {
      return refused(status);
    }
  }
}

}  // namespace larder::http
