// The half of Restorer that keeps what commands made.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <deque>

#include "build/archive.hpp"
#include "build/crossing.hpp"
#include "build/restorer.hpp"

namespace larder::build {
namespace {

constexpr std::uint64_t kBytesMax = std::uint64_t{1} << 30;

// Which output, or what else, holds the root's path or could; empty: none.
std::string named(const std::string& what, std::string_view bytes, const Root& root, bool is_file) {
  if (root.is_in(bytes)) return what + " holds the path of its root";
  // The way from it to what it names.
  if (is_file && bytes.starts_with(kThinArchive) && bytes.find("../") != bytes.npos)
    return what + " names members elsewhere";
  if (is_file && can_hide_text(bytes))
    return what + " is of a form that could hold the path of its root unseen";
  return {};
}

bool read_made(const std::string& path, format::MadeFile& made, std::deque<std::string>& texts) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return false;
  std::string& bytes = texts.emplace_back();
  if (S_ISLNK(status.st_mode)) {
    std::array<char, 4096> text{};
    const ssize_t size = ::readlink(path.c_str(), text.data(), text.size());
    if (size <= 0 || static_cast<std::size_t>(size) == text.size()) return false;
    bytes.assign(text.data(), static_cast<std::size_t>(size));
    made.form = format::MadeForm::link;
    made.mode = 0777;
  } else {
    unsigned mode = 0;
    if (static_cast<std::uint64_t>(status.st_size) > kBytesMax || !read_bytes(path, bytes, mode))
      return false;
    if ((mode & ~0777u) != 0) return false;  // set-user-ID and the like are not ours to give
    made.mode = static_cast<std::uint16_t>(mode);
  }
  made.bytes = as_bytes(bytes);
  return true;
}

}  // namespace

bool Restorer::is_still(TargetId target) const {
  if (!present_.is_untouched(target)) return false;
  const ContentId content = present_[target];
  const History::Known* const known = history_.known(target);
  if (known != nullptr && known->content == content && known->print == present_.print(target)) return true;
  // It was so fresh that a later write may not show.
  const std::string file = path(target);
  return content != kMissing &&
         digest(file.c_str(), manifest_.producer(target) != kNone).digest == history_[content].digest;
}

std::string Restorer::root_in(const Asked& asked, const format::StepProduct& product) const {
  const Root& root = products_.root();
  std::string why = named("what its command said", product.said, root, false);
  const auto outputs = manifest_.outputs(asked.step);
  for (std::size_t i = 0; i < product.made.size() && why.empty(); ++i) {
    const format::MadeFile& made = product.made[i];
    why = named(i < outputs.size() ? path(outputs[i]) : asked.depfile, as_text(made.bytes), root,
                made.form != format::MadeForm::link);
  }
  return why;
}

std::string Restorer::why_stays(const Asked& asked, const Outcome& outcome, const std::vector<Mark>& marks) {
  const Root& root = products_.root();
  if (asked.is_traced && !outcome.program.empty())
    return "it is not known what " + std::string(outcome.program) + " makes of paths";
  std::string response = asked.response;
  make_canonical(response);
  const std::string more = response.empty() ? std::string() : manifest_.value(asked.step, "rspfile_content");
  Crossing crossing = crossing_of(asked.command, response, more, root, !asked.is_traced);
  if (!crossing.why_not.empty() || !crossing.compiles) return crossing.why_not;

  // Compilers find headers by what variables say, and tell by what paths they found them.
  for (const char* const name : {"CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "OBJC_INCLUDE_PATH",
                                 "COMPILER_PATH", "GCC_EXEC_PREFIX", "CCC_OVERRIDE_OPTIONS"})
    if (const char* const value = std::getenv(name)) crossing.root_names |= root.named_in(value);
  for (const TargetId target : outcome.discovered) crossing.root_names |= root.named_in(path(target));
  if ((crossing.root_names & ~crossing.mapped_names) == 0) return {};
  const auto why = [](const std::string& what, std::string_view word) {
    return what + " uses " + std::string(word) +
           " and its command names the root, which -ffile-prefix-map=ROOT=. would leave out";
  };
  if (const std::string_view word = place_word_in(asked.command); !word.empty())
    return why("its command", word);
  FileProofs& proofs = asked.is_traced ? traced_proofs_ : proofs_;
  std::vector<TargetId> files = asked.files;
  files.insert(files.end(), outcome.discovered.begin(), outcome.discovered.end());
  for (const Mark& mark : marks)
    if (mark.manner == Manner::read) files.push_back(manifest_.target(mark.path));
  present_.look(files);
  for (const TargetId target : files) {
    const std::string file = path(target);
    if (file.starts_with(kPackagesPlace) || look_at(file.c_str()).kind != Kind::file) continue;
    const auto word = proofs.place_word(file, present_[target]);
    if (!word) return file + " cannot be read, or is being written";
    if (!word->empty()) return why(file, *word);
  }
  return {};
}

