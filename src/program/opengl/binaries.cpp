#include "program/opengl/binaries.hpp"

#include "base/number.hpp"
#include "program/product_bytes.hpp"

namespace larder::opengl {
namespace {

constexpr std::string_view kBinary = "binary";
constexpr std::string_view kFormat = "format";

template <typename Number>
bool read(const Artefact& artefact, Number& number) {
  const auto read = to_number<Number>(artefact.bytes.text());
  number = read.value_or(number);
  return read.has_value();
}

template <typename Number>
Artefact written(std::string_view name, Number number) {
  return {std::string(name), Bytes(std::to_string(number))};
}

// Nothing when it is not what to_product wrote.
std::optional<ProgramBinary> to_binary(detail::ProgramProduct&& product) {
  if (product.artefacts.size() != 3 || product.artefacts[0].name != kBinary ||
      product.artefacts[1].name != kFormat || product.artefacts[2].name != kLogLength)
    return std::nullopt;
  ProgramBinary binary;
  if (!read(product.artefacts[1], binary.format) || !read(product.artefacts[2], binary.log.length))
    return std::nullopt;
  binary.bytes = std::move(product.artefacts[0].bytes);
  binary.log.text = std::move(product.log);
  if (binary.bytes.empty()) return std::nullopt;
  return binary;
}

detail::ProgramProduct to_product(const ProgramBinary& binary) {
  detail::ProgramProduct product{false, 0, binary.log.text, {}};
  if (binary.bytes.empty()) return product;  // nothing to keep
  product.artefacts.push_back({std::string(kBinary), binary.bytes});
  product.artefacts.push_back(written(kFormat, binary.format));
  product.artefacts.push_back(written(kLogLength, binary.log.length));
  return product;
}

}  // namespace

LinkAnswer LinkedPrograms::get_or_link(const Recipe& recipe, std::span<const Text> texts,
                                       const std::function<bool(const ProgramBinary&)>& take,
                                       const std::function<std::optional<ProgramBinary>()>& link) {
  LinkAnswer answer;
  auto make = [&]() -> Result<detail::ProgramProduct> {
    answer.was_linked = true;
    const auto binary = link();
    if (!binary) {
      Error error = to_error({0, "its linker says no"});
      return fail(error.code, std::move(error.what));
    }
    if (binary->bytes.empty()) answer.why_not = "the driver gives no binary of it";
    return to_product(*binary);
  };
  for (int tries = 0; tries < 2; ++tries) {
    auto got = products_.get_or_make(recipe, texts, false, make);
    if (answer.was_linked) {
      answer.outcome = got ? got->outcome : Outcome::failed;
      if (answer.reason != Reason::refused && got) answer.reason = got->reason;
      if (got) answer.cost = got->cost;
      return answer;
    }
    // Another thread made it in vain; this one's program gets its own log.
    if (!got) break;
    answer.outcome = got->outcome;
    answer.reason = got->reason;
    answer.cost = got->cost;
    auto binary = to_binary(std::move(got->product));
    if (binary && take(*binary)) {
      answer.log = std::move(binary->log);
      return answer;
    }
    products_.reject(recipe, false);
    answer.reason = Reason::refused;
  }
  // Refused twice, or made in vain elsewhere: aside.
  answer.was_linked = true;
  answer.outcome = link() ? Outcome::made : Outcome::failed;
  if (answer.reason == Reason::refused) answer.why_not = "the driver refuses what it gave itself";
  return answer;
}

}  // namespace larder::opengl
