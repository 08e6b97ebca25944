// A program that uses OpenCL in every way that a layer could spoil, and knows nothing of larder. What it
// prints is the same each time: with the layer and without, cold and warm. Arguments: a part of the
// platform's name, a folder with value.h in it, and letters for what the driver bears: t several threads at
// once, q questions that are none, l linking, k building what has kernels, e releasing at the end, c cloning
// kernels, x calls that are none of compiling and linking; 2: nothing but a context of two devices.
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static cl_context context;
static cl_device_id device;
static cl_command_queue queue;
static cl_program left_to_the_end;
static const char* bears = "";

static int can(char what) {
  return strchr(bears, what) != NULL;
}

static cl_program program_of(const char* text) {
  return clCreateProgramWithSource(context, 1, &text, NULL, NULL);
}

static int run(cl_kernel kernel) {
  int value = -1;
  const size_t one = 1;
  cl_mem out = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof value, NULL, NULL);
  clSetKernelArg(kernel, 0, sizeof out, &out);
  if (clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, &one, 0, NULL, NULL) != CL_SUCCESS) value = -2;
  if (clEnqueueReadBuffer(queue, out, CL_TRUE, 0, sizeof value, &value, 0, NULL, NULL) != CL_SUCCESS)
    value = -3;
  clReleaseMemObject(out);
  return value;
}

static int run_named(cl_program program, const char* name) {
  cl_int code = 0;
  cl_kernel kernel = clCreateKernel(program, name, &code);
  if (kernel == NULL) return code;
  const int value = run(kernel);
  clReleaseKernel(kernel);
  return value;
}

static cl_uint references(cl_program program) {
  cl_uint count = 0;
  clGetProgramInfo(program, CL_PROGRAM_REFERENCE_COUNT, sizeof count, &count, NULL);
  return count;
}

// The count once it is no more than `most`: PoCL lets go of what has run a moment after it said that it
// ended.
static cl_uint settled_references(cl_program program, cl_uint most) {
  cl_uint count = references(program);
  const struct timespec moment = {0, 1000000};
  for (int i = 0; i < 5000 && count > most; ++i) {
    nanosleep(&moment, NULL);
    count = references(program);
  }
  return count;
}

static void tell(const char* what, cl_program program) {
  cl_build_status status = 99;
  cl_program_binary_type type = 99;
  size_t kernels = 0;
  size_t size = 0;
  char text[4096] = "";
  printf("%s: info", what);
  clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_STATUS, sizeof status, &status, NULL);
  clGetProgramBuildInfo(program, device, CL_PROGRAM_BINARY_TYPE, sizeof type, &type, NULL);
  // Oclgrind tells whatever it finds for what is not built.
  printf(" status %d type %u", status, status == CL_BUILD_SUCCESS ? (unsigned)type : 0);
  printf(" kernels %d", clGetProgramInfo(program, CL_PROGRAM_NUM_KERNELS, sizeof kernels, &kernels, NULL));
  printf(" %zu", kernels);
  if (clGetProgramInfo(program, CL_PROGRAM_KERNEL_NAMES, sizeof text, text, NULL) == CL_SUCCESS)
    printf(" [%s]", text);
  clGetProgramInfo(program, CL_PROGRAM_SOURCE, sizeof text, text, &size);
  printf(" source %zu %zu", size, strlen(text));
  text[0] = '\0';
  printf(" options %d",
         clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_OPTIONS, sizeof text, text, &size));
  printf(" [%s] %zu", text, size);
  printf(" too small %d", clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_STATUS, 1, text, NULL));
  printf(" no device %d",
         clGetProgramBuildInfo(program, NULL, CL_PROGRAM_BUILD_LOG, sizeof text, text, NULL));
  cl_context of = NULL;
  clGetProgramInfo(program, CL_PROGRAM_CONTEXT, sizeof of, &of, NULL);
  cl_device_id on = NULL;
  clGetProgramInfo(program, CL_PROGRAM_DEVICES, sizeof on, &on, NULL);
  printf(" its context %d device %d references %u\n", of == context, on == device, references(program));
}

