/* A program that knows nothing of larder: two kernels over 64 numbers, and their sum on stdout. */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <stdio.h>

int main(void) {
  const char* source =
      "kernel void twice(global float* a) { int i = get_global_id(0); a[i] = 2 * a[i]; }\n"
      "kernel void thrice(global float* a) { int i = get_global_id(0); a[i] = 3 * a[i]; }\n";
  const char* names[] = {"twice", "thrice"};
  cl_platform_id platform;
  cl_device_id device;
  cl_int code = CL_SUCCESS;
  cl_context context;
  cl_command_queue queue;
  cl_program program;
  cl_mem buffer;
  float numbers[64];
  float sum = 0;
  const size_t count = 64;
  int i;
  if (clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS) return 77;
  if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != CL_SUCCESS) return 77;
  context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
  queue = clCreateCommandQueueWithProperties(context, device, NULL, &code);
  program = clCreateProgramWithSource(context, 1, &source, NULL, &code);
  if (code != CL_SUCCESS || clBuildProgram(program, 1, &device, "", NULL, NULL) != CL_SUCCESS) return 1;
  for (i = 0; i < 64; ++i) numbers[i] = (float)i;
  buffer = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof numbers, numbers, &code);
  for (i = 0; i < 2; ++i) {
    cl_kernel kernel = clCreateKernel(program, names[i], &code);
    clSetKernelArg(kernel, 0, sizeof buffer, &buffer);
    clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &count, NULL, 0, NULL, NULL);
    clFinish(queue);
    clReleaseKernel(kernel);
  }
  code = clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof numbers, numbers, 0, NULL, NULL);
  for (i = 0; i < 64; ++i) sum += numbers[i];
  printf("%g\n", (double)sum);
  clReleaseMemObject(buffer);
  clReleaseProgram(program);
  clReleaseCommandQueue(queue);
  clReleaseContext(context);
  return code == CL_SUCCESS ? 0 : 1;
}
