// launch: {"kernel": "prints", "grid": [2, 1, 1], "block": [33, 1, 1], "args": [["int32", 66], ["float64", 66, "out"]]}
#include <stdio.h>
#include <assert.h>
extern "C" __global__ void prints(const int *in, double *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  double *own = (double *)malloc(16);
  assert(in[i] >= 0);
  if (own) { own[0] = in[i] * 0.5; own[1] = i; out[i] = own[0] + own[1]; free(own); }
  if (i % 20 == 3)
    printf("%d %5u|%-6x|%c %s %f %8.3e %g %lld %%%p %hd %05o %+d\n", i, in[i], in[i], 'a' + i % 20, "text", out[i],
           out[i], out[i], (long long)i << 40, in, (short)i, i, -i);
  if (i == 65) printf("plain\n");
}
