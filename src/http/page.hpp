// What answers have in common, whoever gives them: the types of files, tags of content, whose name a request
// may use, and the script by which pages keep up with what they are made up from. Any thread may call.
//
// A page that was answered with the script listens to the stream `/.larder/events?page=NAME&etag=TAG`:
//   changed       a JSON array of names: whoever is one of them, or uses one, is loaded again
//   trouble       a JSON string, shown over every page until `mended`
//   page-trouble  a JSON array of a name and a text, shown over that page until `page-mended` with its name
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/request.hpp"
#include "http/server.hpp"

namespace larder::http {

inline constexpr std::string_view kEventsPath = "/.larder/events";
inline constexpr std::string_view kScriptPath = "/.larder/live.js";

// By the suffix; empty: unknown.
std::string_view type_of(std::string_view path) noexcept;
// `text` as it stands in a page.
std::string escaped(std::string_view text);

Response plain(int status, const std::string& text);
// Why a request is not answered at all: its method, or, where only this machine is, a Host that is no name of
// it.
std::optional<Response> refusal(const Request& request, bool is_loopback);

// What decides how bytes are sent.
struct Content {
  std::string name;  // of the page, as the script says it
  std::string etag;  // of the bytes; no quotation marks
  std::string type;
  std::shared_ptr<const std::string> bytes;
};
// The bytes, or 304 where the client has them. With a script, into pages.
Response content(const Request& request, const Content& content, bool has_script);
// A page that says what keeps `name` from being made; plain text where it is none.
Response trouble(int status, const std::string& name, const std::string& what, bool is_page, bool has_script);

Response script();
// The answer to a page that begins to listen: what it missed.
Response events(std::string missed);
std::string changed_event(const std::vector<std::string>& names);
std::string trouble_event(std::string_view what);
std::string mended_event();
std::string page_trouble_event(std::string_view name, std::string_view what);
std::string page_mended_event(std::string_view name);

}  // namespace larder::http
