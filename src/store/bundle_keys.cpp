#include "store/bundle_keys.hpp"

#include <errno.h>
#include <fcntl.h>
#include <sodium/core.h>
#include <sodium/crypto_sign_ed25519.h>
#include <sodium/utils.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "base/file.hpp"
#include "base/transfer.hpp"
#include "larder/bundle.hpp"

namespace larder {
namespace bundle_keys {
namespace {

constexpr std::string_view kSecret = "larder-secret-key-1:";
constexpr std::string_view kPublic = "larder-public-key-1:";
constexpr std::size_t kFileMax = 64 * 1024;

template <std::size_t kSize>
std::string to_base64(const std::array<std::uint8_t, kSize>& bytes) {
  char text[sodium_base64_ENCODED_LEN(kSize, sodium_base64_VARIANT_ORIGINAL)];
  sodium_bin2base64(text, sizeof text, bytes.data(), bytes.size(), sodium_base64_VARIANT_ORIGINAL);
  return text;
}

template <std::size_t kSize>
bool from_base64(std::string_view text, std::array<std::uint8_t, kSize>& bytes) noexcept {
  std::size_t size = 0;
  const char* end = nullptr;
  return sodium_base642bin(bytes.data(), bytes.size(), text.data(), text.size(), nullptr, &size, &end,
                           sodium_base64_VARIANT_ORIGINAL) == 0 &&
         size == bytes.size() && end == text.data() + text.size();
}

std::string_view trimmed(std::string_view line) noexcept {
  while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
  return line;
}

Result<std::string> read_small_file(const std::string& path, bool is_secret) {
  FileSystem& files = FileSystem::posix();
  const int fd = files.open_at(AT_FDCWD, path.c_str(), O_RDONLY | O_NONBLOCK);
  if (fd < 0)
    return fail(fd == -ENOENT ? Code::not_found : Code::io, "open " + path + ": " + std::strerror(-fd));
  const File file(files, fd);
  struct stat status {};
  if (const int error = files.status(fd, status); error < 0) {
    return fail(Code::io, "fstat " + path + ": " + std::strerror(-error));
  }
  if (!S_ISREG(status.st_mode)) return fail(Code::refused, path + ": is no plain file");
  if (status.st_uid != 0 && status.st_uid != ::geteuid()) {
    return fail(Code::refused, path + ": belongs to user " + std::to_string(status.st_uid));
  }
  if ((status.st_mode & (is_secret ? 0077 : 0022)) != 0) {
    return fail(Code::refused,
                path + ": others can " + (is_secret ? "read it; chmod 600 it" : "write it; chmod go-w it"));
  }
  if (static_cast<std::uint64_t>(status.st_size) > kFileMax)
    return fail(Code::damaged, path + ": is no key file");
  std::string text(static_cast<std::size_t>(status.st_size), '\0');
  const int error = read_fully(files, fd, reinterpret_cast<std::byte*>(text.data()), text.size(), 0);
  if (error != 0)
    return fail(Code::io, "read " + path + ": " + (error > 0 ? "ends early" : std::strerror(-error)));
  return text;
}

Result<void> write_key_file(const std::string& path, mode_t mode, const std::string& text) {
  FileSystem& files = FileSystem::posix();
  const int fd = files.open_at(AT_FDCWD, path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
  if (fd == -EEXIST) return fail(Code::invalid_argument, path + ": exists; keys are never overwritten");
  if (fd < 0) return fail(Code::io, "open " + path + ": " + std::strerror(-fd));
  File file(files, fd);
  int error = write_fully(files, fd, as_bytes(text), 0);
  if (error >= 0) error = files.sync(fd, false);
  const int closed = file.close();
  if (error >= 0) error = closed;
  if (error < 0) {
    files.unlink_at(AT_FDCWD, path.c_str());
    return fail(Code::io, "write " + path + ": " + std::strerror(-error));
  }
  return {};
}

}  // namespace

format::PublicKey SecretKey::public_key() const noexcept {
  format::PublicKey key;
  crypto_sign_ed25519_sk_to_pk(key.data(), bytes.data());
  return key;
}

Result<SecretKey> read_secret(const std::string& path) {
  Result<std::string> text = read_small_file(path, true);
  if (!text) return fail(text.error().code, std::move(text.error().what));
  std::string_view line = *text;
  if (!line.empty() && line.back() == '\n') line.remove_suffix(1);
  line = trimmed(line);
  SecretKey key;
  if (!line.starts_with(kSecret) || !from_base64(line.substr(kSecret.size()), key.bytes)) {
    return fail(Code::damaged, path + ": is no secret key of larder's");
  }
  sodium_memzero(text->data(), text->size());
  return key;
}

Result<std::vector<format::PublicKey>> parse_public(std::string_view text) {
  std::vector<format::PublicKey> keys;
  for (unsigned number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    const std::string_view line = trimmed(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    if (line.empty() || line[0] == '#') continue;
    format::PublicKey key;
    if (!line.starts_with(kPublic) || !from_base64(line.substr(kPublic.size()), key)) {
      return fail(Code::damaged, std::to_string(number) + ": is no public key of larder's");
    }
    keys.push_back(key);
  }
  return keys;
}

Result<std::vector<format::PublicKey>> read_public(const std::string& path) {
  Result<std::string> text = read_small_file(path, false);
  if (!text) return fail(text.error().code, std::move(text.error().what));
  Result<std::vector<format::PublicKey>> keys = parse_public(*text);
  if (!keys) return fail(keys.error().code, path + ':' + keys.error().what);
  return keys;
}

Result<format::BundleSignature> sign(const SecretKey& key, std::string_view text) {
  if (sodium_init() < 0) return fail(Code::unsupported, "libsodium does not start");
  format::BundleSignature signature;
  signature.key = key.public_key();
  crypto_sign_ed25519_detached(signature.signature.data(), nullptr,
                               reinterpret_cast<const unsigned char*>(text.data()), text.size(),
                               key.bytes.data());
  return signature;
}

bool is_signed(const format::BundleSignature& signature, std::string_view text) noexcept {
  return sodium_init() >= 0 &&
         crypto_sign_ed25519_verify_detached(signature.signature.data(),
                                             reinterpret_cast<const unsigned char*>(text.data()), text.size(),
                                             signature.key.data()) == 0;
}

}  // namespace bundle_keys

Result<void> make_bundle_keys(const std::string& path) {
  using namespace bundle_keys;
  if (sodium_init() < 0) return fail(Code::unsupported, "libsodium does not start");
  const std::string public_path = path + ".pub";
  if (::access(public_path.c_str(), F_OK) == 0) {
    return fail(Code::invalid_argument, public_path + ": exists; keys are never overwritten");
  }
  format::PublicKey public_key;
  SecretKey secret;
  crypto_sign_ed25519_keypair(public_key.data(), secret.bytes.data());
  std::string text = std::string(kSecret) + to_base64(secret.bytes) + '\n';
  Result<void> written = write_key_file(path, 0600, text);
  sodium_memzero(text.data(), text.size());
  sodium_memzero(secret.bytes.data(), secret.bytes.size());
  if (!written) return written;
  return write_key_file(public_path, 0644, std::string(kPublic) + to_base64(public_key) + '\n');
}

}  // namespace larder
