// LinkedPrograms keeps what OpenGL drivers made of linked programs. It calls no OpenGL: who uses it says how
// a driver takes a binary and how it links. Any thread may call anything at any time.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "larder/detail/program_products.hpp"

namespace larder::opengl {

// What OpenGL says of a shader or program after it was compiled or linked. `length` is its INFO_LOG_LENGTH:
// drivers do not agree on that of an empty log.
struct InfoLog {
  std::int32_t length = 0;
  std::string text{};
  friend bool operator==(const InfoLog&, const InfoLog&) = default;
};

// What the artefact of a product is called that holds a length.
inline constexpr std::string_view kLogLength = "log-length";

struct ProgramBinary {
  std::uint32_t format = 0;
  Bytes bytes{};  // empty: the driver gives none
  InfoLog log{};
};

struct LinkAnswer {
  bool was_linked = false;  // by the driver, from its shaders; well or not
  Outcome outcome = Outcome::bypassed;
  Reason reason = Reason::none;
  Nanoseconds cost{0};
  std::string why_not{};  // why it is not kept, when it is not
  InfoLog log{};          // of a program that was taken from its binary
};

class LinkedPrograms {
 public:
  // `cache` outlives it.
  explicit LinkedPrograms(Cache& cache) : products_(&cache, false) {}

  // Offers the driver what is kept of the program: `take` is false when it refuses; then that is removed, and
  // the program linked again. Where nothing is kept, `link` links it: nothing when the linker says no, which
  // is not remembered. A program that was not `was_linked` afterwards has been taken. Throws what `take` and
  // `link` throw.
  LinkAnswer get_or_link(const Recipe& recipe, std::span<const Text> texts,
                         const std::function<bool(const ProgramBinary&)>& take,
                         const std::function<std::optional<ProgramBinary>()>& link);

 private:
  detail::ProgramProducts products_;
};

}  // namespace larder::opengl
