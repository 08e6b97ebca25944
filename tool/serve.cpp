
#include "base/number.hpp"
#include "tool/build_options.hpp"
#include "tool/live_build.hpp"
#include "tool/site.hpp"

namespace larder::tool {
namespace {

constexpr unsigned kPort = 8000;

constexpr Argument kServeArguments[] = {
    kBuildDirectory,
    kBuildFile,
    kBuildJobs,
    kBuildKeepGoing,
    kBuildLoad,
    kBuildMemory,
    kBuildVerbose,
    kBuildQuiet,
    kBuildDebug,
    kBuildEnv,
    {"--port", "N", "listen on this port instead of 8000; 0: on any that is free", {}, false, false, 'p'},
    {"--address", "ADDRESS", "listen on this numeric address instead of 127.0.0.1: others can then ask, too"},
    {"--site", "DIR", "the directory that `/` stands for; the working directory without"},
    {"--no-script", "", "leave pages as they are: no reload, no errors in them"},
    {"TARGET", "", "what to build and serve; the manifest's defaults without", {}, false, true},
};

class ServeListener final : public LiveListener {
 public:
  ServeListener(Console& console, Site& site) : console_(console), site_(site) {}
  void on_start(const std::vector<std::string>& outputs) override { site_.on_start(outputs); }
  bool wants_all() const override { return true; }
  void on_products(const std::vector<std::string>& paths) override { site_.on_products(paths); }
  void on_made(const std::vector<Product>& products) override { site_.on_made(products); }
  void on_built(const std::vector<Product>& changed, const std::vector<std::string>& removed) override {
    site_.on_built(changed);
    for (const Product& product : changed) console_.out("larder: changed " + printable(product.path) + '\n');
    for (const std::string& path : removed) console_.out("larder: removed " + printable(path) + '\n');
  }
  void on_trouble(const std::string& what) override { site_.on_trouble(what); }

 private:
  Console& console_;
  Site& site_;
};

int run_serve(Call& call) {
  unsigned port = kPort;
  if (call.has("--port")) {
    const std::string_view text = call.value("--port");
    port = to_number<unsigned>(text).value_or(UINT_MAX);
    if (port > 65535)
      return call.refuse("--port cannot be " + std::string(text), "it takes a number from 0 to 65535",
                         "write --port 8080");
  }
  const std::string address(call.has("--address") ? call.value("--address") : std::string_view("127.0.0.1"));
  SiteOptions options;
  options.is_loopback = address.starts_with("127.") || address == "::1";
  options.has_script = !call.has("--no-script");
  options.directory = std::string(call.value("--site"));
  build::make_canonical(options.directory);
  if (options.directory == ".") options.directory.clear();
  if (options.directory.starts_with('/') || options.directory.starts_with(".."))
    return call.refuse("--site cannot be " + options.directory,
                       "only what is below the working directory is served",
                       "name a directory there, or use -C");
  if (!options.directory.empty()) options.directory += '/';
  Site site(options);
  auto server = http::Server::listen(address, port,
                                     [&site](const http::Request& request) { return site.answer(request); });
  if (!server)
    return call.refuse("nothing can be served", server.error().what, "name another --port or --address");
  site.set_server(server->get());
  const std::string name = address.find(':') == address.npos ? address : '[' + address + ']';
  call.console().out("larder: serving http://" + name + ':' + std::to_string((*server)->port()) + "/\n");
  (void)call.console().flush();
  ServeListener listener(call.console(), site);
  const int code = LiveBuild(call, listener).run();
  server->reset();  // before what it asks
  return code;
}

}  // namespace

extern const Command kServeCommand;
const Command kServeCommand{
    "serve",
    "build, watch, and serve products over HTTP",
    "Watches as `larder watch` does and serves the products over HTTP/1.1, on loopback unless --address says "
    "otherwise. What is sent is always whole: the last bytes that a build left, until the next ones are. "
    "Each "
    "answer has a content ETag. Pages (.html) get a small script that reloads them when they, or what they "
    "are "
    "made up from, came out different, and that shows what a failing build said; --no-script leaves them as "
    "they "
    "are. /.larder/events is the stream of server-sent events that it listens to. Sources, and whatever else "
    "no "
    "step makes, are not served. Exit code: as of `larder watch`.",
    kServeArguments,
    false,
    false,
    run_serve,
    "larder serve\nlarder serve --site site --port 8080\nlarder serve -C out docs"};

}  // namespace larder::tool
