#include "http/page.hpp"

#include <array>

#include "base/fixed_text.hpp"
#include "base/json.hpp"

namespace larder::http {
namespace {

constexpr std::string_view kScript = R"js((() => {
  const me = document.currentScript.dataset;
  const source = new EventSource('/.larder/events?page=' + encodeURIComponent(me.page) + '&etag=' + me.etag);
  let shown = null;
  const hide = () => { if (shown) shown.remove(); shown = null; };
  const show = text => {
    hide();
    shown = document.createElement('pre');
    shown.id = 'larder-trouble';
    shown.style.cssText = 'position:fixed;inset:auto 0 0 0;max-height:60%;overflow:auto;margin:0;padding:1em;' +
      'background:#300;color:#fff;font:14px monospace;white-space:pre-wrap;z-index:2147483647';
    shown.textContent = text;
    document.body.append(shown);
  };
  source.addEventListener('changed', event => {
    const names = new Set(JSON.parse(event.data));
    const used = performance.getEntriesByType('resource').flatMap(one => {
      const url = new URL(one.name);
      return [decodeURI(url.pathname), decodeURI(url.pathname) + url.search];
    });
    if (names.has(me.page) || used.some(one => names.has(one))) location.reload();
  });
  source.addEventListener('trouble', event => show(JSON.parse(event.data)));
  source.addEventListener('mended', hide);
  source.addEventListener('page-trouble', event => {
    const [page, what] = JSON.parse(event.data);
    if (page === me.page) show(what);
  });
  source.addEventListener('page-mended', event => { if (JSON.parse(event.data) === me.page) hide(); });
})();
)js";

struct Type {
  FixedText<6> suffix;
  FixedText<32> type;
};
constexpr std::array<Type, 22> kTypes = {{{".html", "text/html; charset=utf-8"},
                                          {".htm", "text/html; charset=utf-8"},
                                          {".css", "text/css; charset=utf-8"},
                                          {".js", "text/javascript; charset=utf-8"},
                                          {".mjs", "text/javascript; charset=utf-8"},
                                          {".json", "application/json"},
                                          {".map", "application/json"},
                                          {".xml", "application/xml"},
                                          {".svg", "image/svg+xml"},
                                          {".png", "image/png"},
                                          {".jpg", "image/jpeg"},
                                          {".jpeg", "image/jpeg"},
                                          {".gif", "image/gif"},
                                          {".webp", "image/webp"},
                                          {".ico", "image/x-icon"},
                                          {".woff2", "font/woff2"},
                                          {".wasm", "application/wasm"},
                                          {".pdf", "application/pdf"},
                                          {".txt", "text/plain; charset=utf-8"},
                                          {".md", "text/plain; charset=utf-8"},
                                          {".log", "text/plain; charset=utf-8"},
                                          {".csv", "text/csv; charset=utf-8"}}};

// `http://[::1]:80/` is asked for with Host `[::1]:80`. Numbers only: `127.example.org` is anybody's.
bool is_own_name(std::string_view host) noexcept {
  const std::size_t port = host.rfind(':');
  const bool has_port = port != host.npos && host.find_first_not_of("0123456789", port + 1) == host.npos;
  if (has_port && !host.ends_with(']')) host = host.substr(0, port);
  if (host.starts_with("127.")) return host.find_first_not_of("0123456789.") == host.npos;
  return host.empty() || host == "[::1]" || host == "localhost" || host.ends_with(".localhost");
}

std::string script_tag(const std::string& name, const std::string& etag) {
  return "<script src=\"" + std::string(kScriptPath) + "\" data-page=\"" + escaped(name) + "\" data-etag=\"" +
         etag + "\"></script>\n";
}

std::string event_of(std::string_view event, std::string data) {
  return "event: " + std::string(event) + "\ndata: " + std::move(data) + "\n\n";
}

std::string json_of(std::string_view text) {
  Json json;
  json.value(text);
  return json.take();
}

std::string json_of(const std::vector<std::string>& texts) {
  Json json;
  json.begin_array();
  for (const std::string& text : texts) json.value(text);
  json.end_array();
  return json.take();
}

}  // namespace

std::string_view type_of(std::string_view path) noexcept {
  for (const auto& [suffix, type] : kTypes)
    if (path.ends_with(suffix.view())) return type;
  return {};
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '"') {
      out += "&quot;";
    } else {
      out += c;
    }
  }
  return out;
}

Response plain(int status, const std::string& text) {
  Response response;
  response.status = status;
  response.headers = {{"Content-Type", "text/plain; charset=utf-8"}, {"Cache-Control", "no-store"}};
  response.body = text_body(text + '\n');
  return response;
}

std::optional<Response> refusal(const Request& request, bool is_loopback) {
  if (is_loopback && !is_own_name(request.header("host")))
    return plain(421, "this server answers for localhost only");
  if (request.method == "GET" || request.method == "HEAD") return std::nullopt;
  Response response = plain(405, "only GET and HEAD are answered");
  response.headers.emplace_back("Allow", "GET, HEAD");
  return response;
}

Response content(const Request& request, const Content& content, bool has_script) {
  has_script = has_script && content.type.starts_with("text/html");
  const std::string tag = '"' + content.etag + (has_script ? "s\"" : "\"");
  Response response;
  response.headers = {{"ETag", tag}, {"Cache-Control", "no-cache"}, {"Accept-Ranges", "none"}};
  const std::string_view known = request.header("if-none-match");
  if (known == "*" || known.find(tag) != known.npos) {
    response.status = 304;
    return response;
  }
  response.headers.emplace_back("Content-Type", content.type);
  response.body = content.bytes;
  if (!has_script) return response;
  std::string text = *content.bytes;
  const std::size_t end = text.rfind("</body>");
  text.insert(end == text.npos ? text.size() : end, script_tag(content.name, content.etag));
  response.body = text_body(std::move(text));
  return response;
}

Response trouble(int status, const std::string& name, const std::string& what, bool is_page,
                 bool has_script) {
  Response response = plain(status, name + " is not made:\n" + what);
  if (!is_page) return response;
  response.headers[0].second = "text/html; charset=utf-8";
  response.body = text_body("<!doctype html>\n<title>" + escaped(name) + " is not made</title>\n<body><pre>" +
                            escaped(what) + "</pre>\n" + (has_script ? script_tag(name, "") : std::string()) +
                            "</body>\n");
  return response;
}

Response script() {
  Response response;
  response.headers = {{"Content-Type", "text/javascript; charset=utf-8"}, {"Cache-Control", "no-cache"}};
  response.body = text_body(std::string(kScript));
  return response;
}

Response events(std::string missed) {
  Response response;
  response.headers = {{"Content-Type", "text/event-stream"}, {"Cache-Control", "no-store"}};
  response.is_stream = true;
  response.body = text_body("retry: 1000\n\n" + std::move(missed));
  return response;
}

std::string changed_event(const std::vector<std::string>& names) {
  return event_of("changed", json_of(names));
}
std::string trouble_event(std::string_view what) {
  return event_of("trouble", json_of(what));
}
std::string mended_event() {
  return event_of("mended", "{}");
}
std::string page_trouble_event(std::string_view name, std::string_view what) {
  return event_of("page-trouble", json_of(std::vector{std::string(name), std::string(what)}));
}
std::string page_mended_event(std::string_view name) {
  return event_of("page-mended", json_of(name));
}

}  // namespace larder::http
