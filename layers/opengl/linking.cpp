#include "layers/opengl/linking.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>

#include "layers/opengl/service.hpp"
#include "program/ending.hpp"
#include "program/guest.hpp"

namespace larder::gl {
namespace {

constexpr std::string_view kLayer = "opengl";

void report_bypass(std::string_view why) noexcept {
  guest::report(kLayer, name(Outcome::bypassed), {}, why);
}

int shader_number(const Functions& gl, Name shader, Enum what) {
  int number = 0;
  gl.glGetShaderiv(shader, what, &number);
  return number;
}
int program_number(const Functions& gl, Name program, Enum what) {
  int number = 0;
  gl.glGetProgramiv(program, what, &number);
  return number;
}

using GetLog = void (*)(Name, int, int*, char*);
opengl::InfoLog log_of(Name object, int length, GetLog get) {
  opengl::InfoLog log{length, {}};
  if (length <= 0) return log;
  log.text.resize(static_cast<std::size_t>(length));
  int written = 0;
  get(object, length, &written, log.text.data());
  log.text.resize(static_cast<std::size_t>(std::clamp(written, 0, length)));
  return log;
}

std::vector<Name> attached_to(const Functions& gl, Name program) {
  std::vector<Name> shaders(
      static_cast<std::size_t>(std::max(program_number(gl, program, kAttachedShaders), 0)));
  int count = 0;
  if (!shaders.empty())
    gl.glGetAttachedShaders(program, static_cast<int>(shaders.size()), &count, shaders.data());
  shaders.resize(static_cast<std::size_t>(std::clamp(count, 0, static_cast<int>(shaders.size()))));
  return shaders;
}

// Programs link many at a time: what was missed is written down with the first, and now and then.
void take_notes() noexcept {
  using Clock = std::chrono::steady_clock;
  static constinit std::atomic<Clock::rep> last{0};
  const Clock::rep now = Clock::now().time_since_epoch().count();
  Clock::rep before = last.load(std::memory_order_relaxed);
  constexpr Clock::duration kPause = std::chrono::milliseconds(250);
  if (before != 0 && now - before < kPause.count()) return;
  if (last.compare_exchange_strong(before, now, std::memory_order_relaxed)) guest::take_notes();
}

// One call of glLinkProgram.
class Link {
 public:
  Link(const Functions& gl, Name program) : gl_(gl), program_(program) {}

  // Links, or puts what is kept in the place of a link.
  void run() {
    const auto service = service_of_current(gl_);
    std::string why_not =
        service == nullptr ? "its context was made where larder does not see it" : service->why_not;
    if (why_not.empty()) why_not = look();
    if (!why_not.empty()) {
      report_bypass(why_not);
      link();
      return;
    }
    service_ = service.get();
    const Recipe recipe = opengl::program_recipe(service->identity, inputs_, options_);
    std::vector<std::string> sources;
    std::vector<std::string> names;
    std::vector<Text> texts;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      sources.push_back(opengl::joined(inputs_[i]));
      names.push_back(opengl::text_name(i));
    }
    for (std::size_t i = 0; i < inputs_.size(); ++i) texts.push_back({names[i], sources[i]});
    const opengl::LinkAnswer answer = linked_programs()->get_or_link(
        recipe, texts, [&](const opengl::ProgramBinary& binary) { return take(binary); },
        [&] { return make(sources); });
    if (!answer.was_linked) {
      Objects::with_program(program_, [&](Program& program) {
        program.log = answer.log;
        program.was_linked = true;
      });
    }
    if (answer.outcome == Outcome::made) take_notes();
    guest::report(kLayer, name(answer.outcome), answer.cost, answer.why_not);
  }

  // What the driver does, and no more; once.
  void link() {
    if (is_linked_) return;
    is_linked_ = true;
    compile_deferred_of(gl_, program_);
    Objects::with_program(program_, [](Program& program) { program.log.reset(); });
    gl_.glLinkProgram(program_);
    const bool is_good = program_number(gl_, program_, kLinkStatus) != 0;
    Objects::with_program(program_, [&](Program& program) { program.was_linked |= is_good; });
  }

 private:
  // Everything that decides the program; otherwise why that is not known.
  std::string look() {
    shaders_ = attached_to(gl_, program_);
    std::string why_not = "it was made where larder does not see it";
    Objects::with([&](Group& group) {
      const auto program = group.programs.find(program_);
      if (program == group.programs.end()) return;
      why_not = program->second.why_not;
      if (program->second.was_linked) why_not = "it was linked before, and may be in use";
      options_ = program->second.options;
      for (const Name each : shaders_) {
        const auto shader = group.shaders.find(each);
        const bool is_known = shader != group.shaders.end();
        inputs_.push_back({is_known ? shader->second.kind : 0, is_known ? shader->second.compiled : nullptr});
      }
    });
    return why_not.empty() ? opengl::why_not(inputs_) : why_not;
  }

  bool take(const opengl::ProgramBinary& binary) {
    const auto& formats = service_->formats;
    // A format that the driver does not know would be an error for the host to find.
    if (std::find(formats.begin(), formats.end(), binary.format) == formats.end()) return false;
    const auto put = gl_.glProgramBinary != nullptr ? gl_.glProgramBinary : gl_.glProgramBinaryOES;
    put(program_, binary.format, binary.bytes.data(), static_cast<int>(binary.bytes.size()));
    if (program_number(gl_, program_, kLinkStatus) != 0) return true;
    // Some drivers make a refusal an error, and that is not the host's.
    gl_.glGetError();
    return false;
  }

