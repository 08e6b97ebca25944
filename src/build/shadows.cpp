#include "build/shadows.hpp"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>

#include "build/paths.hpp"

namespace larder::build {

// As they are now: listed again unless its fingerprint proves that nothing came or went.
const std::unordered_set<std::string>& Shadows::names_in(const std::string& directory) {
  const char* const path = directory.empty() ? "." : directory.c_str();
  Directory& known = directories_[directory];
  const std::int64_t now_ns = file_clock_ns();
  const Seen seen = look_at(path);
  if (known.is_settled && seen.print == known.print) return known.names;
  known.print = seen.print;
  known.is_settled = is_settled(seen.print, now_ns);
  known.names.clear();
  DIR* const open = ::opendir(path);
  if (open == nullptr) return known.names;
  while (const dirent* entry = ::readdir(open)) known.names.emplace(entry->d_name);
  ::closedir(open);
  return known.names;
}

std::vector<std::string> Shadows::look(const std::vector<std::string>& found,
                                       const std::vector<std::string>& includes, std::int64_t began_ns,
                                       bool& is_late) {
  std::vector<std::string> places = includes;
  for (std::string& place : places)
    if (place == ".") place.clear();
  for (const std::string& path : found)
    if (!path.starts_with(kPackagesPlace)) places.emplace_back(parent_of(path));
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());

  std::vector<const std::unordered_set<std::string>*> names;
  names.reserve(places.size());
  for (const std::string& place : places) names.push_back(&names_in(place));
  const std::unordered_set<std::string_view> known(found.begin(), found.end());
  std::vector<std::string> shadows;
  std::unordered_set<std::string_view> seen;
  for (const std::string& path : found) {
    for (std::size_t slash = path.size(); slash != path.npos && slash != 0;) {
      slash = path.rfind('/', slash - 1);
      const std::string_view name = std::string_view(path).substr(slash == path.npos ? 0 : slash + 1);
      if (name.starts_with("../")) break;
      if (!seen.insert(name).second) continue;
      const std::string front(name.substr(0, name.find('/')));
      for (std::size_t i = 0; i < places.size(); ++i) {
        // Precompiled forms of a header come before it.
        for (const char* const form : {"", ".gch", ".pch"}) {
          const bool is_deep = front.size() != name.size();
          if (!names[i]->contains(is_deep ? front : front + form)) continue;
          std::string candidate = places[i] + (places[i].empty() ? "" : "/") + std::string(name) + form;
          make_canonical(candidate);
          if (known.contains(candidate)) continue;
          const Seen there = look_at(candidate.c_str());
          if (there.kind != Kind::file && (*form == '\0' || there.kind != Kind::directory)) continue;
          if (!is_settled(there.print, began_ns)) is_late = true;
          // Directories that were moved there with what is in them.
          for (std::string_view above = parent_of(candidate); above.size() > places[i].size();
               above = parent_of(above))
            if (!is_settled(look_at(std::string(above).c_str()).print, began_ns)) is_late = true;
          shadows.push_back(std::move(candidate));
        }
      }
    }
  }
  std::sort(shadows.begin(), shadows.end());
  shadows.erase(std::unique(shadows.begin(), shadows.end()), shadows.end());
  return shadows;
}

}  // namespace larder::build
