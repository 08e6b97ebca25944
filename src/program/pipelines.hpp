// What a Vulkan driver's pipeline caches hold, kept for one device and one program: read before the program's
// first pipeline, and added to while it runs. Knows nothing of Vulkan but the 32 bytes at the head of such
// data. Any thread.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "larder/cache.hpp"

namespace larder {

using PipelineUuid = std::array<std::uint8_t, 16>;

// What decides whether a driver can use the data. What its version of Vulkan does not tell stays empty.
struct PipelineDevice {
  std::uint32_t vendor = 0;
  std::uint32_t device = 0;
  std::uint32_t driver_version = 0;
  PipelineUuid cache_uuid{};
  std::string name;
  bool is_processor = false;  // what it compiles is made for this processor
  std::string driver_uuid;    // 32 hex digits
  std::string driver_name;
  std::string driver_info;
  std::string driver_build;  // library_identity() of one of its functions
};

// Whose pipelines they are. Data of several programs would make each of them load the others' as well.
// Versions are no part of it: after an update most pipelines are the same.
struct PipelineProgram {
  std::string executable;  // its file's name, without the folder
  std::string application;
  std::string engine;
};

inline constexpr std::size_t kPipelineHeaderSize = 32;
inline constexpr std::uint64_t kPipelinesToTell = 8;
inline constexpr int kRunsToTell = 3;
// What is larger is not given to a program: it begins anew, and what it no longer uses is gone.
inline constexpr std::uint64_t kPipelineBytesMax = std::uint64_t{256} << 20;

// Recipes of the data; of another kind: of what else is known of the same device and program.
Recipe pipeline_recipe(const PipelineDevice& device, const PipelineProgram& program,
                       std::string_view kind = "vulkan-pipelines");

// Empty when `data` begins as this device's data must (VkPipelineCacheHeaderVersionOne); else what is wrong.
std::string_view why_not_for(BytesView data, const PipelineDevice& device) noexcept;

// Why the pipelines of this driver are not kept; empty: they are.
std::string_view why_left_alone(std::string_view device_name) noexcept;

// How long creating so many pipelines took.
struct PipelineTimes {
  std::uint64_t pipelines = 0;
  Nanoseconds took{0};
};
// Empty while nothing speaks against it: `warm`, with everything found, took clearly less than `cold`, or
// there were too few to tell. Else why the data is of no use.
std::string why_no_gain(const PipelineTimes& cold, const PipelineTimes& warm);

class Pipelines {
 public:
  // The cache must live longer.
  Pipelines(Cache& cache, PipelineDevice device, const PipelineProgram& program)
      : cache_(&cache),
        device_(std::move(device)),
        recipe_(pipeline_recipe(device_, program)),
        verdict_recipe_(pipeline_recipe(device_, program, "vulkan-pipelines-verdict")) {}

  struct Loaded {
    Bytes bytes{};
    Nanoseconds cost{0};  // what creating its pipelines took
    PipelineTimes cold;   // in the run that found nothing
    Outcome outcome = Outcome::missed;
    // The data's header has been compared with the device.
    bool is_there() const noexcept { return outcome != Outcome::missed; }
  };
  Loaded load();
  // The driver did not take what it was given: removes it.
  void refuse();

  // Keeps what `add` makes of what is kept by now (empty: nothing), one process at a time. What is empty, not
  // this device's, or no larger than what is there is not kept. True when it was. `cost` is added to what the
  // rest had cost; `cold` stays with the data, where the run found nothing.
  bool merge(Nanoseconds cost, const std::optional<PipelineTimes>& cold,
             const std::function<Bytes(BytesView)>& add);

  // What a run that found everything says of the data: why it is of no use (why_no_gain), or, empty, that it
  // is of use. One run may have been disturbed: kRunsToTell in a row are believed.
  void judge(const std::string& why);
  // What they said; empty: that it is of use, or not enough of them.
  std::string verdict();

 private:
  Cache* cache_;
  PipelineDevice device_;
  Recipe recipe_;
  Recipe verdict_recipe_;
};

}  // namespace larder
