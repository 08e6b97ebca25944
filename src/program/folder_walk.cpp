#include "program/folder_walk.hpp"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "program/file_recording.hpp"

namespace larder {

FolderWalk::~FolderWalk() {
  while (depth_ != 0) leave();
}

void FolderWalk::leave() noexcept {
  const Folder& top = folders_[--depth_];
  if (top.fd >= 0) ::close(top.fd);
}

// Null: the whole path is to be asked for.
const FolderWalk::Folder* FolderWalk::enter(std::string_view folder) noexcept {
  while (depth_ != 0) {
    const std::size_t size = folders_[depth_ - 1].size;
    if (folder.starts_with({deepest_, size}) && (folder.size() == size || folder[size] == '/')) break;
    leave();
  }
  const Folder* const top = depth_ == 0 ? nullptr : &folders_[depth_ - 1];
  if (top != nullptr && (top->size == folder.size() || top->error != 0)) return top;
  if (depth_ == kDepthMax) return nullptr;
  const std::size_t known = top == nullptr ? 0 : top->size + 1;
  folder.copy(deepest_, folder.size());
  deepest_[folder.size()] = '\0';
  const int fd =
      ::openat(top == nullptr ? AT_FDCWD : top->fd, deepest_ + known, O_PATH | O_DIRECTORY | O_CLOEXEC);
  const int error = fd < 0 ? errno : 0;
  // No more descriptors, say: that tells nothing of the folder.
  if (error != 0 && !means_absent(error)) return nullptr;
  folders_[depth_] = {folder.size(), fd, error};
  return &folders_[depth_++];
}

FolderWalk::Place FolderWalk::place_of(std::string_view path) noexcept {
  path.copy(path_, path.size());
  path_[path.size()] = '\0';
  const std::size_t slash = path.rfind('/');
  // Names that are not plain mean more than a place in a folder.
  const bool is_plain = path.starts_with('/') && slash != 0 && slash + 1 != path.size() &&
                        path.find("//") == std::string_view::npos;
  const Folder* const folder = is_plain ? enter(path.substr(0, slash)) : nullptr;
  if (folder == nullptr) return {AT_FDCWD, 0, path_};
  return {folder->fd, folder->error, path_ + slash + 1};
}

int FolderWalk::status(std::string_view path, struct stat& status) noexcept {
  const Place place = place_of(path);
  if (place.error != 0) return place.error;
  return ::fstatat(place.fd, place.rest, &status, 0) == 0 ? 0 : errno;
}

int FolderWalk::open(std::string_view path) noexcept {
  const Place place = place_of(path);
  if (place.error != 0) return -place.error;
  const int fd = ::openat(place.fd, place.rest, O_RDONLY | O_CLOEXEC);
  return fd < 0 ? -errno : fd;
}

}  // namespace larder
