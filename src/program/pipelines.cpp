#include "program/pipelines.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <span>

#include "base/hex.hpp"
#include "cache/cache_core.hpp"
#include "format/little_endian.hpp"
#include "larder/driver_identity.hpp"

namespace larder {
namespace {

// Where messages, files and screens of drivers go decides no pipeline, and `larder run` sets some of them.
constexpr std::string_view kPrefixes[] = {"ACO_",  "AMDVLK_", "AMD_", "ANV_", "GALLIVM_", "INTEL_", "LP_",
                                          "MESA_", "NIR_",    "NV_",  "NVK_", "RADV_",    "TU_",    "V3D_"};
constexpr std::string_view kHarmless[] = {
    "MESA_SHADER_CACHE_DIR",
    "MESA_SHADER_CACHE_DISABLE",
    "MESA_SHADER_CACHE_MAX_SIZE",
    "MESA_GLSL_CACHE_DIR",
    "MESA_GLSL_CACHE_DISABLE",
    "MESA_GLSL_CACHE_MAX_SIZE",
    "MESA_DISK_CACHE_SINGLE_FILE",
    "MESA_DISK_CACHE_DATABASE",
    "MESA_LOG_FILE",
    "MESA_DEBUG",
    "MESA_VK_DEVICE_SELECT",
    "MESA_VK_WSI_PRESENT_MODE",
};

// What the maker of the data says of it: `COUNT pipelines in NANOSECONDS ns`.
std::string to_log(const PipelineTimes& cold) {
  return std::to_string(cold.pipelines) + " pipelines in " + std::to_string(cold.took.count()) + " ns";
}
PipelineTimes from_log(const std::string& log) noexcept {
  unsigned long long pipelines = 0;
  long long took = 0;
  if (std::sscanf(log.c_str(), "%llu pipelines in %lld ns", &pipelines, &took) != 2) return {};  // NOLINT
  return {pipelines, Nanoseconds(took)};
}

constexpr std::uint32_t kVersionOne = 1;
constexpr std::size_t kUuidAt = 16;

}  // namespace

Recipe pipeline_recipe(const PipelineDevice& device, const PipelineProgram& program, std::string_view kind) {
  Recipe recipe(kind);
  recipe.add("vendor", std::to_string(device.vendor))
      .add("device", std::to_string(device.device))
      .add("device-name", device.name)
      .add("cache-uuid", to_hex(std::as_bytes(std::span(device.cache_uuid))))
      .add("driver-version", std::to_string(device.driver_version))
      .add("driver-uuid", device.driver_uuid)
      .add("driver-name", device.driver_name)
      .add("driver-info", device.driver_info)
      .add("driver-build", device.driver_build)
      .add("environment", environment_identity(kPrefixes, kHarmless));
  if (device.is_processor) recipe.add("processor", processor_identity());
  recipe.add("program", program.executable)
      .add("application", program.application)
      .add("engine", program.engine);
  return recipe;
}

std::string_view why_not_for(BytesView data, const PipelineDevice& device) noexcept {
  if (data.size() < kPipelineHeaderSize) return "it is shorter than its header";
  const std::uint32_t header_size = format::load<std::uint32_t>(data.data());
  if (header_size < kPipelineHeaderSize || header_size > data.size()) return "its header's size is wrong";
  if (format::load<std::uint32_t>(data.data() + 4) != kVersionOne) return "its header is of another version";
  if (format::load<std::uint32_t>(data.data() + 8) != device.vendor) return "it is of another vendor";
  if (format::load<std::uint32_t>(data.data() + 12) != device.device) return "it is of another device";
  if (std::memcmp(data.data() + kUuidAt, device.cache_uuid.data(), device.cache_uuid.size()) != 0)
    return "it is of another driver";
  return {};
}

std::string_view why_left_alone(std::string_view device_name) noexcept {
  if (device_name.starts_with("llvmpipe"))
    return "lavapipe's pipeline caches hold a header and nothing else; larder run adopts Mesa's own cache";
  if (device_name.starts_with("SwiftShader"))
    return "SwiftShader's pipeline caches hold a header and nothing else";
  return {};
}

Pipelines::Loaded Pipelines::load() {
  auto found = cache_->get(recipe_);
  if (!found || found->bytes.size() > kPipelineBytesMax) return {};
  if (!why_not_for(found->bytes.view(), device_).empty()) {
    refuse();
    return {};
  }
  return {std::move(found->bytes), found->cost, from_log(found->log), found->outcome};
}

void Pipelines::refuse() {
  cache_->reject(recipe_);
}

bool Pipelines::merge(Nanoseconds cost, const std::optional<PipelineTimes>& cold,
                      const std::function<Bytes(BytesView)>& add) {
  return cache_->core_->update(recipe_, [&](const Product* kept) -> std::optional<Made> {
    const bool is_usable = kept != nullptr && kept->bytes.size() <= kPipelineBytesMax &&
                           why_not_for(kept->bytes.view(), device_).empty();
    const BytesView usable = is_usable ? kept->bytes.view() : BytesView{};
    Bytes bytes = add(usable);
    if (bytes.size() <= std::max(usable.size(), kPipelineHeaderSize)) return std::nullopt;
    if (!why_not_for(bytes.view(), device_).empty()) return std::nullopt;
    Made made{.bytes = std::move(bytes), .log = {}, .cost = cost};
    if (is_usable) made.cost = cost + kept->cost;
    if (cold) {
      made.log = to_log(*cold);
    } else if (is_usable) {
      made.log = kept->log;
    }
    return made;
  });
}

std::string why_no_gain(const PipelineTimes& cold, const PipelineTimes& warm) {
  if (cold.pipelines < kPipelinesToTell || warm.pipelines < kPipelinesToTell) return {};
  const auto each = [](const PipelineTimes& times) {
    return static_cast<double>(times.took.count()) / static_cast<double>(times.pipelines) / 1e6;
  };
  if (each(warm) < 0.9 * each(cold)) return {};
  std::array<char, 160> text{};
  std::snprintf(text.data(), text.size(),
                "what its driver keeps in pipeline caches makes them no faster: %.3f ms each with nothing "
                "kept, %.3f ms with everything",
                each(cold), each(warm));
  return text.data();
}

// A verdict is the number of runs, one digit, and what the last of them said.
void Pipelines::judge(const std::string& why) {
  const auto before = cache_->core_->look(verdict_recipe_);
  if (why.empty()) {
    if (before) cache_->erase(verdict_recipe_);
    return;
  }
  int runs = 1;
  if (before && !before->bytes.text().empty()) runs += before->bytes.text().front() - '0';
  cache_->put(verdict_recipe_, Bytes(std::to_string(std::clamp(runs, 1, kRunsToTell)) + why),
              {.cost = {}, .log = {}, .texts = {}, .replace = true});
}

std::string Pipelines::verdict() {
  const auto found = cache_->core_->look(verdict_recipe_);
  if (!found || found->bytes.text().empty() || found->bytes.text().front() - '0' < kRunsToTell) return {};
  return std::string(found->bytes.text().substr(1));
}

}  // namespace larder
