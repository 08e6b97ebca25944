// Any two files given as those in which Mesa keeps its shaders: a record that is read has a name of its kind
// and bytes that stand in the file; one that is added is read back the same, and every other stays as it was.
// The first byte says which layout, the next two how long the data file is; the rest is the index.
#include <stdlib.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>

#include "fuzz/demand.hpp"
#include "program/mesa_records.hpp"

namespace {

using namespace larder;
namespace fs = std::filesystem;

struct Files {
  const char* folder;
  const char* data;
  const char* index;
};
constexpr Files kLayouts[] = {{"mesa_shader_cache_sf/build/driver", "foz_cache.foz", "foz_cache_idx.foz"},
                              {"mesa_shader_cache_db", "mesa_cache.db", "mesa_cache.idx"}};

// In memory, where there is such a place; gone when the fuzzer ends by itself.
struct Scratch {
  Scratch() {
    std::error_code none;
    path = (fs::is_directory("/dev/shm", none) ? "/dev/shm" : fs::temp_directory_path().string()) +
           "/larder-fuzz-XXXXXX";
    demand(::mkdtemp(path.data()) != nullptr);
    for (const Files& files : kLayouts) fs::create_directories(path + '/' + files.folder);
  }
  ~Scratch() {
    std::error_code none;
    fs::remove_all(path, none);
  }
  std::string path{};
};

std::map<std::string, std::string> records_in(const std::string& directory) {
  std::map<std::string, std::string> records;
  for (DriverRecord& record : kMesaRecords.read_new(directory, {}))
    demand(records.emplace(std::move(record.name), std::move(record.bytes)).second);
  return records;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return 0;
  static const Scratch scratch;
  const Files& files = kLayouts[data[0] % 2];
  const std::string folder = scratch.path + '/' + files.folder;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 3, size - 3);
  const std::string_view of_data = rest.substr(0, static_cast<std::size_t>(data[1]) + 256u * data[2]);
  const std::string_view of_index = rest.substr(of_data.size());
  std::ofstream(folder + '/' + files.data, std::ios::binary) << of_data;
  std::ofstream(folder + '/' + files.index, std::ios::binary) << of_index;

  const auto before = records_in(scratch.path);
  std::vector<std::string> names;
  for (const auto& [name, bytes] : before) {
    demand(kMesaRecords.is_record(name) && name.starts_with(files.folder));
    demand(of_data.find(bytes) != of_data.npos);
    names.push_back(name);
  }
  demand(kMesaRecords.lacking(scratch.path, names).empty());
  demand(kMesaRecords.read_new(scratch.path, {names.begin(), names.end()}).empty());

  const std::string fresh = std::string(files.folder) + "/0123456789abcdef0123456789abcdef01234567";
  const std::string bytes(of_index.empty() ? std::string_view("bytes") : of_index);
  const bool was_lacking = kMesaRecords.lacking(scratch.path, {fresh}).contains(fresh);
  const bool is_added = kMesaRecords.add(scratch.path, {{fresh, bytes}}).contains(fresh);
  demand(was_lacking || !is_added);
  auto after = records_in(scratch.path);
  if (is_added) {
    const auto found = after.find(fresh);
    demand(found != after.end() && found->second == bytes);
    after.erase(found);
  }
  demand(after == before);

  for (const char* const file : {files.data, files.index}) fs::remove(folder + '/' + file);
  return 0;
}
