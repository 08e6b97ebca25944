// A store of the test's own, and the command on it.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>

#include "larder/cache.hpp"
#include "store/layout.hpp"
#include "store/store.hpp"
#include "tool/tool_test_kit.hpp"

namespace larder::tool {

class StoreToolTest : public ToolTest {
 protected:
  StoreToolTest() : place(::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp") {
    place += "/larder-tool-XXXXXX";
    if (::mkdtemp(place.data()) == nullptr) std::abort();
    root = place + "/cache";
    here.environment["LARDER_DIR"] = root;
    here.environment["LARDER_RUNTIME_DIR"] = place + "/run";
    here.environment["LARDER_FREE_MIN"] = "0";
    here.working_dir = place;
  }
  ~StoreToolTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(place, ignored);
  }

  static Recipe recipe(std::string_view name, std::string_view options = "-O2") {
    Recipe one("test-kind");
    one.add("name", name).add("options", options);
    return one;
  }
  std::unique_ptr<Store> open() const {
    StoreOptions options;
    options.root = root;
    options.free_bytes_min = 0;
    options.lock_directory = place + "/run";
    auto store = Store::open(options);
    if (!store) std::abort();
    return std::move(*store);
  }
  Key keep(const Recipe& of, std::string_view product = "product", PutOptions with = {}) const {
    EXPECT_TRUE(open()->put(of, as_bytes(product), with));
    return of.key();
  }
  Options options() const {
    Options said;
    said.dir = root;
    said.runtime_dir = place + "/run";
    said.free_min = 0;
    said.program = "tester";
    return said;
  }
  // A program asks for it and makes it.
  void request(const Recipe& of) const {
    Cache cache = Cache::open(options());
    EXPECT_TRUE(cache.get_or_make(of, [] { return std::string("made"); }));
  }
  std::string path_of(const Key& key) const { return root + "/v1/" + layout::entry_path(key).c_str(); }
  void use(const Key& key, std::chrono::seconds ago) const {
    const auto at = std::chrono::system_clock::now() - ago;
    const auto since = std::chrono::duration_cast<std::chrono::seconds>(at.time_since_epoch());
    const timespec times[2] = {{since.count(), 0}, {since.count(), 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, path_of(key).c_str(), times, 0), 0);
  }
  // Changes the last byte of its file.
  void damage(const Key& key) const {
    std::fstream file(path_of(key), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-1, std::ios::end);
    file.put('\x7e');
    ASSERT_TRUE(file.good());
  }
  bool is_there(const Key& key) const { return std::filesystem::exists(path_of(key)); }
  static std::string first(const Key& key) { return key.hex().substr(0, 12); }

  std::string place;
  std::string root;
};

}  // namespace larder::tool
