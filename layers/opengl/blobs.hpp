// What EGL drivers compile, where they offer no program binaries but let a program keep their blobs
// (EGL_ANDROID_blob_cache). A blob is known by its driver's build and the driver's own key, and its freshness
// is the driver's own business. A program that keeps blobs itself goes on doing so, and larder then keeps
// none. Any thread.
#pragma once

#include "larder/program_input.hpp"
#include "layers/opengl/functions.hpp"

namespace larder::gl {

// Keeps the blobs of the current display, for the driver that `identity` names. False: its EGL keeps none, or
// its program does.
bool keep_blobs(const DeviceIdentity& identity) noexcept;

// The host's own, in the place of eglSetBlobCacheFuncsANDROID.
void set_blob_functions(void* display, SetBlob set, GetBlob get) noexcept;

}  // namespace larder::gl
