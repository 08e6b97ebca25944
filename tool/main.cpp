// The `larder` command: collects what it was called with and hands it to tool::run.
#include <exception>
#include <new>

#include "tool/command.hpp"

int main(int argc, char** argv) {
  using namespace larder;
  tool::Console console = tool::Console::of_process();
  try {
    const std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
    return tool::run(words, settings::Surroundings::of_process(settings::Face::tool), console);
  } catch (const std::bad_alloc&) {
    console.complain(
        {"memory is exhausted", "the command needs more than there is", "close something and try again"});
  } catch (const std::exception& error) {
    console.complain(
        {"this should not have happened", error.what(), "report it with the command that you ran"});
  }
  return tool::kError;
}
