#include <deque>
#include <limits>
#include <memory>
#include <stop_token>
#include <string>

#include "base/mutex.hpp"
#include "capi/cache.hpp"
#include "capi/convert.hpp"
#include "capi/graph.hpp"
#include "larder/c/graph.h"
#include "larder/graph.hpp"

using namespace larder;
using capi::In;
using capi::NodeKey;
using capi::Of;

namespace {

NodeKey to_key(larder_view view) {
  return NodeKey(capi::to_text(view));
}
Bytes to_value(larder_view view) {
  return Bytes(std::string(capi::to_text(view)));
}

}  // namespace

struct larder_graph_context {
  Context& context;
  std::deque<std::string> texts{};  // what views look at that the graph does not keep
  std::vector<Bytes> values{};
};
struct larder_graph_batch {
  Batch batch;
};
struct larder_graph_stop {
  std::stop_source source;
};
struct larder_graph_want {
  Want want;
};
struct larder_graph_subscription {
  GraphSubscription subscription;
};

namespace {

Result<const In*> to_input(const larder_tracked* tracked) {
  if (tracked->input == nullptr)
    return fail(Code::invalid_argument, std::string(tracked->of.name()) + ": is no input");
  return tracked->input;
}

// What a caller's function gave.
Result<Bytes> to_result(larder_bytes* made, larder_error* why) {
  const std::unique_ptr<larder_bytes> owned(made);
  Error failure{Code::maker_failed, "function: said no"};
  if (why != nullptr) failure = Error{capi::to_enum<Code>(larder_error_code(why)), larder_error_message(why)};
  larder_error_destroy(why);
  if (owned == nullptr) return tl::unexpected<Error>(std::move(failure));
  return std::move(owned->bytes);
}

struct CallersNodeFunction {
  larder_graph_call call;
  void* user;

  Result<Bytes> operator()(Context& context, const NodeKey& key) const {
    larder_graph_context graph{context};
    larder_error* why = nullptr;
    larder_bytes* const made = call(&graph, capi::to_view(std::string_view(key)), &why, user);
    return to_result(made, why);
  }
};

// Reads through a context. Giving up must not pass through the caller's C: he gets an error and returns, and
// what he returns is thrown away.
template <typename Read>
bool read(larder_error** error, Read read) noexcept {
  return capi::guarded(error, [&]() -> Result<bool> {
    try {
      read();
      return true;
    } catch (const DependencyFailed& failed) {
      return tl::unexpected<Error>(failed.error());
    } catch (const std::exception&) {
      throw;
    } catch (...) {
      return fail(Code::transient, "given up: something newer was set, or it will be called again");
    }
  });
}

template <typename Work>
bool revise(uint64_t* revision, larder_error** error, Work work) noexcept {
  return capi::guarded(error, [&]() -> Result<bool> {
    const Result<Revision> made = work();
    if (!made) return tl::unexpected<Error>(made.error());
    if (revision != nullptr) *revision = *made;
    return true;
  });
}

const char* or_empty(const char* text) {
  return text == nullptr ? "" : text;
}

}  // namespace

larder_graph* larder_graph_create(const larder_graph_options* options, larder_error** error) {
  return capi::guarded(error, [&]() -> Result<larder_graph*> {
    GraphOptions how;
    if (options != nullptr) {
      if (options->lines_max == std::numeric_limits<uint64_t>::max())
        how.lines_max = 0;
      else if (options->lines_max != 0)
        how.lines_max = options->lines_max;
      how.bytes_max = options->bytes_max;
      if (options->threads != 0) how.threads = options->threads;
      if (options->policy != nullptr) how.policy = options->policy;
      if (options->cache != nullptr) how.cache = &options->cache->cache;
      if (options->report != nullptr)
        how.report = [report = options->report, user = options->report_context](const std::string& what) {
          report(capi::to_view(std::string_view(what)), user);
        };
    }
    return new larder_graph(std::move(how));
  });
}

void larder_graph_destroy(larder_graph* graph) {
  delete graph;
}

larder_tracked* larder_graph_input(larder_graph* graph, const char* name, larder_error** error) {
  return capi::guarded(error, [&]() -> Result<larder_tracked*> {
    const In input = graph->graph.input<NodeKey, Bytes>(name);
    return graph->add(input, input);
  });
}

larder_tracked* larder_graph_function(larder_graph* graph, const char* name, const char* version,
                                      larder_graph_call call, void* context, larder_error** error) {
  return capi::guarded(error, [&]() -> Result<larder_tracked*> {
    return graph->add(graph->graph.function(name, CallersNodeFunction{call, context}, or_empty(version)),
                      std::nullopt);
  });
}

larder_tracked* larder_graph_cyclic(larder_graph* graph, const char* name, const char* version,
                                    larder_view start, uint32_t rounds_max, larder_graph_call call,
                                    void* context, larder_error** error) {
  return capi::guarded(error, [&]() -> Result<larder_tracked*> {
    return graph->add(graph->graph.cyclic(name, to_value(start), CallersNodeFunction{call, context},
                                          rounds_max, or_empty(version)),
                      std::nullopt);
  });
}

