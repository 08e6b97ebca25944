#include "larder/serve.hpp"

#include <memory>
#include <string>

#include "capi/convert.hpp"
#include "capi/graph.hpp"
#include "larder/c/serve.h"

using namespace larder;

struct larder_graph_server {
  std::unique_ptr<GraphServer> server;
};

namespace {

capi::NodeKey node_of(const PageKey& key) {
  return key.first + '\0' + key.second;
}

Result<Page> page_of(const PageKey& key, const Result<Bytes>& value) {
  return detail::page_from<Bytes>(key, value);
}

}  // namespace

larder_graph_server* larder_graph_serve(larder_graph* graph, larder_tracked* pages,
                                        const larder_graph_serve_options* options, larder_error** error) {
  return capi::guarded(error, [&]() -> Result<larder_graph_server*> {
    if (pages->input != nullptr)
      return fail(Code::invalid_argument, std::string(pages->of.name()) + ": is no function");
    ServeOptions how;
    if (options != nullptr) {
      if (options->address != nullptr) how.address = options->address;
      how.port = options->port;
      if (options->pages_max != 0) how.pages_max = options->pages_max;
      how.has_script = !options->no_script;
      if (options->accepts != nullptr) {
        how.accepts = [accepts = options->accepts, context = options->accepts_context](const PageKey& key) {
          const capi::NodeKey node = node_of(key);
          return accepts(capi::to_view(std::string_view(node)), context);
        };
      }
    }
    detail::PageSource source;
    source.get = [graph, pages](const PageKey& key, const std::stop_token& stop) {
      return page_of(key, graph->graph.get(pages->of, node_of(key), stop));
    };
    source.subscribe = [graph, pages](const PageKey& key, detail::PageSource::Told told) {
      return graph->graph.subscribe(
          pages->of, node_of(key),
          [key, told = std::move(told)](const Result<Bytes>& value, Revision) { told(page_of(key, value)); });
    };
    auto server = GraphServer::open(std::move(source), std::move(how));
    if (!server) return tl::unexpected<Error>(server.error());
    return new larder_graph_server{std::move(*server)};
  });
}

uint32_t larder_graph_server_port(const larder_graph_server* server) {
  return server->server->port();
}

void larder_graph_server_destroy(larder_graph_server* server) {
  delete server;
}
