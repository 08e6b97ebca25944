// Bytes is an immutable run of bytes with shared ownership: products travel in it.
// Copies share the memory and may be used from any thread; the memory lives as long as its last copy.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "larder/export.h"

namespace larder {

using BytesView = std::span<const std::byte>;

inline BytesView as_bytes(std::string_view text) noexcept {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}
inline std::string_view as_text(BytesView bytes) noexcept {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

class LARDER_API Bytes {
 public:
  Bytes() noexcept = default;
  // Takes the string over; no copy of its characters.
  explicit Bytes(std::string text);
  // Copies what `view` shows.
  explicit Bytes(BytesView view);
  // Shows `view`, which must stay valid and unchanged while `owner` lives.
  Bytes(std::shared_ptr<const void> owner, BytesView view) noexcept : owner_(std::move(owner)), view_(view) {}

  const std::byte* data() const noexcept { return view_.data(); }
  std::size_t size() const noexcept { return view_.size(); }
  bool empty() const noexcept { return view_.empty(); }
  BytesView view() const noexcept { return view_; }
  std::string_view text() const noexcept { return as_text(view_); }

  // Equal bytes, wherever they stand.
  friend bool operator==(const Bytes& a, const Bytes& b) noexcept { return a.text() == b.text(); }

 private:
  std::shared_ptr<const void> owner_;
  BytesView view_;
};

}  // namespace larder
