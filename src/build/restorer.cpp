#include "build/restorer.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>

#include "base/hex.hpp"
#include "build/log.hpp"
#include "build/write_file.hpp"

namespace larder::build {
namespace {

// What was kept by other rules of what may be kept, and cross roots, is not found.
constexpr std::string_view kRules = "2";
constexpr std::string_view kProduct = "build-step";
constexpr std::string_view kClosures = "build-step-files";
constexpr std::string_view kNothingKept = "nothing is kept of it with these inputs";

constexpr std::string_view kTracedClosures = "build-step-traced-files";

Recipe recipe_of(std::string_view kind, const Restorer::Asked& asked) {
  Recipe recipe(kind);
  recipe.add("rules", kRules);
  for (const auto& [name, value] : asked.ingredients) recipe.add(name, value);
  return recipe;
}

// Nobody else writes below the log's directory while this build holds its lock.
bool put_there(const std::string& place, const std::string& path, const format::MadeFile& made) {
  (void)::unlink(place.c_str());
  const std::string bytes(as_text(made.bytes));
  const bool is_written = made.form == format::MadeForm::link
                              ? ::symlink(bytes.c_str(), place.c_str()) == 0
                              : write_file(place, bytes) && ::chmod(place.c_str(), made.mode) == 0;
  if (is_written && ::rename(place.c_str(), path.c_str()) == 0) return true;
  const int error = errno;
  (void)::unlink(place.c_str());
  errno = error;
  return false;
}

}  // namespace

Recipe Restorer::closures_recipe(const Asked& asked) {
  return recipe_of(asked.is_traced ? kTracedClosures : kClosures, asked);
}

bool Restorer::add_file(Asked& asked, std::string_view name, TargetId target) {
  present_.look(std::span(&target, 1));
  const ContentId content = present_[target];
  const std::string file = path(target);
  asked.files.push_back(target);
  if (content == kMissing) {
    asked.why_not = file + " is missing";
    return false;
  }
  std::string ingredient = std::string(name) + ' ' + products_.root().portable_path(file);
  if (look_at(file.c_str()).kind == Kind::directory) {
    asked.ingredients.emplace_back("folder " + std::move(ingredient), hex(history_[content].digest));
    return true;
  }
  const FileProof& proof = (asked.is_traced ? traced_proofs_ : proofs_).look(file, content);
  if (asked.is_traced) ingredient += mode_of(file);
  if (!proof.is_known) {
    asked.why_not = file + " cannot be read, or is being written";
  } else if (!proof.why_not.empty()) {
    asked.why_not = file + ' ' + std::string(proof.why_not);
  } else {
    asked.ingredients.emplace_back(std::move(ingredient), to_hex(std::as_bytes(std::span(proof.digest))));
    return true;
  }
  return false;
}

// An alias stands for what it is made of.
bool Restorer::add_input(Asked& asked, TargetId target, unsigned depth) {
  const StepId producer = manifest_.producer(target);
  if (producer == kNone || !manifest_.is_phony(producer) || manifest_.all_inputs(producer).empty())
    return add_file(asked, "input", target);
  if (depth == kAliasDepthMax) {
    asked.why_not = path(target) + " is an alias of aliases, too deep to follow";
    return false;
  }
  asked.ingredients.emplace_back("alias", products_.root().portable_path(path(target)));
  const auto inputs = manifest_.inputs(producer);
  return std::all_of(inputs.begin(), inputs.end(),
                     [&](TargetId input) { return add_input(asked, input, depth + 1); });
}

void Restorer::add_environment(Asked& asked) {
  const Root& root = products_.root();
  asked.ingredients.emplace_back("directory", root.portable_path(working_directory()));
  std::vector<std::string> names = ingredients_.names(asked.command);
  for (const char* const name : {"CCC_OVERRIDE_OPTIONS", "GCC_COLORS", "GCC_COMPARE_DEBUG"})
    names.emplace_back(name);
  if (asked.is_traced) append_environment(names);
  for (const std::string& name : names) {
    const char* const value = std::getenv(name.c_str());
    if (value == nullptr) {
      asked.ingredients.emplace_back("unset", name);
    } else {
      asked.ingredients.emplace_back("env " + name, root.portable(value));
    }
  }
  const mode_t mask = ::umask(0);
  ::umask(mask);
  std::array<char, 8> text{};
  (void)std::snprintf(text.data(), text.size(), "%03o", static_cast<unsigned>(mask));
  asked.ingredients.emplace_back("umask", text.data());
}

// Files that the command line names besides what the manifest declares: a forced include, say.
void Restorer::add_named(Asked& asked, const std::vector<std::string>& named) {
  const auto outputs = manifest_.outputs(asked.step);
  for (std::string word : named) {
    make_canonical(word);
    if (word.empty() || look_at(word.c_str()).kind != Kind::file) continue;
    const TargetId target = manifest_.target(word);
    if (std::find(asked.targets.begin(), asked.targets.end(), target) != asked.targets.end()) continue;
    if (std::find(outputs.begin(), outputs.end(), target) != outputs.end()) continue;
    if (!add_file(asked, "named", target)) return;
  }
}

void Restorer::ask(Asked& asked) {
  const StepShape& facts = manifest_.step(asked.step);
  const auto outputs = manifest_.outputs(asked.step);
  if (manifest_.is_set(asked.step, "generator")) {
    asked.why_not = "its rule is a generator's";
  } else if (facts.pool == kConsolePool) {
    asked.why_not = "it uses the console";
  } else if (facts.dyndep != kNone) {
    asked.why_not = "a dyndep file names what it makes";
  }
  if (!asked.why_not.empty()) return;
  const Root& root = products_.root();
  const std::string output = path(outputs[0]);
  std::string depfile = asked.depfile;
  std::string response = asked.response;
  make_canonical(depfile);
  make_canonical(response);
  KnownCommand known;
  if (asked.depfile.empty() || manifest_.value(asked.step, "deps") == "msvc") {
    known.why_not = "what it reads is not known: it writes no depfile";
  } else if (outputs.size() != 1) {
    known.why_not = "it makes more than one output";
  } else {
    known = commands_.look(asked.command, output, depfile, response);
  }
  if (!known.why_not.empty()) {
    if (!asked.can_trace) {
      asked.why_not = std::move(known.why_not);
      return;
    }
    known = {};
    asked.is_traced = true;
  }
  Cache* const cache = products_.open();
  if (cache == nullptr) {
    asked.why_not = "the store cannot be used: " + products_.trouble();
    return;
  }
  asked.includes = std::move(known.includes);
  asked.ingredients.emplace_back("command", root.portable(asked.command));
  for (const TargetId made : outputs)
    asked.ingredients.emplace_back("output", root.portable_path(path(made)));
  if (!response.empty())
    asked.ingredients.emplace_back("response " + root.portable_path(response),
                                   root.portable(manifest_.value(asked.step, "rspfile_content")));
  asked.ingredients.emplace_back(asked.keeps_depfile ? "kept depfile" : "depfile",
                                 root.portable_path(depfile));
  add_environment(asked);
  std::vector<TargetId> tools;
  for (const std::string& tool : known.tools) tools.push_back(manifest_.target(tool));
  tools.insert(tools.end(), asked.targets.begin() + asked.declared, asked.targets.end());
  std::sort(tools.begin(), tools.end(), [&](TargetId a, TargetId b) { return path(a) < path(b); });
  tools.erase(std::unique(tools.begin(), tools.end()), tools.end());
  present_.look(tools);
  asked.files.insert(asked.files.end(), tools.begin(), tools.end());
  for (const TargetId tool : tools) {
    if (present_[tool] == kMissing) {
      asked.why_not = path(tool) + " is missing";
      return;
    }
    // They are large and seldom change: the log knows their digests without reading them.
    asked.ingredients.emplace_back("tool " + root.portable_path(path(tool)),
                                   hex(history_[present_[tool]].digest));
  }
  for (unsigned i = 0; i < asked.declared; ++i)
    if (!add_input(asked, asked.targets[i], 0)) return;
  add_named(asked, known.named);
  if (!asked.why_not.empty()) return;
  if (auto kept = cache->get(closures_recipe(asked))) asked.closures = std::move(kept->bytes);
}

std::optional<Recipe> Restorer::whole_recipe(const Asked& asked, const std::vector<TargetId>& discovered,
                                             std::int64_t began_ns, std::string& why) {
  const Root& root = products_.root();
  Recipe recipe = recipe_of(kProduct, asked);
  std::vector<std::pair<std::string, TargetId>> files;
  std::vector<std::string> found;
  for (const TargetId target : discovered) files.emplace_back(root.portable_path(path(target)), target);
  std::sort(files.begin(), files.end());
  for (const auto& [name, target] : files) {
    const FileProof& proof = proofs_.look(path(target), present_[target]);
    if (!proof.is_known) why = path(target) + " cannot be read, or is being written";
    if (!proof.why_not.empty()) why = path(target) + ' ' + std::string(proof.why_not);
    if (!why.empty()) return std::nullopt;
    recipe.add("file " + name, to_hex(std::as_bytes(std::span(proof.digest))));
    found.push_back(path(target));
  }
  for (unsigned i = 0; i < asked.declared; ++i) found.push_back(path(asked.targets[i]));
  bool is_late = false;
  std::string shadows;
  for (const std::string& shadow : shadows_.look(found, asked.includes, began_ns, is_late))
    shadows.append(root.portable_path(shadow)) += '\0';
  if (is_late) {
    why = "a file came while it was compiled that it might have read";
    return std::nullopt;
  }
  recipe.add("shadows", shadows);
  return recipe;
}

bool Restorer::lay_out(const Asked& asked, const format::StepProduct& product, Restored& restored,
                       std::string& why) {
  const auto outputs = manifest_.outputs(asked.step);
  if (product.made.size() != outputs.size() + (asked.keeps_depfile ? 1 : 0)) {
    why = "what is kept of it has other outputs";
    return false;
  }
  const std::string place = log_directory(manifest_) + "/restored";
  for (std::size_t i = 0; i < product.made.size(); ++i) {
    const std::string name = i < outputs.size() ? path(outputs[i]) : asked.depfile;
    if ((product.made[i].form == format::MadeForm::depfile) != (i >= outputs.size())) {
      why = "what is kept of it has other outputs";
      return false;
    }
    if (put_there(place, name, product.made[i])) continue;
    why = "write " + name + ": " + std::strerror(errno);
    return false;
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    restored.outputs.push_back(present_.look_again(outputs[i]));
    if (restored.outputs[i] != kMissing && history_[restored.outputs[i]].digest == product.made[i].quick)
      continue;
    why = path(outputs[i]) + " is not as its command had made it";  // R2
    return false;
  }
  restored.duration_ms = product.duration_ms;
  restored.said = product.said;
  return true;
}

std::optional<Restorer::Found> Restorer::find_product(Cache& cache, const Recipe& recipe, std::string& why) {
  auto kept = cache.get(recipe);
  auto product = kept ? format::decode_step_product(kept->bytes.view()) : std::nullopt;
  if (product && product->is_elsewhere) {
    why = "it was made below another root, and " + std::string(product->said);
    Recipe here = recipe;
    here.add("root", products_.root().identity());
    kept = cache.get(here);
    product = kept ? format::decode_step_product(kept->bytes.view()) : std::nullopt;
    if (product && product->is_elsewhere) product.reset();
  }
  if (!product) return std::nullopt;
  return Found{std::move(*kept), std::move(*product)};
}

bool Restorer::restore(Asked& asked, Restored& restored, std::string& why) {
  Cache* const cache = products_.open();
  why = kNothingKept;
  if (cache == nullptr || asked.closures.empty()) return false;
  if (asked.is_traced) return restore_traced(*cache, asked, restored, why);
  const auto closures = format::decode_file_closures(asked.closures.view());
  if (!closures) return false;
  why = "a file that its command read is another now";
  for (const format::FileClosure& closure : closures->closures) {
    std::vector<TargetId> discovered;
    bool is_ready = true;
    for (const format::FileUse& use : closure.uses) {
      const auto file = products_.root().path_of(closures->files[use.file].path);
      const TargetId target = file ? manifest_.target(*file) : kNone;
      const StepId producer = target == kNone ? kNone : manifest_.producer(target);
      if (target == kNone || (producer != kNone && !is_made(plan_.state(producer)))) {
        is_ready = false;
        break;
      }
      discovered.push_back(target);
    }
    if (!is_ready) continue;
    present_.look(discovered);
    for (std::size_t i = 0; i < discovered.size() && is_ready; ++i) {
      const ContentId content = present_[discovered[i]];
      is_ready = content != kMissing;
      if (is_ready)
        proofs_.learn(content, present_.whole_print(discovered[i]), closures->files[closure.uses[i].file]);
    }
    if (!is_ready) continue;
    std::string trouble;
    const auto recipe = whole_recipe(asked, discovered, INT64_MAX, trouble);
    if (!recipe) continue;
    const auto found = find_product(*cache, *recipe, why);
    if (!found) continue;
    restored = {};
    if (!lay_out(asked, found->product, restored, why)) return false;
    std::sort(discovered.begin(), discovered.end());
    for (const TargetId target : discovered) restored.discovered.push_back(present_[target]);
    return true;
  }
  return false;
}

}  // namespace larder::build
