#include "program/opengl/known_shaders.hpp"

#include <cstring>
#include <vector>

#include "base/number.hpp"
#include "program/product_bytes.hpp"
#include "recipe/canonical.hpp"

namespace larder::opengl {
namespace {

Recipe index_recipe(const DeviceIdentity& identity) {
  Recipe recipe("opengl-shaders");
  for (const auto& [name, value] : identity.facts) recipe.add(name, value);
  return recipe;
}

}  // namespace

KnownShaders::Digest KnownShaders::digest_of(const ShaderInput& shader) {
  return canonical::digest_of(as_bytes(shader_recipe({}, shader).canonical()));
}

std::set<KnownShaders::Digest> KnownShaders::read(const Recipe& index) {
  std::set<Digest> digests;
  const auto kept = cache_.get(index);
  if (!kept || kept->bytes.size() % sizeof(Digest) != 0) return digests;
  const std::string_view bytes = kept->bytes.text();
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(Digest)) {
    Digest digest;
    std::memcpy(digest.data(), bytes.data() + at, sizeof digest);
    digests.insert(digest);
  }
  return digests;
}

bool KnownShaders::is_known(const DeviceIdentity& identity, const Digest& digest) {
  Recipe index = index_recipe(identity);
  const Key key = index.key();
  {
    const MutexLock lock(mutex_);
    const auto found = quiet_.find(key);
    if (found != quiet_.end()) return found->second.known.contains(digest);
  }
  std::set<Digest> known = read(index);
  const MutexLock lock(mutex_);
  Quiet& quiet = quiet_.try_emplace(key, std::move(index)).first->second;
  quiet.known.merge(known);
  return quiet.known.contains(digest);
}

std::optional<InfoLog> KnownShaders::find(const DeviceIdentity& identity, const ShaderInput& shader) {
  if (is_known(identity, digest_of(shader))) return InfoLog{};
  const auto kept = cache_.get(shader_recipe(identity, shader));
  auto product = kept ? detail::decode_product(kept->bytes) : std::nullopt;
  if (!product || product->artefacts.size() != 1 || product->artefacts[0].name != kLogLength)
    return std::nullopt;
  InfoLog log;
  const auto length = to_number<decltype(log.length)>(product->artefacts[0].bytes.text());
  if (!length) return std::nullopt;
  log.length = *length;
  log.text = std::move(product->log);
  return log;
}

void KnownShaders::add(const DeviceIdentity& identity, const ShaderInput& shader, const InfoLog& log,
                       Nanoseconds cost) {
  if (log != InfoLog{}) {
    const detail::ProgramProduct product{
        false, 0, log.text, {{std::string(kLogLength), Bytes(std::to_string(log.length))}}};
    const Text texts[] = {{"text", shader.source->text}};
    cache_.put(shader_recipe(identity, shader), detail::encode_product(product),
               {.cost = cost, .log = {}, .texts = texts});
    return;
  }
  const Digest digest = digest_of(shader);
  if (is_known(identity, digest)) return;
  const MutexLock lock(mutex_);
  const auto quiet = quiet_.find(index_recipe(identity).key());
  if (quiet == quiet_.end()) return;
  quiet->second.known.insert(digest);
  quiet->second.fresh.insert(digest);
}

void KnownShaders::keep() {
  std::vector<std::pair<Recipe, std::set<Digest>>> all;
  {
    const MutexLock lock(mutex_);
    for (auto& [key, quiet] : quiet_) {
      if (!quiet.fresh.empty()) all.emplace_back(quiet.recipe, std::exchange(quiet.fresh, {}));
    }
  }
  for (auto& [recipe, fresh] : all) {
    std::set<Digest> known = read(recipe);
    if (known.size() + fresh.size() <= kMax) fresh.merge(known);
    std::string bytes;
    for (const Digest& digest : fresh)
      bytes.append(reinterpret_cast<const char*>(digest.data()), digest.size());
    cache_.put(recipe, Bytes(std::move(bytes)), {.cost = {}, .log = {}, .texts = {}, .replace = true});
  }
}

}  // namespace larder::opengl
