#include "tool/watch_link.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace larder::tool {
namespace {

WatchRequest full() {
  WatchRequest request;
  request.self = {1, 2};
  request.surroundings = {3, 4};
  request.variables = hashed_variables();
  request.targets = {"all", "", std::string("odd\0name", 8)};
  request.status = "[%f/%t] ";
  request.columns = 120;
  request.has_colour = request.explains = true;
  request.jobs = 7;
  request.failures_max = 0;
  request.load_max = 2.5;
  return request;
}

TEST(WatchRequest, ComesBackAsItWas) {
  const WatchRequestRead read = read_watch_request(to_bytes(full()));
  ASSERT_TRUE(read.is_whole && read.request);
  const WatchRequest& request = *read.request;
  EXPECT_EQ(request.self, full().self);
  EXPECT_EQ(request.surroundings, full().surroundings);
  EXPECT_EQ(request.variables, full().variables);
  EXPECT_EQ(request.targets, full().targets);
  EXPECT_EQ(request.status, "[%f/%t] ");
  EXPECT_EQ(request.columns, 120U);
  EXPECT_TRUE(request.has_colour && request.explains);
  EXPECT_FALSE(request.can_redraw || request.is_verbose || request.is_quiet);
  EXPECT_EQ(request.jobs, 7U);
  EXPECT_EQ(request.failures_max, 0U);
  EXPECT_EQ(request.load_max, 2.5);
  EXPECT_FALSE(request.memory_min_bytes);
}

TEST(WatchRequest, IsNotWholeBeforeItsLastByte) {
  const std::string bytes = to_bytes(full());
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(read_watch_request(bytes.substr(0, size)).is_whole) << size;
}

TEST(WatchRequest, IsReadFromAnyBytesWithoutHarm) {
  const std::string bytes = to_bytes(full());
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (const char flip : {'\x01', '\x80', '\xff'}) {
      std::string other = bytes;
      other[at] = static_cast<char>(other[at] ^ flip);
      (void)read_watch_request(other);
    }
  }
  EXPECT_TRUE(read_watch_request("GET / HTTP/1.1").is_whole);
  EXPECT_FALSE(read_watch_request("GET / HTTP/1.1").request);
  const WatchRequestRead huge = read_watch_request("larder watch 1\n\xff\xff\xff\xff");
  EXPECT_TRUE(huge.is_whole && !huge.request);
  EXPECT_FALSE(read_watch_request(std::string("larder watch 1\n\4\0\0\0junk", 23)).request);
}

TEST(WatchAnswer, IsReadOneAfterTheOther) {
  const std::string bytes = to_bytes(WatchWord::out, "[1/2] x\n") + to_bytes(WatchWord::heard, {});
  const WatchAnswer first = read_watch_answer(bytes);
  EXPECT_EQ(first.word, WatchWord::out);
  EXPECT_EQ(first.text, "[1/2] x\n");
  const WatchAnswer second = read_watch_answer(std::string_view(bytes).substr(first.used));
  EXPECT_EQ(second.word, WatchWord::heard);
  EXPECT_EQ(first.used + second.used, bytes.size());
  EXPECT_EQ(read_watch_answer(std::string_view(bytes).substr(0, first.used - 1)).used, 0U);
  EXPECT_FALSE(read_watch_answer(std::string("\0\0\0\0\x63", 5)).word);
}

TEST(WatchRequest, TellsVariablesApartThatDiffer) {
  ::setenv("LARDER_LINK_TEST", "one", 1);
  WatchRequest request;
  request.variables = hashed_variables();
  EXPECT_EQ(other_variable(request, {"LARDER_LINK_TEST", "LARDER_LINK_NONE"}), "");
  ::setenv("LARDER_LINK_TEST", "two", 1);
  EXPECT_EQ(other_variable(request, {"LARDER_LINK_NONE", "LARDER_LINK_TEST"}), "LARDER_LINK_TEST");
  ::unsetenv("LARDER_LINK_TEST");
  EXPECT_EQ(other_variable(request, {"LARDER_LINK_TEST"}), "LARDER_LINK_TEST");
  ::setenv("LARDER_LINK_NONE", "", 1);
  EXPECT_EQ(other_variable(request, {"LARDER_LINK_NONE"}), "LARDER_LINK_NONE");
  ::unsetenv("LARDER_LINK_NONE");
}

}  // namespace
}  // namespace larder::tool