  std::optional<opengl::ProgramBinary> make(const std::vector<std::string>& sources) {
    const auto begin = std::chrono::steady_clock::now();
    link();
    if (program_number(gl_, program_, kLinkStatus) == 0) return std::nullopt;
    const Nanoseconds cost = std::chrono::steady_clock::now() - begin;
    keep_shaders(sources, cost);
    opengl::ProgramBinary binary;
    binary.log = log_of(program_, program_number(gl_, program_, kInfoLogLength), gl_.glGetProgramInfoLog);
    const int size = program_number(gl_, program_, kBinaryLength);
    if (size <= 0) return binary;
    std::string bytes(static_cast<std::size_t>(size), '\0');
    int written = 0;
    const auto get = gl_.glGetProgramBinary != nullptr ? gl_.glGetProgramBinary : gl_.glGetProgramBinaryOES;
    get(program_, size, &written, &binary.format, bytes.data());
    if (written <= 0 || written > size) return binary;
    bytes.resize(static_cast<std::size_t>(written));
    binary.bytes = Bytes(std::move(bytes));
    return binary;
  }

  // That they are good is known now, without having made the driver say so earlier than its host asked.
  void keep_shaders(const std::vector<std::string>& sources, Nanoseconds link_cost) {
    for (std::size_t i = 0; i < shaders_.size(); ++i) {
      Nanoseconds cost{0};
      Objects::with_shader(shaders_[i], [&](Shader& shader) { cost = shader.cost; });
      if (cost == Nanoseconds{0}) cost = link_cost / 2;  // compiled after all, just now
      const opengl::InfoLog log =
          log_of(shaders_[i], shader_number(gl_, shaders_[i], kInfoLogLength), gl_.glGetShaderInfoLog);
      linked_programs()->keep_shader(opengl::shader_recipe(service_->identity, inputs_[i]), log, cost,
                                     sources[i]);
    }
  }

  const Functions& gl_;
  Name program_;
  const Service* service_ = nullptr;
  bool is_linked_ = false;
  std::vector<Name> shaders_;
  std::vector<opengl::ShaderInput> inputs_;
  opengl::LinkOptions options_;
};

// The log of a shader that need not be compiled now; nothing for others.
std::optional<opengl::InfoLog> known_good(const Functions& gl, Enum kind, const Strings& source) {
  const auto service = service_of_current(gl);
  if (service == nullptr || !service->why_not.empty() || source == nullptr) return std::nullopt;
  const opengl::ShaderInput input{kind, source};
  if (!opengl::why_not({input}).empty()) return std::nullopt;
  return linked_programs()->known_shader(opengl::shader_recipe(service->identity, input));
}

}  // namespace

void compile_deferred(const Functions& gl, Name shader) noexcept {
  bool is_deferred = false;
  Objects::with_shader(shader, [&](Shader& known) { is_deferred = known.is_deferred; });
  if (!is_deferred) return;
  const MutexLock lock(deferred_mutex());
  // Another thread may have had it compiled meanwhile.
  Objects::with_shader(shader, [&](Shader& known) { is_deferred = known.is_deferred; });
  if (!is_deferred) return;
  gl.glCompileShader(shader);
  Objects::with_shader(shader, [](Shader& known) { known.is_deferred = false; });
}

void compile_deferred_of(const Functions& gl, Name program) noexcept {
  try {
    for (const Name shader : attached_to(gl, program)) compile_deferred(gl, shader);
  } catch (...) {  // no memory for a few names: as many as fit
    Name shaders[8]{};
    int count = 0;
    gl.glGetAttachedShaders(program, 8, &count, shaders);
    for (int i = 0; i < count; ++i) compile_deferred(gl, shaders[i]);
  }
}

void compile_shader(const Functions& gl, Name shader) noexcept {
  bool is_known = false;
  try {
    Enum kind = 0;
    Strings source;
    is_known = Objects::with_shader(shader, [&](Shader& known) {
      known.is_deferred = false;
      known.cost = Nanoseconds{0};
      known.compiled = known.source;
      kind = known.kind;
      source = known.source;
    });
    if (is_known && !guest::is_ending()) {
      if (auto log = known_good(gl, kind, source)) {
        const bool is_deferred = Objects::with_shader(shader, [&](Shader& known) {
          known.log = std::move(*log);
          known.is_deferred = true;
        });
        if (is_deferred) return;
      }
    }
  } catch (...) {  // compiled as ever
  }
  const auto begin = std::chrono::steady_clock::now();
  gl.glCompileShader(shader);
  if (!is_known) return;
  const Nanoseconds cost = std::chrono::steady_clock::now() - begin;
  Objects::with_shader(shader, [&](Shader& known) { known.cost = cost; });
}

void link_program(const Functions& gl, Name program) noexcept {
  if (gl.glIsProgram(program) == kFalse) {
    gl.glLinkProgram(program);  // which says what is wrong with it
    return;
  }
  Link link(gl, program);
  if (guest::is_ending()) return link.link();
  bool was_answered = false;
  try {
    link.run();
    was_answered = true;
  } catch (...) {  // whatever it is, the program is linked
  }
  if (!was_answered) link.link();
}

}  // namespace larder::gl
