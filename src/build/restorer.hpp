// Restores what commands made from a Cache, and keeps it there. Used by one thread.
//
// Two recipes lead to a product. The first holds what is known before the command runs: its text, the
// environment, the compiler, the declared inputs with their contents; its product is the closures, the sets
// of files that the command was found to read besides. The second adds the files of one closure as they are
// now, and those that could have stood in their place. The project's root stands in both as a placeholder;
// where what was made holds the root, or could depend on it otherwise (build/crossing.hpp), the product lies
// under a third recipe that names the root, and the second one leads to a note that says so.
//
// Of a command that is not known by itself but was traced, a closure is its footprint (build/footprint.hpp),
// and the second recipe holds all that this names; both recipes are of kinds of their own.
//
// R1  A product is kept only of a run that the log keeps, from contents that the log's record holds.
// R2  Whatever is restored is held against the digests of what the command made before it counts.
// R3  What goes wrong here is a command that runs.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "build/file_proofs.hpp"
#include "build/footprint.hpp"
#include "build/known_command.hpp"
#include "build/plan.hpp"
#include "build/product_cache.hpp"
#include "build/shadows.hpp"
#include "format/step_product.hpp"
#include "larder/recipe.hpp"

namespace larder::build {

class Restorer {
 public:
  Restorer(Manifest& manifest, History& history, Present& present, Plan& plan, const Ingredients& ingredients,
           const StopSignals& signals, ProductCache& products)
      : manifest_(manifest),
        history_(history),
        present_(present),
        plan_(plan),
        ingredients_(ingredients),
        products_(products),
        proofs_(history, FileProofs::Reader::known),
        traced_proofs_(history, FileProofs::Reader::traced),
        commands_(signals) {}

  // A step as it is before its command runs.
  struct Asked {
    StepId step = kNone;
    std::string command;
    std::string depfile;            // empty: it has none
    std::string response;           // the path of its response file
    std::vector<TargetId> targets;  // declared inputs, then programs
    std::vector<ContentId> inputs;  // what was in them
    unsigned declared = 0;          // how many the manifest declares
    bool keeps_depfile = false;     // it stays where it is, as outputs do
    bool can_trace = false;         // its command is traced if it runs
    // From here on by ask().
    bool is_traced = false;  // only its trace tells what it reads
    std::string why_not;     // why its product can be neither found nor kept; empty: it can
    std::vector<std::pair<std::string, std::string>> ingredients;  // of the first recipe
    std::vector<TargetId> files;                                   // whose contents are in them
    std::vector<std::string> includes;                             // directories of headers
    Bytes closures;                                                // those that are kept
  };
  void ask(Asked& asked);

  struct Restored {
    std::vector<ContentId> discovered;
    std::vector<ContentId> outputs;
    std::uint32_t duration_ms = 0;
    std::string said;
  };
  // True: the outputs are there now, as the command would have made them. Else `why` says what was in the
  // way; some outputs may be there. Directories for them must be.
  bool restore(Asked& asked, Restored& restored, std::string& why);

  // What a run of it came to, as the log records it.
  struct Outcome {
    const std::vector<TargetId>& discovered;
    const std::vector<ContentId>& outputs;
    std::string_view said;
    std::uint32_t duration_ms = 0;
    std::int64_t began_ns = 0;            // by the clock of files
    bool has_depfile = false;             // it wrote one
    const std::vector<TargetId>& ghosts;  // what it looked for and is not there
    const std::vector<TargetId>& looked;  // what it only looked at
    const std::vector<Mark>& marks;       // of a traced one: what it depends on besides
    std::string_view
        program;  // of those that it ran: one that keeps its product below this root; empty: none
  };
  // Keeps what the command made. Nothing when it is kept, else why not.
  std::string keep(const Asked& asked, const Outcome& outcome);

 private:
  bool add_input(Asked& asked, TargetId target, unsigned depth);
  void add_named(Asked& asked, const std::vector<std::string>& named);
  void add_environment(Asked& asked);
  bool add_file(Asked& asked, std::string_view name, TargetId target);
  // The first recipe, under which the second ones' files are found.
  static Recipe closures_recipe(const Asked& asked);
  // The second recipe. None when a file is not there or cannot be read; `why` says so.
  std::optional<Recipe> whole_recipe(const Asked& asked, const std::vector<TargetId>& discovered,
                                     std::int64_t began_ns, std::string& why);
  // The same of a traced command. Each mark's file must be made. restore_traced.cpp has the rest, too.
  std::optional<Recipe> traced_recipe(const Asked& asked, const std::vector<Mark>& marks,
                                      std::int64_t began_ns, std::string& why);
  // What stands for the content of what is to be read or listed; empty: `why` says why nothing does.
  std::string content_of(const Mark& mark, std::int64_t began_ns, std::string& why);
  std::vector<Mark> marks_of(const Outcome& outcome) const;
  // None: not all can be looked at by now.
  std::optional<std::vector<Mark>> marks_in(const format::FileClosures& closures,
                                            const format::FileClosure& closure);
  bool restore_traced(Cache& cache, const Asked& asked, Restored& restored, std::string& why);
  void keep_marks(Cache& cache, const Asked& asked, const std::vector<Mark>& marks);
  // What is kept under a recipe, or for this root.
  struct Found {
    Product kept;
    format::StepProduct product;
  };
  std::optional<Found> find_product(Cache& cache, const Recipe& recipe, std::string& why);
  // Keeps `kept`, which holds one closure, with those that were known of `asked` before.
  static void keep_closures(Cache& cache, const Asked& asked, format::FileClosures kept);
  bool lay_out(const Asked& asked, const format::StepProduct& product, Restored& restored, std::string& why);
  // Whether the file still is what it was when it was looked at.
  bool is_still(TargetId target) const;
  std::string root_in(const Asked& asked, const format::StepProduct& product) const;
  // Why what a command made could depend on the root without holding its path; empty: it cannot.
  std::string why_stays(const Asked& asked, const Outcome& outcome, const std::vector<Mark>& marks);
  void keep_closure(Cache& cache, const Asked& asked, const std::vector<TargetId>& discovered);
  std::string path(TargetId target) const { return std::string(manifest_.path(target)); }

  Manifest& manifest_;
  History& history_;
  Present& present_;
  Plan& plan_;
  const Ingredients& ingredients_;
  ProductCache& products_;
  FileProofs proofs_;
  FileProofs traced_proofs_;
  KnownCommands commands_;
  Shadows shadows_;
};

}  // namespace larder::build