larder_tracked* larder_graph_translation(larder_graph* graph, const char* name, const char* version,
                                         larder_graph_convert convert, void* context, larder_error** error) {
  return capi::guarded(error, [&]() -> Result<larder_tracked*> {
    const auto call = [convert, context](const std::string& content) {
      larder_error* why = nullptr;
      larder_bytes* const made = convert(capi::to_view(std::string_view(content)), &why, context);
      return to_result(made, why);
    };
    return graph->add(graph->graph.translation(name, call, or_empty(version)), std::nullopt);
  });
}

bool larder_graph_set(larder_graph* graph, larder_tracked* input, larder_view key, larder_view value,
                      uint64_t* revision, larder_error** error) {
  return revise(revision, error, [&]() -> Result<Revision> {
    const auto in = to_input(input);
    if (!in) return tl::unexpected<Error>(in.error());
    return graph->graph.set(**in, to_key(key), to_value(value));
  });
}

bool larder_graph_erase(larder_graph* graph, larder_tracked* input, larder_view key, uint64_t* revision,
                        larder_error** error) {
  return revise(revision, error, [&]() -> Result<Revision> {
    const auto in = to_input(input);
    if (!in) return tl::unexpected<Error>(in.error());
    return graph->graph.erase(**in, to_key(key));
  });
}

larder_graph_batch* larder_graph_batch_create(larder_graph* graph, larder_error** error) {
  return capi::guarded(
      error, [&]() -> Result<larder_graph_batch*> { return new larder_graph_batch{graph->graph.batch()}; });
}

bool larder_graph_batch_set(larder_graph_batch* batch, larder_tracked* input, larder_view key,
                            larder_view value, larder_error** error) {
  return capi::guarded(error, [&]() -> Result<bool> {
    const auto in = to_input(input);
    if (!in) return tl::unexpected<Error>(in.error());
    batch->batch.set(**in, to_key(key), to_value(value));
    return true;
  });
}

bool larder_graph_batch_erase(larder_graph_batch* batch, larder_tracked* input, larder_view key,
                              larder_error** error) {
  return capi::guarded(error, [&]() -> Result<bool> {
    const auto in = to_input(input);
    if (!in) return tl::unexpected<Error>(in.error());
    batch->batch.erase(**in, to_key(key));
    return true;
  });
}

bool larder_graph_batch_commit(larder_graph_batch* batch, uint64_t* revision, larder_error** error) {
  return revise(revision, error, [&] { return batch->batch.commit(); });
}

void larder_graph_batch_destroy(larder_graph_batch* batch) {
  delete batch;
}

larder_bytes* larder_graph_get(larder_graph* graph, larder_tracked* of, larder_view key,
                               larder_error** error) {
  return capi::guarded(error, [&]() -> Result<larder_bytes*> {
    Result<Bytes> value = graph->graph.get(of->of, to_key(key));
    if (!value) return tl::unexpected<Error>(value.error());
    return new larder_bytes{std::move(*value)};
  });
}

larder_graph_stop* larder_graph_stop_create(larder_error** error) {
  return capi::guarded(error, [&]() -> Result<larder_graph_stop*> { return new larder_graph_stop; });
}

void larder_graph_stop_request(larder_graph_stop* stop) {
  stop->source.request_stop();
}

void larder_graph_stop_destroy(larder_graph_stop* stop) {
  delete stop;
}

larder_bytes* larder_graph_get_until(larder_graph* graph, larder_tracked* of, larder_view key,
                                     larder_graph_stop* stop, larder_error** error) {
  return capi::guarded(error, [&]() -> Result<larder_bytes*> {
    Result<Bytes> value = graph->graph.get(of->of, to_key(key), stop->source.get_token());
    if (!value) return tl::unexpected<Error>(value.error());
    return new larder_bytes{std::move(*value)};
  });
}

larder_graph_want* larder_graph_want_create(larder_graph* graph, larder_tracked* of, larder_view key,
                                            larder_error** error) {
  return capi::guarded(error, [&]() -> Result<larder_graph_want*> {
    Result<Want> want = graph->graph.want(of->of, to_key(key));
    if (!want) return tl::unexpected<Error>(want.error());
    return new larder_graph_want{std::move(*want)};
  });
}

void larder_graph_want_destroy(larder_graph_want* want) {
  delete want;
}