static int log_says(cl_program program, const char* word) {
  char log[16384] = "";
  clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof log, log, NULL);
  return strstr(log, word) != NULL;
}

static int notified;
static void CL_CALLBACK on_built(cl_program program, void* data) {
  if (data == &notified && references(program) > 0) ++notified;
}
static void lives(void) {
  const char* parts[] = {"kernel void give(global int* out) { out[0] = VAL",
                         "UE; }\nkernel void more(global int* out, int NAME)"
                         " { out[0] = VALUE + NAME; }  ignored"};
  const size_t lengths[] = {strlen(parts[0]), strlen(parts[1]) - strlen("ignored")};
  cl_int code = 99;
  cl_program program = clCreateProgramWithSource(context, 2, parts, lengths, &code);
  printf("created %d references %u\n", code, references(program));
  tell("unbuilt", program);
  printf("built %d\n", clBuildProgram(program, 1, &device, "-DVALUE=5 -DNAME=by_how_much -cl-kernel-arg-info",
                                      on_built, &notified));
  printf("notified %d\n", notified);
  tell("built", program);
  cl_kernel give = clCreateKernel(program, "give", &code);
  printf("kernel %d references %u\n", code, references(program));
  printf("no such kernel %d\n", (clCreateKernel(program, "none", &code), code));
  cl_program of = NULL;
  clGetKernelInfo(give, CL_KERNEL_PROGRAM, sizeof of, &of, NULL);
  printf("kernel of program %d gives %d\n", of == program, run(give));
  cl_kernel more = clCreateKernel(program, "more", NULL);
  char name[64] = "";
  code = clGetKernelArgInfo(more, 1, CL_KERNEL_ARG_NAME, sizeof name, name, NULL);
  printf("argument %d %s\n", code, name);
  const int by = 10;
  clSetKernelArg(more, 1, sizeof by, &by);
  printf("more gives %d\n", run(more));
  if (can('c')) {
    cl_kernel clone = clCloneKernel(more, &code);
    of = NULL;
    clGetKernelInfo(clone, CL_KERNEL_PROGRAM, sizeof of, &of, NULL);
    printf("cloned %d of program %d references %u gives %d", code, of == program, references(program),
           run(clone));
    clRetainKernel(clone);
    clReleaseKernel(clone);
    clReleaseKernel(clone);
    printf(" released %u\n", settled_references(program, 3));
  }
  if (can('k'))
    printf("built with kernels %d\n", clBuildProgram(program, 0, NULL, "-DVALUE=6 -DNAME=by", NULL, NULL));
  clRetainKernel(more);
  clReleaseKernel(more);
  clReleaseKernel(more);
  clReleaseKernel(give);
  printf("references %u\n", settled_references(program, 1));
  printf("built again %d\n", clBuildProgram(program, 0, NULL, "-DVALUE=6 -DNAME=by", NULL, NULL));
  printf("gives %d\n", run_named(program, "give"));
  cl_kernel all[2] = {NULL, NULL};
  cl_uint count = 0;
  code = clCreateKernelsInProgram(program, 0, NULL, &count);
  printf("kernels in it %d %u too few %d\n", code, count, clCreateKernelsInProgram(program, 1, all, NULL));
  code = clCreateKernelsInProgram(program, 2, all, &count);
  printf("made %d %u references %u\n", code, count, settled_references(program, 3));
  clReleaseKernel(all[0]);
  clReleaseKernel(all[1]);
  give = clCreateKernel(program, "give", NULL);
  clRetainProgram(program);
  printf("retained %u\n", settled_references(program, 3));
  clReleaseProgram(program);
  clReleaseProgram(program);
  of = NULL;
  clGetKernelInfo(give, CL_KERNEL_PROGRAM, sizeof of, &of, NULL);
  printf("outlived %d references %u gives %d\n", of == program, references(of), run(give));
  clReleaseKernel(give);
}

