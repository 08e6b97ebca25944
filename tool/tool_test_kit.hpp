// Runs the command in the test's own process and keeps what it wrote.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "tool/command.hpp"

namespace larder::tool {

class ToolTest : public testing::Test {
 protected:
  ToolTest() {
    here.face = settings::Face::tool;
    here.environment["HOME"] = "/nowhere/me";
    here.working_dir = "/nowhere/src";
    here.program = "larder";
    here.read_config = [this](const std::string& path) -> Result<std::optional<std::string>> {
      const auto found = files.find(path);
      if (found == files.end()) return std::optional<std::string>();
      return std::optional<std::string>(found->second);
    };
  }

  // `out` and `err` afterwards hold what was written.
  int larder(const std::vector<std::string>& words) {
    char* out_text = nullptr;
    char* err_text = nullptr;
    std::size_t out_size = 0;
    std::size_t err_size = 0;
    std::FILE* const out_file = ::open_memstream(&out_text, &out_size);
    std::FILE* const err_file = ::open_memstream(&err_text, &err_size);
    Console console(out_file, err_file, is_terminal, is_terminal, Colour::never);
    const int code = run(words, here, console);
    std::fclose(out_file);
    std::fclose(err_file);
    out.assign(out_text, out_size);
    err.assign(err_text, err_size);
    std::free(out_text);
    std::free(err_text);
    return code;
  }

  settings::Surroundings here;
  std::map<std::string, std::string> files;
  bool is_terminal = false;  // of 80 columns
  std::string out, err;
};

}  // namespace larder::tool
