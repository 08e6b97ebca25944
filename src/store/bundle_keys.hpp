// Keys that sign bundles, and the files they stand in.
//
//   secret key file := "larder-secret-key-1:" base64 of 64 bytes "\n"     (mode 0600)
//   public key file := lines, each empty, a "#" remark, or "larder-public-key-1:" base64 of 32 bytes
//
// Any thread may call.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "format/bundle.hpp"
#include "larder/result.hpp"

namespace larder::bundle_keys {

struct SecretKey {
  std::array<std::uint8_t, 64> bytes{};
  format::PublicKey public_key() const noexcept;
};

// refused when others could read the file; damaged with the line that is no key.
Result<SecretKey> read_secret(const std::string& path);
Result<std::vector<format::PublicKey>> read_public(const std::string& path);

// `text` as a public key file. Any bytes may be given.
Result<std::vector<format::PublicKey>> parse_public(std::string_view text);

// Unsupported when libsodium cannot start.
Result<format::BundleSignature> sign(const SecretKey& key, std::string_view text);
bool is_signed(const format::BundleSignature& signature, std::string_view text) noexcept;

}  // namespace larder::bundle_keys
