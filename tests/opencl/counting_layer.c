// A layer for OpenCL's loader that counts what reaches the drivers once main() has returned: what larder does
// there by itself, its host would not have done. Says so at the very end.
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl_layer.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static cl_icd_dispatch next;
static cl_icd_dispatch mine;
static int releases;

static cl_int CL_API_CALL release_program(cl_program program) {
  ++releases;
  return next.clReleaseProgram(program);
}
static cl_int CL_API_CALL release_context(cl_context context) {
  ++releases;
  return next.clReleaseContext(context);
}

// Called by the test's program, when the end begins and when it is over.
void count_from_here(void) {
  releases = 0;
}
int counted(void) {
  return releases;
}

cl_int CL_API_CALL clGetLayerInfo(cl_layer_info what, size_t size, void* to, size_t* size_ret) {
  const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
  if (what != CL_LAYER_API_VERSION || (to != NULL && size < sizeof version)) return CL_INVALID_VALUE;
  if (to != NULL) memcpy(to, &version, sizeof version);
  if (size_ret != NULL) *size_ret = sizeof version;
  return CL_SUCCESS;
}

cl_int CL_API_CALL clInitLayer(cl_uint count, const cl_icd_dispatch* beneath, cl_uint* count_ret,
                               const cl_icd_dispatch** table) {
  if (count < sizeof next / sizeof(void*)) return CL_INVALID_VALUE;
  memcpy(&next, beneath, sizeof next);
  mine = next;
  mine.clReleaseProgram = release_program;
  mine.clReleaseContext = release_context;
  *count_ret = sizeof mine / sizeof(void*);
  *table = &mine;
  return CL_SUCCESS;
}
