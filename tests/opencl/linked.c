// Compiles two sources, links them by way of a library, and says what the kernel gives. What goes into it can
// be changed one by one. Arguments: a part of the platform's name, and NAME=TEXT for any of caller, helper,
// header, name, compile, library, order.
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <stdio.h>
#include <string.h>

static const char* caller = "";
static const char* helper = "";
static const char* header = "#define VALUE 9\n";
static const char* name = "given.h";
static const char* compile = "";
static const char* library = "-create-library";
static const char* order = "caller first";

static void take(const char* word) {
  const char** const places[] = {&caller, &helper, &header, &name, &compile, &library, &order};
  const char* const names[] = {"caller=", "helper=", "header=", "name=", "compile=", "library=", "order="};
  for (int i = 0; i < 7; ++i) {
    if (strncmp(word, names[i], strlen(names[i])) == 0) *places[i] = word + strlen(names[i]);
  }
}

int main(int count, char** words) {
  cl_platform_id platforms[8];
  cl_uint found = 0;
  cl_device_id device = NULL;
  cl_int code = 0;
  clGetPlatformIDs(8, platforms, &found);
  for (cl_uint i = 0; i < found && device == NULL && count >= 2; ++i) {
    char of[256] = "";
    clGetPlatformInfo(platforms[i], CL_PLATFORM_NAME, sizeof of - 1, of, NULL);
    if (strstr(of, words[1]) != NULL) clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 1, &device, NULL);
  }
  if (device == NULL) return 77;
  for (int i = 2; i < count; ++i) take(words[i]);
  cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
  cl_command_queue queue = clCreateCommandQueue(context, device, 0, NULL);
  char text[1024];
  const char* given = text;
  snprintf(text, sizeof text,
           "%s\n#include \"%s\"\n#ifndef MORE\n#define MORE 0\n#endif\nint helper(int);\n"
           "kernel void give(global int* out) { out[0] = helper(VALUE) + MORE; }\n",
           caller, name);
  cl_program calls = clCreateProgramWithSource(context, 1, &given, NULL, NULL);
  snprintf(text, sizeof text, "%s\nint helper(int by) { return by * 2; }\n", helper);
  cl_program helps = clCreateProgramWithSource(context, 1, &given, NULL, NULL);
  cl_program head = clCreateProgramWithSource(context, 1, &header, NULL, NULL);
  if (clCompileProgram(calls, 1, &device, compile, 1, &head, &name, NULL, NULL) != CL_SUCCESS) return 1;
  if (clCompileProgram(helps, 1, &device, NULL, 0, NULL, NULL, NULL, NULL) != CL_SUCCESS) return 2;
  cl_program one = clLinkProgram(context, 1, &device, library, 1, &helps, NULL, NULL, &code);
  if (code != CL_SUCCESS) return 3;
  cl_program parts[] = {calls, one};
  if (strcmp(order, "caller first") != 0) {
    parts[0] = one;
    parts[1] = calls;
  }
  cl_program linked = clLinkProgram(context, 1, &device, "", 2, parts, NULL, NULL, &code);
  if (code != CL_SUCCESS) return 4;
  cl_kernel kernel = clCreateKernel(linked, "give", NULL);
  int value = -1;
  const size_t size = 1;
  cl_mem out = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof value, NULL, NULL);
  clSetKernelArg(kernel, 0, sizeof out, &out);
  clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &size, &size, 0, NULL, NULL);
  clEnqueueReadBuffer(queue, out, CL_TRUE, 0, sizeof value, &value, 0, NULL, NULL);
  printf("%d\n", value);
  clReleaseMemObject(out);
  clReleaseKernel(kernel);
  clReleaseProgram(linked);
  clReleaseProgram(one);
  clReleaseProgram(head);
  clReleaseProgram(calls);
  clReleaseProgram(helps);
  clReleaseCommandQueue(queue);
  clReleaseContext(context);
  return 0;
}