larder_graph_subscription* larder_graph_subscribe(larder_graph* graph, larder_tracked* of, larder_view key,
                                                  larder_graph_told told, void* context,
                                                  larder_error** error) {
  return capi::guarded(error, [&]() -> Result<larder_graph_subscription*> {
    const auto call = [told, context](const Result<Bytes>& value, Revision revision) {
      if (value) return told(capi::to_view(value->view()), nullptr, revision, context);
      larder_error* const failure = capi::make_error(value.error().code, value.error().what);
      told(larder_view{nullptr, 0}, failure, revision, context);
      larder_error_destroy(failure);
    };
    Result<GraphSubscription> made = graph->graph.subscribe(of->of, to_key(key), call);
    if (!made) return tl::unexpected<Error>(made.error());
    return new larder_graph_subscription{std::move(*made)};
  });
}

void larder_graph_subscription_destroy(larder_graph_subscription* subscription) {
  delete subscription;
}

bool larder_graph_context_get(larder_graph_context* graph, larder_tracked* of, larder_view key,
                              larder_view* value, larder_error** error) {
  return read(error, [&] { *value = capi::to_view(graph->context.get(of->of, to_key(key)).view()); });
}

bool larder_graph_context_get_all(larder_graph_context* graph, larder_tracked* of, const larder_view* keys,
                                  size_t count, larder_view* values, larder_error** error) {
  return read(error, [&] {
    std::vector<NodeKey> all;
    for (size_t i = 0; i < count; ++i) all.push_back(to_key(keys[i]));
    const std::vector<Bytes> made = graph->context.get_all(of->of, all);
    for (size_t i = 0; i < count; ++i) values[i] = capi::to_view(made[i].view());
    graph->values.insert(graph->values.end(), made.begin(), made.end());
  });
}

bool larder_graph_context_file(larder_graph_context* graph, const char* path, larder_view* content,
                               larder_error** error) {
  return read(error, [&] { *content = capi::to_view(std::string_view(graph->context.file(path))); });
}

bool larder_graph_context_folder(larder_graph_context* graph, const char* path, larder_view* names,
                                 larder_error** error) {
  return read(error, [&] {
    std::string all;
    for (const std::string& name : graph->context.folder(path)) all.append(name).push_back('\0');
    *names = capi::to_view(std::string_view(graph->texts.emplace_back(std::move(all))));
  });
}

bool larder_graph_context_env(larder_graph_context* graph, const char* name, larder_view* value,
                              larder_error** error) {
  return read(error, [&] {
    const std::optional<std::string>& now = graph->context.env(name);
    *value = now ? capi::to_view(std::string_view(*now)) : larder_view{nullptr, 0};
  });
}

void larder_graph_context_run_again_each_revision(larder_graph_context* graph) {
  graph->context.run_again_each_revision();
}

bool larder_graph_context_is_superseded(const larder_graph_context* graph) {
  return graph->context.is_superseded();
}

bool larder_graph_refresh(larder_graph* graph, const char* const* paths, size_t count, uint64_t* revision,
                          larder_error** error) {
  return revise(revision, error, [&] {
    if (paths == nullptr) return graph->graph.refresh();
    return graph->graph.refresh(std::vector<std::string>(paths, paths + count));
  });
}

bool larder_graph_advance(larder_graph* graph, uint64_t* revision, larder_error** error) {
  return revise(revision, error, [&] { return graph->graph.advance(); });
}

uint64_t larder_graph_revision(const larder_graph* graph) {
  return graph->graph.revision();
}

bool larder_graph_resize(larder_graph* graph, uint64_t lines_max, uint64_t bytes_max, larder_error** error) {
  return capi::guarded(error, [&]() -> Result<bool> {
    graph->graph.resize(lines_max, bytes_max);
    return true;
  });
}

larder_graph_stats larder_graph_get_stats(const larder_graph* graph) {
  const GraphStats stats = graph->graph.stats();
  return {stats.nodes,     stats.evaluations, stats.restarts, stats.promotions, stats.cut_offs, stats.told,
          stats.evictions, stats.lines,       stats.bytes,    stats.joined,     stats.restored};
}

uint64_t larder_graph_memory_bytes(const larder_graph* graph) {
  return graph->graph.memory_bytes();
}

larder_bytes* larder_graph_check(const larder_graph* graph, larder_error** error) {
  return capi::guarded(error,
                       [&]() -> Result<larder_bytes*> { return capi::new_bytes(graph->graph.check()); });
}

larder_bytes* larder_graph_save(larder_graph* graph, larder_error** error) {
  return capi::guarded(error, [&]() -> Result<larder_bytes*> {
    Result<std::string> saved = graph->graph.save();
    if (!saved) return tl::unexpected<Error>(saved.error());
    return capi::new_bytes(std::move(*saved));
  });
}

bool larder_graph_load(larder_graph* graph, larder_view snapshot, uint64_t* nodes, larder_error** error) {
  return capi::guarded(error, [&]() -> Result<bool> {
    const Result<std::size_t> loaded = graph->graph.load(capi::to_bytes(snapshot));
    if (!loaded) return tl::unexpected<Error>(loaded.error());
    if (nodes != nullptr) *nodes = *loaded;
    return true;
  });
}
