// A difference for people.
#include <algorithm>
#include <span>

#include "base/hex.hpp"
#include "larder/difference.hpp"
#include "recipe/canonical.hpp"
#include "recipe/readable.hpp"
#include "recipe/text_diff.hpp"

namespace larder {
namespace {

constexpr std::size_t kNameWidth = 60;
constexpr std::size_t kValueWidth = 72;
constexpr std::size_t kLinesPerIngredient = 40;

// The bytes of an ingredient where they are known, else nothing.
std::optional<Bytes> bytes_of(const Ingredient& ingredient, const DifferenceTextOptions& options) {
  if (!ingredient.is_digest) return Bytes(nullptr, ingredient.bytes);
  if (!options.bytes_of_digest) return std::nullopt;
  return options.bytes_of_digest(ingredient);
}

// The first 12 digits of the BLAKE2b-256, as keys are shown.
std::string short_digest(const Ingredient& ingredient) {
  const canonical::Digest made =
      ingredient.is_digest ? canonical::Digest{} : canonical::digest_of(ingredient.bytes);
  const unsigned char* digest =
      ingredient.is_digest ? reinterpret_cast<const unsigned char*>(ingredient.bytes.data()) : made.data();
  return to_hex(std::as_bytes(std::span(digest, 6)));
}

bool fits_on_a_line(std::string_view text) noexcept {
  return text.size() <= kValueWidth && text.find('\n') == std::string_view::npos;
}

// What there is to say of one side.
std::string summary(const Ingredient& ingredient, const DifferenceTextOptions& options) {
  const std::optional<Bytes> bytes = bytes_of(ingredient, options);
  if (!bytes || !is_readable(bytes->view())) {
    return to_size(ingredient.size) + ", blake2b " + short_digest(ingredient);
  }
  if (fits_on_a_line(bytes->text())) return to_quoted(bytes->text(), 0, kValueWidth);
  return to_size(ingredient.size) + ", " + to_quoted(bytes->text(), 0, kValueWidth / 2);
}

std::string changed_text(const IngredientChange& change, const DifferenceTextOptions& options) {
  const std::optional<Bytes> before = bytes_of(change.before, options);
  const std::optional<Bytes> after = bytes_of(change.after, options);
  const bool is_text = before && after && is_readable(before->view()) && is_readable(after->view());
  if (!is_text) {
    std::string text = summary(change.before, options) + " -> " + summary(change.after, options);
    if (before && after)
      text += ", from byte " + std::to_string(common_ends(before->text(), after->text()).front);
    return text + "\n";
  }
  const bool has_lines = before->text().find('\n') != std::string_view::npos ||
                         after->text().find('\n') != std::string_view::npos;
  if (!has_lines) {
    const std::size_t front = common_ends(before->text(), after->text()).front;
    const bool is_long = std::max(before->size(), after->size()) > kValueWidth;
    const std::size_t from = is_long && front > kValueWidth / 2 ? front - kValueWidth / 4 : 0;
    if (look_alike(before->text(), after->text(), from, kValueWidth)) {
      return '"' + to_exact(before->text(), front, kValueWidth) + "\" -> \"" +
             to_exact(after->text(), front, kValueWidth) + "\"\n";
    }
    return to_quoted(before->text(), from, kValueWidth) + " -> " +
           to_quoted(after->text(), from, kValueWidth) + "\n";
  }
  std::string text = to_size(change.before.size) + " -> " + to_size(change.after.size) + "\n";
  for (const DiffLine& line : diff_lines(before->text(), after->text(), kLinesPerIngredient)) {
    text += "  ";
    text += line.mark;
    text += ' ';
    text += line.text;
    text += '\n';
  }
  return text;
}

std::string place_text(std::size_t place) {
  return std::to_string(place + 1);
}

std::string paragraph(const IngredientChange& change, const DifferenceTextOptions& options) {
  std::string text(name(change.change));
  text += ' ';
  text += to_name(change.name(), kNameWidth);
  text += ": ";
  switch (change.change) {
    case Change::added:
      return text + summary(change.after, options) + "\n";
    case Change::removed:
      return text + summary(change.before, options) + "\n";
    case Change::moved:
      return text + "from place " + place_text(change.place_before) + " to " +
             place_text(change.place_after) + "\n";
    case Change::changed:
      return text + changed_text(change, options);
  }
  return text;
}

}  // namespace

std::string to_text(const Difference& difference, const DifferenceTextOptions& options) {
  std::string text;
  if (difference.kind_before != difference.kind_after) {
    text = "kind: " + to_quoted(difference.kind_before, 0, kNameWidth) + " -> " +
           to_quoted(difference.kind_after, 0, kNameWidth) + "\n";
  }
  // Room for the line that counts the rest.
  constexpr std::size_t kRestSize = 48;
  const std::size_t room = options.size_max - std::min(options.size_max, kRestSize);
  std::size_t told = 0;
  for (; told < difference.changes.size() && text.size() <= room; ++told) {
    const std::string next = paragraph(difference.changes[told], options);
    if (text.size() + next.size() > room) break;
    text += next;
  }
  std::size_t rest = difference.changes.size() - told;
  if (told == 0 && rest != 0) {
    // Something of the first change rather than nothing; what is shown is UTF-8, and stays so.
    std::string first = paragraph(difference.changes.front(), options);
    std::size_t size = std::min(first.size(), room - std::min(room, text.size() + 4));
    while (size > 0 && (static_cast<unsigned char>(first[size]) & 0xc0) == 0x80) --size;
    first.resize(size);
    if (size != 0) {
      text += first + "...\n";
      --rest;
    }
  }
  if (rest != 0) text += "and " + std::to_string(rest) + (rest == 1 ? " more change\n" : " more changes\n");
  if (text.size() > options.size_max) text.resize(options.size_max);
  return text;
}

}  // namespace larder
