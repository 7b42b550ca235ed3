// kernel hostglobals grid 1 block 32
// out y int32 = np.arange(32)
#include <cstdio>
#include <cstdlib>
int host_counter = 3;
const char *names[] = {"a", "b"};
static float table[4] = {1, 2, 3, 4};
const float pi_host = 3.14f;
struct Config { int a; float b; const char *s; };
Config cfg = {1, 2, "x"};
double *buf;
extern "C" __global__ void hostglobals(int *y) { y[threadIdx.x] = threadIdx.x; }
