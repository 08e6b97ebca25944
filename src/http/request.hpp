// A request as a client sent it: HTTP/1.0 and 1.1, GET and HEAD as a rule, and never a body. Strict: what
// could be read in two ways is refused. Any thread may call.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace larder::http {

inline constexpr std::size_t kHeadMax = 16 * 1024;   // bytes of request line and headers
inline constexpr std::size_t kTargetMax = 8 * 1024;  // bytes of what stands between method and version
inline constexpr std::size_t kHeadersMax = 100;

struct Request {
  std::string method;
  std::string path;   // decoded, begins with `/`; no segment of it is `.` or `..`
  std::string query;  // as it was sent, without `?`
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case
  bool keeps_connection = true;

  // The first of that name, or empty.
  std::string_view header(std::string_view name) const noexcept;
  // A value of the query, decoded; empty when there is none, or when it is not encoded well.
  std::string parameter(std::string_view name) const;
};

struct Parsed {
  // 0: there must be more; 200: `request` is whole; else the status to refuse it with, and the connection
  // ends.
  int status = 0;
  std::size_t used = 0;  // bytes of a whole request
  Request request;
};

// Reads the request at the front of `bytes`. O(bytes), at most kHeadMax of them.
Parsed parse_request(std::string_view bytes);

// False: a `%` is not followed by two digits, or stands for a zero byte.
bool decode(std::string_view encoded, std::string& decoded);

}  // namespace larder::http
