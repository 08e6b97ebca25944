#include "format/frame.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace larder::format {
namespace {

std::vector<std::string> payloads(std::string_view note) {
  std::vector<std::string> all;
  for_each_frame(note, [&](std::string_view payload) {
    all.emplace_back(payload);
    return true;
  });
  return all;
}

std::string note_of(const std::vector<std::string>& all) {
  std::string note;
  for (const auto& each : all) append_frame(note, each);
  return note;
}

TEST(Frame, GivesPayloadsBackInOrder) {
  const std::vector<std::string> all = {"one", "", std::string("t\0wo", 4), std::string(1000, 'x')};
  EXPECT_EQ(payloads(note_of(all)), all);
}

TEST(Frame, LosesOnlyTheTornOneWhereverItIsCut) {
  const std::string note = note_of({"first", "second"});
  const std::size_t border = note_of({"first"}).size();
  for (std::size_t cut = 0; cut < note.size(); ++cut) {
    const auto left = payloads(std::string_view(note).substr(0, cut));
    EXPECT_EQ(left.size(), cut < border ? 0u : 1u) << cut;
  }
}

TEST(Frame, GoesOnAfterATornOne) {
  const std::string torn = note_of({"lost"}).substr(0, 18);
  EXPECT_EQ(payloads(torn + note_of({"kept"})), std::vector<std::string>{"kept"});
}

TEST(Frame, NeverGivesOutADamagedPayload) {
  const std::string note = note_of({"payload"});
  for (std::size_t bit = 0; bit < note.size() * 8; ++bit) {
    std::string flipped = note;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_TRUE(payloads(flipped).empty()) << bit;
  }
}

}  // namespace
}  // namespace larder::format