static void fails(void) {
  cl_program program =
      program_of("#ifdef GOOD\nkernel void give(global int* out) { out[0] = 3; }\n#else\nflaot x;\n#endif\n");
  for (int i = 0; i < 2; ++i) {
    printf("failed %d", clBuildProgram(program, 1, &device, "", NULL, NULL));
    printf(" log %d", log_says(program, "flaot"));
    cl_int code = 0;
    clCreateKernel(program, "give", &code);
    printf(" kernel %d\n", code);
    tell("failed", program);
  }
  printf("mended %d\n", clBuildProgram(program, 1, &device, "-DGOOD", NULL, NULL));
  printf("gives %d log %d\n", run_named(program, "give"), log_says(program, "flaot"));
  printf("failed again %d\n", clBuildProgram(program, 1, &device, "", NULL, NULL));
  tell("failed again", program);
  clReleaseProgram(program);
}

static void is_refused(void) {
  cl_program program = program_of("kernel void give(global int* out) { out[0] = 4; }\n");
  cl_device_id none = NULL;
  printf("no program %d\n", clBuildProgram(NULL, 0, NULL, NULL, NULL, NULL));
  printf("no devices %d\n", clBuildProgram(program, 0, &device, NULL, NULL, NULL));
  printf("no list %d\n", clBuildProgram(program, 1, NULL, NULL, NULL, NULL));
  printf("data without callback %d\n", clBuildProgram(program, 1, &device, NULL, NULL, &none));
  printf("bad option %d\n", clBuildProgram(program, 1, &device, "-no-such-option", NULL, NULL));
  tell("bad option", program);
  clReleaseProgram(program);
}

static void binaries(void) {
  cl_program program = program_of("#warning a_word\nkernel void give(global int* out) { out[0] = 7; }\n");
  clBuildProgram(program, 1, &device, NULL, NULL, NULL);
  printf("log %d\n", log_says(program, "warning: a_word"));
  size_t size = 0;
  printf("sizes %d", clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, NULL));
  printf(" %d", size > 0);
  unsigned char* bytes = malloc(size);
  printf(" binaries %d\n", clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof bytes, &bytes, NULL));
  cl_int status = 99;
  cl_int code = 99;
  const unsigned char* given = bytes;
  cl_program from = clCreateProgramWithBinary(context, 1, &device, &size, &given, &status, &code);
  printf("from binary %d %d built %d\n", code, status, clBuildProgram(from, 1, &device, NULL, NULL, NULL));
  printf("gives %d\n", run_named(from, "give"));
  free(bytes);
  clReleaseProgram(from);
  clReleaseProgram(program);
}

// Whether a program is a compiled object.
static int object_of(cl_program program) {
  cl_build_status status = 99;
  cl_program_binary_type type = 99;
  clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_STATUS, sizeof status, &status, NULL);
  clGetProgramBuildInfo(program, device, CL_PROGRAM_BINARY_TYPE, sizeof type, &type, NULL);
  return status == CL_BUILD_SUCCESS && type == CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT;
}

