#include <cstring>
#include <memory>
#include <string>

#include "capi/cache.hpp"
#include "capi/convert.hpp"
#include "larder/c/memo.h"
#include "larder/memoize.hpp"

using namespace larder;

namespace {

// What the caller's function said instead of a result, on its way to who asked.
struct Refused {
  Error error;
};

struct CallersMemoFunction {
  larder_memo* memo;
  larder_memo_function function;
  void* context;
  std::size_t result_size;

  std::string operator()(const std::string& arguments) const {
    std::string result(result_size, '\0');
    larder_error* why = nullptr;
    const bool is_made = function(memo, capi::to_view(arguments), result.data(), &why, context);
    Error failure{Code::maker_failed, "function: said no"};
    if (why != nullptr)
      failure = Error{capi::to_enum<Code>(larder_error_code(why)), larder_error_message(why)};
    larder_error_destroy(why);
    if (!is_made) throw Refused{std::move(failure)};
    return result;
  }
};

using BytesMemo = Memo<std::string(std::string), CallersMemoFunction>;

}  // namespace

struct larder_memo {
  std::size_t result_size;
  std::unique_ptr<BytesMemo> memo;
};

larder_memo* larder_memo_create(larder_memo_function function, void* context, size_t result_size,
                                const larder_memo_options* options, larder_error** error) {
  return capi::guarded(error, [&]() -> Result<larder_memo*> {
    MemoOptions how;
    if (options != nullptr) {
      if (options->entries_max != 0) how.entries_max = options->entries_max;
      how.is_shared = options->is_shared;
      if (options->cache != nullptr) how.cache = &options->cache->cache;
      if (options->name != nullptr) how.name = options->name;
      if (options->version != nullptr) how.version = options->version;
    }
    auto made = std::make_unique<larder_memo>();
    made->result_size = result_size;
    made->memo =
        std::make_unique<BytesMemo>(CallersMemoFunction{made.get(), function, context, result_size}, how);
    return made.release();
  });
}

void larder_memo_destroy(larder_memo* memo) {
  delete memo;
}

bool larder_memo_call(larder_memo* memo, larder_view arguments, void* result, larder_error** error) {
  return capi::guarded(error, [&]() -> Result<bool> {
    try {
      const std::string value = (*memo->memo)(std::string(capi::given_text(arguments)));
      // What a cache gives may be of another size: of another program, under the same name and version.
      if (value.size() != memo->result_size)
        return fail(Code::invalid_argument, "memo: a kept result has another size: change the version");
      std::memcpy(result, value.data(), value.size());
      return true;
    } catch (Refused& refused) {
      return fail(refused.error.code, std::move(refused.error.what));
    }
  });
}

void larder_memo_clear(larder_memo* memo) {
  memo->memo->clear();
}

larder_memo_stats larder_memo_get_stats(const larder_memo* memo) {
  const MemoStats stats = memo->memo->stats();
  return {stats.hits, stats.misses, stats.entries, stats.threads};
}
