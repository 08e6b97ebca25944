#include "layers/opengl/linking.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstring>
#include <set>

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

// Programs link many at a time: what was missed and which shaders compile is written down with the first,
// when there are twice as many, and now and then. Nothing is left for the process's end, which most never
// say.
void take_notes() {
  using Clock = std::chrono::steady_clock;
  static constinit std::atomic<Clock::rep> last{0};
  static constinit std::atomic<unsigned> count{0};
  const Clock::rep now = Clock::now().time_since_epoch().count();
  Clock::rep before = last.load(std::memory_order_relaxed);
  constexpr Clock::duration kPause = std::chrono::milliseconds(250);
  const bool is_time = before == 0 || now - before >= kPause.count();
  if (std::has_single_bit(count.fetch_add(1, std::memory_order_relaxed) + 1) || is_time)
    known_shaders()->keep();
  if (is_time && last.compare_exchange_strong(before, now, std::memory_order_relaxed)) guest::take_notes();
}

int context_number(const Functions& gl, Enum what) {
  int number = 0;
  gl.glGetIntegerv(what, &number);
  return number;
}

// What a source may include when it is compiled now; null: it includes nothing, or that cannot be known.
std::shared_ptr<const opengl::Includes> includes_of(const Functions& gl, const opengl::ShaderText& source,
                                                    const IncludePaths* paths) {
  if (source == nullptr || !source->may_include) return nullptr;
  auto includes = std::make_shared<opengl::Includes>();
  for (int i = 0; paths != nullptr && i < paths->count; ++i) {
    if (paths->paths == nullptr || paths->paths[i] == nullptr) return nullptr;
    const bool is_whole = paths->lengths == nullptr || paths->lengths[i] < 0;
    includes->paths.emplace_back(paths->paths[i], is_whole ? std::strlen(paths->paths[i])
                                                           : static_cast<std::size_t>(paths->lengths[i]));
  }
  std::set<std::string> names;
  Objects::with([&](Group& group) { names = group.named_strings; });
  if (names.empty()) return includes;
  if (gl.glIsNamedStringARB == nullptr || gl.glGetNamedStringivARB == nullptr ||
      gl.glGetNamedStringARB == nullptr)
    return nullptr;
  for (const std::string& name : names) {
    const int length = static_cast<int>(name.size());
    if (gl.glIsNamedStringARB(length, name.data()) == kFalse) continue;
    int size = 0;
    gl.glGetNamedStringivARB(length, name.data(), kNamedStringLength, &size);
    std::string text(static_cast<std::size_t>(std::max(size, 0)) + 1, '\0');
    int written = 0;
    gl.glGetNamedStringARB(length, name.data(), static_cast<int>(text.size()), &written, text.data());
    text.resize(static_cast<std::size_t>(std::clamp(written, 0, static_cast<int>(text.size()))));
    includes->named.insert_or_assign(name, std::move(text));
  }
  return includes;
}

// One call that links a program.
class Link {
 public:
  explicit Link(const Functions& gl, Name program = 0) : gl_(gl), program_(program) {}
  virtual ~Link() = default;

  // Links, or puts what is kept in the place of a link.
  void run() {
    const auto service = service_of_current(gl_);
    std::string why_not =
        service == nullptr ? "its context was made where larder does not see it" : service->why_not;
    service_ = service.get();
    if (why_not.empty()) why_not = look();
    if (!why_not.empty()) {
      report_bypass(why_not);
      link();
      return;
    }
    const Recipe recipe = opengl::program_recipe(service->identity, inputs_, options_);
    std::vector<std::string> names;
    std::vector<Text> texts;
    for (std::size_t i = 0; i < inputs_.size(); ++i) names.push_back(opengl::text_name(i));
    for (std::size_t i = 0; i < inputs_.size(); ++i) texts.push_back({names[i], inputs_[i].source->text});
    const opengl::LinkAnswer answer = linked_programs()->get_or_link(
        recipe, texts, [&](const opengl::ProgramBinary& binary) { return take(binary); },
        [&] { return make(); });
    if (!answer.was_linked) taken(answer.log);
    if (answer.outcome == Outcome::made) take_notes();
    guest::report(kLayer, name(answer.outcome), answer.cost, answer.why_not);
  }

  // What the driver does, and no more; once.
  virtual void link() = 0;

 protected:
  // Everything that decides the program; otherwise why that is not known.
  virtual std::string look() = 0;
  virtual bool take(const opengl::ProgramBinary& binary) = 0;
  virtual void taken(const opengl::InfoLog& log) = 0;
  // It linked, from its shaders.
  virtual bool keep_shaders(Nanoseconds link_cost) = 0;

