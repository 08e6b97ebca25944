// Compiles one source with NVRTC and prints the milliseconds from nvrtcCreateProgram to the last result in
// hand. Usage: client SOURCE [OPTION...]; linked to libnvrtc.
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef void* Program;
int nvrtcCreateProgram(Program*, const char*, const char*, int, const char* const*, const char* const*);
int nvrtcCompileProgram(Program, int, const char* const*);
int nvrtcGetPTXSize(Program, size_t*);
int nvrtcGetPTX(Program, char*);
int nvrtcGetCUBINSize(Program, size_t*);
int nvrtcGetCUBIN(Program, char*);
int nvrtcGetProgramLogSize(Program, size_t*);
int nvrtcGetProgramLog(Program, char*);
int nvrtcDestroyProgram(Program*);

static double now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

int main(int count, char** words) {
  if (count < 2) return 2;
  FILE* const file = fopen(words[1], "rb");
  char* const source = calloc(1, 1 << 20);
  if (file == NULL || fread(source, 1, (1 << 20) - 1, file) == 0) return 2;
  fclose(file);
  size_t size = 0;
  Program program = NULL;
  const double begin = now_ms();
  nvrtcCreateProgram(&program, source, "bench.cu", 0, NULL, NULL);
  const int code = nvrtcCompileProgram(program, count - 2, (const char* const*)words + 2);
  nvrtcGetProgramLogSize(program, &size);
  char* const log = malloc(size);
  nvrtcGetProgramLog(program, log);
  nvrtcGetPTXSize(program, &size);
  char* const ptx = malloc(size);
  nvrtcGetPTX(program, ptx);
  nvrtcGetCUBINSize(program, &size);
  char* const cubin = malloc(size + 1);
  nvrtcGetCUBIN(program, cubin);
  const double end = now_ms();
  printf("%.4f\n", end - begin);
  if (code != 0) fprintf(stderr, "%s\n", log);
  nvrtcDestroyProgram(&program);
  return code;
}
