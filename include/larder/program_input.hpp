// What a GPU program is made from, as its user says it (ProgramInput), and as maker and recipe both see it
// (ProgramIngredients): the maker is given the ingredients and nothing else, so nothing can decide a product
// without standing in its recipe. Plain values, each for one thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "larder/bytes.hpp"
#include "larder/export.h"
#include "larder/recipe.hpp"
#include "larder/result.hpp"

namespace larder {

// Numbers cross the C ABI: they never change meaning.
enum class ProgramForm : std::uint8_t {
  source = 1,   // text for the API's compiler
  image = 2,    // an intermediate language, or an image that the API turns into code for a device
  linked = 3,   // `parts`, compiled one by one and linked
  interop = 4,  // an object made where larder did not see it: never kept
};
LARDER_API std::string_view name(ProgramForm form) noexcept;

// Options as they come from one place.
struct OptionPair {
  std::string_view compile{};
  std::string_view link{};
};

// A header handed to the compiler in memory, under the name by which sources include it.
struct ProgramHeader {
  std::string_view name;
  std::string_view text;
};

struct SpecConstant {
  std::uint32_t id = 0;
  BytesView value{};
};

// What larder knows of the files that a compiler reads.
enum class FileReading : std::uint8_t {
  none,                  // it reads none
  unheard,               // it may read files, and nobody hears which: a program that may need any is not kept
  recorded,              // what it reads and looks for is heard of during the build, and decides the product
  recorded_when_needed,  // the same, for programs that may need any; others read only what is the compiler's
};

// Read during a call only.
struct ProgramInput {
  ProgramForm form = ProgramForm::source;
  std::string_view text{};  // the source or the image
  std::span<const ProgramHeader> headers{};
  std::span<const SpecConstant> constants{};
  std::span<const ProgramInput> parts{};
  std::string_view name{};  // by which compilers call the text; empty: theirs
  // Names whose spelling in the compiled code is wanted, in any order.
  std::span<const std::string_view> name_expressions{};
  // Merged in this order, compile and link options each for themselves. Compilers let the last of two options
  // that contradict each other win, so the caller overrules what the image was made with, and the environment
  // of the person at the machine overrules both.
  OptionPair image_options{};
  OptionPair call_options{};
  OptionPair environment_options{};
};

// Options as the recipe and the compiler see them.
struct CanonicalOptions {
  std::string text{};
  std::string why_not{};      // why a program built with them cannot be kept; empty: it can
  bool reads_files = false;   // they name files that the compiler reads
  bool names_folder = false;  // with them the product says in which folder it was compiled
};

// Named bytes in their order. What is added as a view must outlive the object.
class LARDER_API ProgramIngredients {
 public:
  void add(std::string name, std::string_view view) {
    entries_.push_back({std::move(name), {}, view, false});
  }
  void add_owned(std::string name, std::string text);

  // The first one of that name; empty when there is none.
  std::string_view text(std::string_view name) const noexcept;
  bool has(std::string_view name) const noexcept;
  // Those whose names begin with `prefix`, by the rest of their names.
  std::vector<std::pair<std::string_view, std::string_view>> all(std::string_view prefix) const;
  // The ingredients of part number `number` of a linked program; nothing when there are not so many.
  std::optional<ProgramIngredients> part(std::size_t number) const;

  std::size_t size() const noexcept { return entries_.size(); }
  std::string_view name_at(std::size_t place) const noexcept { return entries_[place].name; }
  std::string_view text_at(std::size_t place) const noexcept { return entries_[place].content(); }

  // Appends them to a recipe, in order.
  void add_to(Recipe& recipe) const;

 private:
  struct Entry {
    std::string name;
    std::string owned;
    std::string_view view;
    bool is_owned;
    std::string_view content() const noexcept { return is_owned ? std::string_view(owned) : view; }
  };
  std::vector<Entry> entries_;
};

// Names of ingredients that every API uses. Others: `header NAME`, `constant ID`, `part N/...`, whatever a
// device's identity is made of, `source-folder`, in which a compiler takes sources to lie, and what a
// compiler found on disk: `file PATH`, `found PATH`, `files`.
namespace ingredient {
inline constexpr std::string_view kForm = "form";
inline constexpr std::string_view kText = "text";
inline constexpr std::string_view kCompileOptions = "compile-options";
inline constexpr std::string_view kLinkOptions = "link-options";
inline constexpr std::string_view kHeader = "header ";
inline constexpr std::string_view kConstant = "constant ";
inline constexpr std::string_view kName = "name";
inline constexpr std::string_view kNameExpression = "name-expression";
inline constexpr std::string_view kFolder = "working-folder";
inline constexpr std::string_view kSourceFolder = "source-folder";
}  // namespace ingredient

// How an API puts options into canonical form.
using Canonicalise = CanonicalOptions (*)(std::string_view options);

// The ingredients of a program, devices left out, and why it cannot be kept, if so.
struct DescribedProgram {
  ProgramIngredients ingredients{};
  std::string why_not{};
  // The compiler may read files: a source says `include` or the like, or an option does. Without it, it
  // cannot, whatever the source says otherwise.
  bool may_read_files = false;
};
LARDER_API DescribedProgram describe(const ProgramInput& input, Canonicalise canonicalise);

// Facts that decide what code a device needs: names and values, in order. Two devices with the same facts are
// alike: what was built for one serves the other. An API that knows the class of a device's instruction set
// puts that there instead of what tells two devices of one class apart.
struct DeviceIdentity {
  std::vector<std::pair<std::string, std::string>> facts;
  std::string why_not;  // why nothing built for it can be kept; empty: it can
  friend bool operator==(const DeviceIdentity&, const DeviceIdentity&) = default;
};

// Why a compiler said no: its own number and its log. It travels in an Error of Code::maker_failed, so that
// whoever waits for the same build, and whoever asks again, gets the same number and log.
struct BuildFailure {
  std::int64_t code = 0;
  std::string log;
};
LARDER_API Error to_error(const BuildFailure& failure);
// Nothing for an error that is no build failure.
LARDER_API std::optional<BuildFailure> build_failure(const Error& error);

// One named piece of what an API hands out for a built program: the code, its format, its name maps.
struct Artefact {
  std::string name;
  Bytes bytes;
  friend bool operator==(const Artefact&, const Artefact&) = default;
};
using Artefacts = std::vector<Artefact>;

}  // namespace larder