  bool is_linked() const { return program_number(gl_, program_, kLinkStatus) != 0; }
  // False: the driver refuses it.
  bool put(const opengl::ProgramBinary& binary) const {
    const auto& formats = service_->formats;
    // A format that the driver does not know would be an error for the host to find.
    if (std::find(formats.begin(), formats.end(), binary.format) == formats.end()) return false;
    const auto put = gl_.glProgramBinary != nullptr ? gl_.glProgramBinary : gl_.glProgramBinaryOES;
    put(program_, binary.format, binary.bytes.data(), static_cast<int>(binary.bytes.size()));
    if (is_linked()) return true;
    // Some drivers make a refusal an error, and that is not the host's.
    gl_.glGetError();
    return false;
  }

  std::optional<opengl::ProgramBinary> make() {
    const auto begin = std::chrono::steady_clock::now();
    link();
    if (program_ == 0 || !is_linked()) return std::nullopt;
    keep_shaders(std::chrono::steady_clock::now() - begin);
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

  const Functions& gl_;
  Name program_;
  const Service* service_ = nullptr;
  bool was_asked_to_link_ = false;
  std::vector<opengl::ShaderInput> inputs_;
  opengl::LinkOptions options_;
};

// glLinkProgram.
class LinkOfShaders final : public Link {
 public:
  using Link::Link;

  void link() override {
    if (was_asked_to_link_) return;
    was_asked_to_link_ = true;
    compile_deferred_of(gl_, program_);
    Objects::with_program(program_, [](Program& program) { program.log.reset(); });
    gl_.glLinkProgram(program_);
    const bool is_good = is_linked();
    Objects::with_program(program_, [&](Program& program) { program.was_linked |= is_good; });
  }

 private:
  std::string look() override {
    shaders_ = attached_to(gl_, program_);
    std::string why_not = "it was made where larder does not see it";
    bool was_linked = false;
    Objects::with([&](Group& group) {
      const auto program = group.programs.find(program_);
      if (program == group.programs.end()) return;
      why_not = program->second.why_not;
      was_linked = program->second.was_linked;
      options_ = program->second.options;
      for (const Name each : shaders_) {
        const auto shader = group.shaders.find(each);
        inputs_.push_back(
            shader == group.shaders.end()
                ? opengl::ShaderInput{}
                : opengl::ShaderInput{shader->second.kind, shader->second.compiled, shader->second.includes});
      }
    });
    if (why_not.empty()) why_not = opengl::why_not(inputs_);
    if (why_not.empty() && was_linked) why_not = why_not_again();
    return why_not;
  }

  // Like a link, a binary takes the place of what is in use in the context; drivers' ways with pipelines and
  // feedback are less trodden.
  std::string why_not_again() {
    if (service_->has_pipelines && context_number(gl_, kPipelineBinding) != 0)
      return "it was linked before, and a pipeline that is bound may use it";
    if (program_number(gl_, program_, kFeedbackVaryings) > 0)
      return "it was linked before, and feedback may use it";
    return {};
  }

  bool take(const opengl::ProgramBinary& binary) override { return put(binary); }

  void taken(const opengl::InfoLog& log) override {
    Objects::with_program(program_, [&](Program& program) {
      program.log = log;
      program.was_linked = true;
    });
    if (keep_shaders(Nanoseconds{0})) take_notes();
  }

  // That they are good is known now, without having made the driver say so earlier than its host asked. What
  // was put off stays so, and is known. True: one of them is news.
  bool keep_shaders(Nanoseconds link_cost) override {
    bool is_news = false;
    for (std::size_t i = 0; i < shaders_.size(); ++i) {
      if (inputs_[i].source->may_include) continue;  // never put off
      Nanoseconds cost{0};
      bool is_told = true;
      Objects::with_shader(shaders_[i], [&](Shader& shader) {
        cost = shader.cost;
        is_told = shader.is_deferred || shader.was_known;
        shader.was_known = true;
      });
      if (is_told) continue;
      is_news = true;
      if (cost == Nanoseconds{0}) cost = link_cost / 2;  // compiled after all, just now
      const opengl::InfoLog log =
          log_of(shaders_[i], shader_number(gl_, shaders_[i], kInfoLogLength), gl_.glGetShaderInfoLog);
      known_shaders()->add(service_->identity, inputs_[i], log, cost);
    }
    return is_news;
  }

  std::vector<Name> shaders_;
};

// glCreateShaderProgramv: the program's name is known only afterwards.
class LinkOfOneCall final : public Link {
 public:
  LinkOfOneCall(const Functions& gl, CreateShaderProgram real, Enum kind, int count,
                const char* const* strings)
      : Link(gl), real_(real), kind_(kind), count_(count), strings_(strings) {}

  void link() override {
    if (was_asked_to_link_) return;
    was_asked_to_link_ = true;
    program_ = real_(kind_, count_, strings_);
    if (program_ == 0) return;
    const bool is_good = is_linked();
    add(is_good, std::nullopt);
  }
  Name program() const { return program_; }

