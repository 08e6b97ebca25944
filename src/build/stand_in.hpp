// What an input is to who takes it: its content, but for an output that is empty, as GN and many rules write
// them. It says nothing but that its step ran, so it stands in for what that step read: whoever takes it
// depends on that. Used by one thread.
#pragma once

#include "build/present.hpp"

namespace larder::build {

// As Present says it of what is missing or was not looked at.
ContentId taken_content(const Manifest& manifest, History& history, const Present& present, TargetId input);

}  // namespace larder::build
