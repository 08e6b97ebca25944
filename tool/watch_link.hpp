// What a `larder build`, the client, and a running watch say to each other, over a socket that the kernel
// knows by a name of user, build directory and manifest. Nothing of it is stored. Pure but for
// watch_address() and describe_self(), which look at this process.
//
//   request := "larder watch 1\n", u32 length, body         said once by the client
//   answer  := (u32 length, u8 word, bytes)*                said by the watch; `done` or `declined` is the
//   last
//
// I1  A watch builds for a client only what the client itself would build: the same program, with the same
//     rights and in the same surroundings. What it cannot do so it declines, and the client builds for
//     itself.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "build/content.hpp"

namespace larder::tool {

inline constexpr std::size_t kWatchRequestMax = std::size_t{8} << 20;  // bytes of one
inline constexpr std::size_t kWatchBehindMax = std::size_t{64} << 20;  // that a client may lag behind

enum class WatchWord : std::uint8_t {
  heard,     // it was understood, and is not forgotten: said at least each kWatchHeartbeatMs
  out,       // for the client's stdout
  err,       // for its stderr
  done,      // one byte, a build::BuildOutcome
  declined,  // why
};
inline constexpr int kWatchHeartbeatMs = 1000;

struct WatchRequest {
  build::Digest self;                                              // describe_self()
  build::Digest surroundings;                                      // build::Ingredients::surroundings()
  std::vector<std::pair<std::uint64_t, std::uint64_t>> variables;  // all of them, hashed; sorted
  std::vector<std::string> targets;                                // as they were said
  std::string status;                                              // NINJA_STATUS
  std::uint32_t columns = 0;                                       // of the terminal; 0: it is none
  bool can_redraw = false;
  bool has_colour = false;
  bool is_verbose = false;
  bool is_quiet = false;
  bool explains = false;
  std::optional<std::uint32_t> jobs;  // none: not said
  std::optional<std::uint32_t> failures_max;
  std::optional<std::uint64_t> memory_min_bytes;
  std::optional<double> load_max;
};

std::string to_bytes(const WatchRequest& request);
struct WatchRequestRead {
  bool is_whole = false;                // false: there must be more
  std::optional<WatchRequest> request;  // none although whole: these bytes are none
};
// Of what came so far.
WatchRequestRead read_watch_request(std::string_view bytes);

std::string to_bytes(WatchWord word, std::string_view text);
struct WatchAnswer {
  std::size_t used = 0;           // bytes of it; 0: there must be more
  std::optional<WatchWord> word;  // none although used: no word is known by that number
  std::string_view text;
};
// The first that stands in `bytes`.
WatchAnswer read_watch_answer(std::string_view bytes);

// The name of the socket for this user, working directory and manifest, in the abstract namespace: it begins
// with a zero byte. Empty where the directory cannot be looked at.
std::string watch_address(const std::string& manifest_file);
// What decides what this process would do, besides its surroundings: the program, the namespace of its files,
// whose rights it has, and the umask. Not while another thread makes files.
build::Digest describe_self();
// Of the environment.
std::vector<std::pair<std::uint64_t, std::uint64_t>> hashed_variables();
// The first of `names` that is another here than with the client; empty: none.
std::string other_variable(const WatchRequest& request, const std::set<std::string, std::less<>>& names);

}  // namespace larder::tool