 private:
  std::string look() override {
    opengl::ShaderText source = source_of(count_, strings_, nullptr);
    inputs_.push_back({kind_, source, includes_of(gl_, source, nullptr)});
    options_.is_separable = options_.is_of_one_call = true;
    if (parameter() == nullptr) return "its driver has no way to say that it is separable";
    return opengl::why_not(inputs_);
  }

  using Parameter = void (*)(Name, Enum, int);
  Parameter parameter() const {
    return gl_.glProgramParameteri != nullptr ? gl_.glProgramParameteri : gl_.glProgramParameteriEXT;
  }

  bool take(const opengl::ProgramBinary& binary) override {
    // The real one makes a shader first, and lets go of it.
    const Name shader = gl_.glCreateShader(kind_);
    if (shader != 0) program_ = gl_.glCreateProgram();
    gl_.glDeleteShader(shader);
    if (program_ == 0) return false;
    parameter()(program_, kSeparable, kTrue);
    if (put(binary)) return true;
    gl_.glDeleteProgram(program_);
    program_ = 0;
    return false;
  }

  void taken(const opengl::InfoLog& log) override { add(true, log); }
  bool keep_shaders(Nanoseconds) override { return false; }

  void add(bool is_good, std::optional<opengl::InfoLog> log) {
    Objects::with([&](Group& group) {
      Program fresh;
      fresh.options.is_separable = true;
      fresh.was_linked = is_good;
      fresh.log = std::move(log);
      group.programs.insert_or_assign(program_, std::move(fresh));
    });
  }

  CreateShaderProgram real_;
  Enum kind_;
  int count_;
  const char* const* strings_;
};

// By the driver where anything of larder fails.
void run_or_link(Link& link) noexcept {
  bool was_answered = false;
  try {
    if (!guest::is_ending()) {
      link.run();
      was_answered = true;
    }
  } catch (...) {  // whatever it is, the program is linked
  }
  if (!was_answered) link.link();
}

// The log of a shader that need not be compiled now; nothing for others.
// What may include something is compiled when it is asked for: named strings come and go.
std::optional<opengl::InfoLog> known_good(const Functions& gl, Enum kind, const opengl::ShaderText& source) {
  const auto service = service_of_current(gl);
  if (service == nullptr || !service->why_not.empty() || source == nullptr || source->may_include)
    return std::nullopt;
  const opengl::ShaderInput input{kind, source, nullptr};
  return known_shaders()->find(service->identity, input);
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

opengl::ShaderText source_of(int count, const char* const* strings, const int* lengths) noexcept try {
  if (count < 0 || strings == nullptr) return nullptr;
  std::vector<std::string_view> views;
  for (int i = 0; i < count; ++i) {
    if (strings[i] == nullptr) return nullptr;
    const bool is_whole = lengths == nullptr || lengths[i] < 0;
    views.emplace_back(strings[i], is_whole ? std::strlen(strings[i]) : static_cast<std::size_t>(lengths[i]));
  }
  return opengl::to_source(views);
} catch (...) {
  return nullptr;
}

void compile_shader(const Functions& gl, Name shader, const IncludePaths* paths) noexcept {
  bool is_known = false;
  try {
    Enum kind = 0;
    opengl::ShaderText source;
    is_known = Objects::with_shader(shader, [&](Shader& known) {
      known.is_deferred = known.was_known = false;
      known.cost = Nanoseconds{0};
      known.compiled = known.source;
      known.includes = nullptr;
      kind = known.kind;
      source = known.source;
    });
    if (is_known && !guest::is_ending()) {
      if (auto includes = includes_of(gl, source, paths))
        Objects::with_shader(shader, [&](Shader& known) { known.includes = std::move(includes); });
      auto log = paths == nullptr ? known_good(gl, kind, source) : std::nullopt;
      if (log) {
        const bool is_deferred = Objects::with_shader(shader, [&](Shader& known) {
          known.log = std::move(*log);
          known.is_deferred = known.was_known = true;
        });
        if (is_deferred) return;
      }
    }
  } catch (...) {  // compiled as ever
  }
  const auto begin = std::chrono::steady_clock::now();
  if (paths != nullptr) {
    gl.glCompileShaderIncludeARB(shader, paths->count, paths->paths, paths->lengths);
  } else {
    gl.glCompileShader(shader);
  }
  if (!is_known) return;
  const Nanoseconds cost = std::chrono::steady_clock::now() - begin;
  Objects::with_shader(shader, [&](Shader& known) { known.cost = cost; });
}

void link_program(const Functions& gl, Name program) noexcept {
  if (gl.glIsProgram(program) == kFalse) {
    gl.glLinkProgram(program);  // which says what is wrong with it
    return;
  }
  LinkOfShaders link(gl, program);
  run_or_link(link);
}

Name create_shader_program(const Functions& gl, CreateShaderProgram real, Enum kind, int count,
                           const char* const* strings) noexcept {
  LinkOfOneCall link(gl, real, kind, count, strings);
  run_or_link(link);
  return link.program();
}

}  // namespace larder::gl