static void links(void) {
  cl_program header = program_of("#define VALUE 9\n");
  cl_program caller = program_of(
      "#include \"given.h\"\nint helper(int); kernel void give(global int* out) { out[0] = helper(VALUE); "
      "}\n");
  cl_program helper = program_of("int helper(int by) { return by * 2; }\n");
  const char* name = "given.h";
  printf("compiled %d", clCompileProgram(caller, 1, &device, NULL, 1, &header, &name, on_built, &notified));
  printf(" %d\n", clCompileProgram(helper, 1, &device, NULL, 0, NULL, NULL, NULL, NULL));
  cl_program parts[] = {caller, helper};
  cl_int code = 99;
  cl_program linked = clLinkProgram(context, 1, &device, NULL, 2, parts, on_built, &notified, &code);
  printf("linked %d gives %d notified %d\n", code, run_named(linked, "give"), notified);
  clReleaseProgram(linked);
  // Built before, compiled now.
  printf("built %d", clBuildProgram(helper, 1, &device, NULL, NULL, NULL));
  printf(" compiled %d", clCompileProgram(helper, 1, &device, NULL, 0, NULL, NULL, NULL, NULL));
  linked = clLinkProgram(context, 1, &device, NULL, 2, parts, NULL, NULL, &code);
  printf(" linked %d gives %d\n", code, run_named(linked, "give"));
  clReleaseProgram(linked);
  // The same parts by way of a library, and with other options.
  cl_program library = clLinkProgram(context, 1, &device, "-create-library", 1, &helper, NULL, NULL, &code);
  printf("library %d", code);
  cl_program_binary_type type = 99;
  clGetProgramBuildInfo(library, device, CL_PROGRAM_BINARY_TYPE, sizeof type, &type, NULL);
  printf(" type %u references %u\n", type, references(library));
  cl_program with_library[] = {caller, library};
  linked = clLinkProgram(context, 0, NULL, "", 2, with_library, NULL, NULL, &code);
  clReleaseProgram(library);
  printf("linked with it %d\n", code);
  tell("linked", linked);
  printf("compiled log %d object %d", log_says(caller, "error"), object_of(caller));
  cl_kernel give = clCreateKernel(linked, "give", &code);
  cl_program of = NULL;
  clGetKernelInfo(give, CL_KERNEL_PROGRAM, sizeof of, &of, NULL);
  clRetainProgram(linked);
  printf(" kernel %d of linked %d references %u", code, of == linked, references(linked));
  clReleaseProgram(linked);
  clReleaseProgram(linked);
  printf(" outlives it %u gives %d\n", references(of), run(give));
  clReleaseKernel(give);
  // Compiled once more, with another header: what was linked before stays what it was.
  cl_program other = program_of("#define VALUE 10\n");
  linked = clLinkProgram(context, 1, &device, NULL, 2, parts, NULL, NULL, &code);
  printf("compiled again %d", clCompileProgram(caller, 1, &device, NULL, 1, &other, &name, NULL, NULL));
  cl_program relinked = clLinkProgram(context, 1, &device, NULL, 2, parts, NULL, NULL, &code);
  printf(" gave %d gives %d\n", run_named(linked, "give"), run_named(relinked, "give"));
  clReleaseProgram(linked);
  clReleaseProgram(relinked);
  clReleaseProgram(other);
  // Compilers and linkers that say no.
  cl_program bad = program_of("flaot x;\n");
  printf("bad %d", clCompileProgram(bad, 1, &device, NULL, 0, NULL, NULL, NULL, NULL));
  printf(" log %d\n", log_says(bad, "flaot"));
  clReleaseProgram(bad);
  if (can('x')) {
    printf("no parts %d", (clLinkProgram(context, 1, &device, NULL, 0, NULL, NULL, NULL, &code), code));
    printf(" data without callback %d\n",
           clCompileProgram(caller, 1, &device, NULL, 0, NULL, NULL, NULL, &notified));
  }
  clReleaseProgram(header);
  clReleaseProgram(caller);
  clReleaseProgram(helper);
}

static void includes(const char* folder) {
  char options[512];
  snprintf(options, sizeof options, "-I %s", folder);
  cl_program program =
      program_of("#include \"value.h\"\nkernel void give(global int* out) { out[0] = VALUE; }\n");
  printf("with header %d", clBuildProgram(program, 1, &device, options, NULL, NULL));
  printf(" gives %d\n", run_named(program, "give"));
  clReleaseProgram(program);
  if (!can('l')) return;
  program = program_of("#include \"value.h\"\nkernel void give(global int* out) { out[0] = VALUE + 1; }\n");
  printf("compiled with header %d",
         clCompileProgram(program, 1, &device, options, 0, NULL, NULL, NULL, NULL));
  cl_int code = 99;
  cl_program linked = clLinkProgram(context, 1, &device, NULL, 1, &program, NULL, NULL, &code);
  printf(" linked %d gives %d\n", code, run_named(linked, "give"));
  clReleaseProgram(program);
  clReleaseProgram(linked);
}

