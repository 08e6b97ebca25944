// Any bytes given as an encoded set of histograms: what is accepted is exactly what encode() writes.
#include <cstdint>
#include <cstdlib>

#include "events/histogram_set.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const auto set = larder::HistogramSet::decode(input);
  if (!set) return 0;
  if ((*set)->encode() != input) std::abort();
  for (std::size_t i = 0; i < larder::kMeasureCount; ++i) {
    const auto measure = static_cast<larder::Measure>(i);
    const larder::Histogram& one = (**set)[measure];
    if (one.quantile(0) > one.quantile(1)) std::abort();
    if (larder::to_bars(one, larder::unit_of(measure)).empty()) std::abort();
  }
  return 0;
}
