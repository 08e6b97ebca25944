// A BundleWriter makes a bundle file: entries one by one in the order of their keys, then finish(). Until
// then there is no bundle; a writer that is destroyed before leaves nothing behind. Used by one thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/file.hpp"
#include "format/bundle.hpp"
#include "format/entry.hpp"
#include "larder/result.hpp"
#include "store/bundle_keys.hpp"

namespace larder {

class BundleWriter {
 public:
  // Will put a file at `path`, in the place of what is there. io when a file beside it cannot be made.
  static Result<BundleWriter> open(FileSystem& files, const std::string& path);
  BundleWriter(BundleWriter&& other) noexcept;
  BundleWriter& operator=(BundleWriter&&) = delete;
  ~BundleWriter();

  // Keys ascend strictly: invalid_argument else. io.
  Result<void> add(const format::EntryHead& head, BytesView product);
  // Writes index and signatures and gives the file its name. io. Nothing may be called afterwards.
  Result<void> finish(const std::optional<bundle_keys::SecretKey>& key);

  std::uint64_t entries() const noexcept { return records_.size(); }
  std::uint64_t bytes() const noexcept { return end_; }

 private:
  BundleWriter(FileSystem& files, std::string path, std::string temporary, File file) noexcept;
  Result<void> write(BytesView bytes, std::uint64_t at);

  FileSystem& files_;
  std::string path_;
  std::string temporary_;  // empty: published or moved from
  File file_;
  std::vector<format::BundleRecord> records_;
  std::uint64_t end_ = format::kBundleHeaderSize;
};

}  // namespace larder