static void* build_one(void* number) {
  char text[256];
  const long which = (long)number;
  snprintf(text, sizeof text, "kernel void give(global int* out) { out[0] = %ld; }\n", which / 4);
  cl_program program = program_of(text);
  long good = clBuildProgram(program, 1, &device, NULL, NULL, NULL) == CL_SUCCESS;
  cl_kernel kernel = clCreateKernel(program, "give", NULL);
  clReleaseProgram(program);
  good = good && kernel != NULL && clReleaseKernel(kernel) == CL_SUCCESS;
  return (void*)good;
}

static void at_once(void) {
  pthread_t threads[8];
  long good = 0;
  for (long i = 0; i < 8; ++i) pthread_create(&threads[i], NULL, build_one, (void*)i);
  for (int i = 0; i < 8; ++i) {
    void* result = NULL;
    pthread_join(threads[i], &result);
    good += (long)result;
  }
  printf("at once %ld\n", good);
}

static void forks(void) {
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) _exit(7);
  int status = 0;
  waitpid(child, &status, 0);
  printf("child %d\n", WEXITSTATUS(status));
}

// The same source in a second context, and in one with several devices.
static void several(void) {
  const char* text = "kernel void give(global int* out) { out[0] = 11; }\n";
  const cl_context first = context;
  const cl_command_queue before = queue;
  for (int i = 0; i < 2; ++i) {
    context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    queue = clCreateCommandQueue(context, device, 0, NULL);
    cl_program program = program_of(text);
    printf("in another context %d", clBuildProgram(program, 0, NULL, NULL, NULL, NULL));
    printf(" gives %d\n", run_named(program, "give"));
    clReleaseProgram(program);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
  }
  const cl_device_partition_property halves[] = {CL_DEVICE_PARTITION_EQUALLY, 1, 0};
  cl_device_id parts[64];
  cl_uint count = 0;
  cl_int code = can('d') ? clCreateSubDevices(device, halves, 64, parts, &count) : CL_INVALID_VALUE;
  if (code == CL_SUCCESS && count > 1) {
    context = clCreateContext(NULL, 2, parts, NULL, NULL, NULL);
    for (int i = 0; i < 2; ++i) {
      queue = clCreateCommandQueue(context, parts[i], 0, NULL);
      cl_program program = program_of(text);
      printf("on a part %d", clBuildProgram(program, i, i == 0 ? NULL : &parts[1], NULL, NULL, NULL));
      size_t sizes[2] = {0, 0};
      cl_build_status states[2] = {99, 99};
      size_t size = 0;
      printf(" gives %d", run_named(program, "give"));
      code = clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof sizes, sizes, &size);
      for (int j = 0; j < 2; ++j)
        clGetProgramBuildInfo(program, parts[j], CL_PROGRAM_BUILD_STATUS, sizeof states[j], &states[j], NULL);
      printf(" sizes %d %zu: %d %d states %d %d\n", code, size, sizes[0] > 0, sizes[1] > 0, states[0],
             states[1]);
      clReleaseProgram(program);
      clReleaseCommandQueue(queue);
    }
    clReleaseContext(context);
    for (cl_uint i = 0; i < count; ++i) clReleaseDevice(parts[i]);
  }
  context = first;
  queue = before;
}

