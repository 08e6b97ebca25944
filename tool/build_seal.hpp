// The seal of a build directory, as `larder build` and a watch look for it and leave it. Without a builddir
// only: whoever looks for the seal has not read the manifest.
#pragma once

#include <map>
#include <set>
#include <string>

#include "build/build.hpp"
#include "tool/build_session.hpp"
#include "tool/command.hpp"

namespace larder::tool {

// Groups of a seal that may be others when it is of use all the same.
inline constexpr std::size_t kSealGroupsMax = 64;

// Of the log of the manifest `file`, as it is now.
build::Fingerprint look_at_log(const std::string& file);
// What this call is asked for.
build::Asked asked_of(const Call& call, const build::Fingerprint& log);
// Whether the files of the manifest are those that the seal is of.
bool is_manifest_as_sealed(const build::SealFound& seal);
// The same of the manifest that was read meanwhile, and of its log.
bool is_still_as_sealed(const BuildSession& session, const build::Asked& asked, const build::SealFound& seal);

// After all was found, or made, to be as it should be, and the log was flushed. The old seal goes in any
// case. `variables` and `programs` are those that commands name. PRECONDITION: the lock is held.
void write_seal(const Call& call, const BuildSession& session, const build::Build& work,
                const std::set<std::string, std::less<>>& variables,
                const std::map<std::string, std::string, std::less<>>& programs);

}  // namespace larder::tool
