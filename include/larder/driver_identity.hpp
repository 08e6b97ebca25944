// Which build of a driver or compiler this process has loaded: what no version string tells for sure. Any
// thread; O(libraries loaded).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "larder/export.h"

namespace larder {

// A line `NAME BUILD-ID` for the library in which `address` (a function of the driver) lies, for each library
// that it depends on, and for each loaded one whose path holds one of `also`; sorted. A library without a
// build id stands there with the BLAKE2b-256 of its file. Empty when any of this cannot be known.
LARDER_API std::string library_identity(const void* address, std::span<const std::string_view> also = {});

// What this processor can do, as its kernel tells it, for drivers that compile for it. Empty when unknown.
LARDER_API std::string processor_identity();

// `NAME=VALUE` lines of the environment variables that begin with one of `prefixes` and are none of `except`;
// sorted.
LARDER_API std::string environment_identity(std::span<const std::string_view> prefixes,
                                            std::span<const std::string_view> except = {});

}  // namespace larder