// One context of two devices of the platform's, if it has so many: a program for both, for the second alone,
// and a linked one.
static void for_two(const cl_device_id* two) {
  const cl_context first = context;
  const cl_command_queue before = queue;
  cl_int code = 99;
  context = clCreateContext(NULL, 2, two, NULL, NULL, NULL);
  for (int i = 0; i < 3; ++i) {
    cl_program program = program_of("kernel void give(global int* out) { out[0] = 12; }\n");
    printf("for two %d",
           i < 2 ? clBuildProgram(program, (cl_uint)i, i == 0 ? NULL : &two[1], "-DTWO", NULL, NULL)
                 : clCompileProgram(program, 0, NULL, NULL, 0, NULL, NULL, NULL, NULL));
    if (i == 2) {
      cl_program linked = clLinkProgram(context, 0, NULL, NULL, 1, &program, NULL, NULL, &code);
      printf(" linked %d", code);
      clReleaseProgram(program);
      program = linked;
    }
    size_t sizes[2] = {0, 0};
    size_t size = 0;
    code = clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof sizes, sizes, &size);
    printf(" sizes %d %zu: %d %d too small %d", code, size, sizes[0] > 0, sizes[1] > 0,
           clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, 1, sizes, NULL));
    unsigned char* binaries[2] = {sizes[0] > 0 ? malloc(sizes[0]) : NULL,
                                  sizes[1] > 0 ? malloc(sizes[1]) : NULL};
    printf(" binaries %d", clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof binaries, binaries, NULL));
    for (int j = i == 1 ? 1 : 0; j < 2; ++j) {  // PoCL says of both that they have it, and aborts
      cl_build_status state = 99;
      char options[64] = "";
      clGetProgramBuildInfo(program, two[j], CL_PROGRAM_BUILD_STATUS, sizeof state, &state, NULL);
      clGetProgramBuildInfo(program, two[j], CL_PROGRAM_BUILD_OPTIONS, sizeof options, options, NULL);
      printf(" state %d [%s]", state, options);
      free(binaries[j]);
      if (state != CL_BUILD_SUCCESS) continue;
      queue = clCreateCommandQueue(context, two[j], 0, NULL);
      printf(" gives %d", run_named(program, "give"));
      clReleaseCommandQueue(queue);
    }
    printf(" references %u\n", settled_references(program, 1));
    clReleaseProgram(program);
  }
  // A list that names one twice.
  const cl_device_id twice[] = {two[0], two[0]};
  cl_program program = program_of("kernel void give(global int* out) { out[0] = 13; }\n");
  printf("twice the same %d\n", clBuildProgram(program, 2, twice, NULL, NULL, NULL) == CL_SUCCESS);
  clReleaseProgram(program);
  clReleaseContext(context);
  context = first;
  queue = before;
}

static void at_the_end(void) {
  clReleaseProgram(left_to_the_end);
}

// The counting layer, if it is there, tells how many releases reach the driver for the one of ours.
static void at_the_end_counted(void) {
  const char* const path = getenv("COUNTING_LAYER");
  void* const layer = path == NULL ? NULL : dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
  if (layer == NULL) return at_the_end();
  ((void (*)(void))dlsym(layer, "count_from_here"))();
  at_the_end();
  printf("released %d\n", ((int (*)(void))dlsym(layer, "counted"))());
}

int main(int count, char** words) {
  cl_platform_id platforms[8];
  cl_device_id devices[2] = {NULL, NULL};
  cl_uint found = 0;
  cl_uint has = 0;
  clGetPlatformIDs(8, platforms, &found);
  for (cl_uint i = 0; i < found && device == NULL && count >= 3; ++i) {
    char name[256] = "";
    clGetPlatformInfo(platforms[i], CL_PLATFORM_NAME, sizeof name - 1, name, NULL);
    if (strstr(name, words[1]) != NULL) clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 2, devices, &has);
    device = devices[0];
  }
  if (device == NULL) return 77;
  if (count > 3) bears = words[3];
  if (can('2')) {
    if (has > 1) for_two(devices);
    return has > 1 ? 0 : 78;
  }
  context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
  queue = clCreateCommandQueue(context, device, 0, NULL);
  lives();
  fails();
  if (can('q')) is_refused();
  binaries();
  if (can('l')) links();
  includes(words[2]);
  if (can('t')) at_once();
  several();
  forks();
  cl_uint references_of_context = 0;
  left_to_the_end = program_of("kernel void give(global int* out) { out[0] = 8; }\n");
  clBuildProgram(left_to_the_end, 1, &device, NULL, NULL, NULL);
  clGetContextInfo(context, CL_CONTEXT_REFERENCE_COUNT, sizeof references_of_context, &references_of_context,
                   NULL);
  printf("context %u\n", references_of_context);
  if (can('e')) {
    atexit(at_the_end_counted);
  } else {
    at_the_end();
  }
  clReleaseCommandQueue(queue);
  clReleaseContext(context);
  return 0;
}