void Restorer::keep_closure(Cache& cache, const Asked& asked, const std::vector<TargetId>& discovered) {
  std::deque<std::string> names;
  format::FileClosures kept;
  format::FileClosure mine;
  for (const TargetId target : discovered) {
    const ContentId content = present_[target];
    format::KnownFile file;
    file.path = names.emplace_back(products_.root().portable_path(path(target)));
    if (file.path.size() > format::kClosurePathMax) return;
    file.quick = history_[content].digest;
    file.digest = proofs_.look(path(target), content).digest;
    const History::Known* const known = history_.known(target);
    if (known != nullptr && known->content == content && known->print == present_.print(target))
      file.stamp = to_stamp(present_.whole_print(target));
    mine.uses.push_back({static_cast<std::uint32_t>(kept.files.size()), true});
    kept.files.push_back(file);
  }
  kept.closures.push_back(std::move(mine));
  keep_closures(cache, asked, std::move(kept));
}

// The newest in front, one for each set of paths.
void Restorer::keep_closures(Cache& cache, const Asked& asked, format::FileClosures kept) {
  std::unordered_map<std::string_view, std::uint32_t> numbers;
  for (std::uint32_t i = 0; i < kept.files.size(); ++i) numbers.try_emplace(kept.files[i].path, i);
  const auto number = [&](const format::KnownFile& file) {
    const auto [place, is_new] =
        numbers.try_emplace(file.path, static_cast<std::uint32_t>(kept.files.size()));
    if (is_new) kept.files.push_back(file);
    return place->second;
  };
  const auto set_of = [](const format::FileClosures& all, const format::FileClosure& closure) {
    std::vector<std::string_view> paths;
    for (const format::FileUse& use : closure.uses) paths.push_back(all.files[use.file].path);
    std::sort(paths.begin(), paths.end());
    return paths;
  };
  const auto mine_set = set_of(kept, kept.closures[0]);
  const auto before = format::decode_file_closures(asked.closures.view());
  for (const format::FileClosure& closure : before ? before->closures : std::vector<format::FileClosure>()) {
    if (kept.closures.size() == format::kClosuresMax || set_of(*before, closure) == mine_set) continue;
    if (kept.files.size() + closure.uses.size() > format::kFilesMax) continue;
    format::FileClosure again;
    for (const format::FileUse& use : closure.uses)
      again.uses.push_back({number(before->files[use.file]), use.is_read});
    kept.closures.push_back(std::move(again));
  }
  if (kept.files.size() > format::kFilesMax) return;
  (void)cache.put(closures_recipe(asked), Bytes(format::encode_file_closures(kept)),
                  {.log = {}, .texts = {}, .replace = true});
}

std::string Restorer::keep(const Asked& asked, const Outcome& outcome) {
  if (!asked.why_not.empty()) return asked.why_not;
  Cache* const cache = products_.open();
  if (cache == nullptr) return "the store cannot be used: " + products_.trouble();
  if (!asked.is_traced && !outcome.has_depfile) return "its command wrote no depfile";
  for (const TargetId target : outcome.discovered)
    if (present_[target] == kMissing) return path(target) + ", which its depfile names, is missing";
  for (const auto* const files : {&asked.files, &outcome.discovered})
    for (const TargetId target : *files)
      if (!is_still(target)) return path(target) + " changed while its command ran";  // R1
  std::string why;
  const std::vector<Mark> marks = asked.is_traced ? marks_of(outcome) : std::vector<Mark>();
  const auto recipe = asked.is_traced ? traced_recipe(asked, marks, outcome.began_ns, why)
                                      : whole_recipe(asked, outcome.discovered, outcome.began_ns, why);
  if (!recipe) return why;

  const auto outputs = manifest_.outputs(asked.step);
  std::deque<std::string> texts;
  format::StepProduct product;
  product.duration_ms = outcome.duration_ms;
  product.said = outcome.said;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    format::MadeFile made;
    made.quick = history_[outcome.outputs[i]].digest;
    const std::string output = path(outputs[i]);
    if (!read_made(output, made, texts)) return output + " is no file that could be restored";
    if (made.form == format::MadeForm::file &&
        digest_of_bytes(made.bytes, (made.mode & 0111) != 0) != made.quick)
      return output + " is being written";  // R1
    product.made.push_back(made);
  }
  if (asked.keeps_depfile) {
    format::MadeFile made;
    if (!read_made(asked.depfile, made, texts) || made.form != format::MadeForm::file)
      return asked.depfile + " is no file that could be restored";
    made.form = format::MadeForm::depfile;
    product.made.push_back(made);
  }
  const Origin origin{
      .cost = std::chrono::milliseconds(outcome.duration_ms), .log = {}, .texts = {}, .replace = true};
  std::string bound = root_in(asked, product);
  if (bound.empty()) bound = why_stays(asked, outcome, marks);
  bool is_kept = false;
  if (bound.empty()) {
    is_kept = cache->put(*recipe, Bytes(format::encode_step_product(product)), origin);
  } else {
    Recipe here = *recipe;
    here.add("root", products_.root().identity());
    is_kept =
        cache->put(here, Bytes(format::encode_step_product(product)), origin) &&
        cache->put(*recipe,
                   Bytes(format::encode_step_product({.is_elsewhere = true, .said = bound, .made = {}})),
                   {.log = {}, .texts = {}, .replace = true});
  }
  if (!is_kept) return "the store did not take it; `larder doctor` says more";
  if (asked.is_traced)
    keep_marks(*cache, asked, marks);
  else
    keep_closure(*cache, asked, outcome.discovered);
  return {};
}

}  // namespace larder::build
