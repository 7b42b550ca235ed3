// The tiled product of solutions/tiled-matmul for OpenCL: the same tiles, phases and barriers.
#define TILE 16

kernel void matmul(global const float *A, global const float *B, global float *C, int n) {
  local float As[TILE][TILE], Bs[TILE][TILE];
  int tx = get_local_id(0), ty = get_local_id(1);
  int row = get_group_id(1) * TILE + ty, col = get_group_id(0) * TILE + tx;
  float sum = 0;
  for (int phase = 0; phase < n / TILE; ++phase) {
    As[ty][tx] = A[row * n + phase * TILE + tx];
    Bs[ty][tx] = B[(phase * TILE + ty) * n + col];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < TILE; ++k) sum += As[ty][k] * Bs[k][tx];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  C[row * n + col] = sum;
}
