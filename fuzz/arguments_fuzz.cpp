// Any words given to the command: it is understood, or there is a complaint that says what to do; the
// compiler's words behind `cc` are read to their end, response files aside.
#include <cstdint>
#include <string>
#include <vector>

#include "fuzz/demand.hpp"
#include "tool/compiler.hpp"
#include "tool/parse.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace larder;
  // Words end where an argument of a process would: at a zero; line ends serve too, for seeds that people can
  // read.
  std::vector<std::string> words(1);
  for (std::size_t i = 0; i < size; ++i) {
    if (data[i] == 0 || data[i] == '\n') {
      words.emplace_back();
    } else {
      words.back().push_back(static_cast<char>(data[i]));
    }
  }

  const tool::Parsed parsed = tool::parse(words, "/home/me");
  if (parsed.complaint) {
    demand(!parsed.complaint->what.empty() && !parsed.complaint->advice.empty());
  } else if (parsed.command != nullptr) {
    for (const auto& [name, texts] : parsed.given) demand(!name.empty() && !texts.empty());
  }
  demand(tool::own_words(words).size() <= words.size());

  // A response file would be read from the disk of the machine that fuzzes.
  for (const std::string& word : words) {
    if (word.starts_with('@')) return 0;
  }
  static_cast<void>(tool::read_compilation(words));
  return 0;
}
