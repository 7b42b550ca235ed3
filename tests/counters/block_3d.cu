// launch: {"kernel": "block_3d", "grid": [2, 1, 2], "block": [8, 4, 3], "shared": 0, "args": [["float32", 384], ["float32", 384, "out"]]}
extern "C" __global__ void block_3d(const float *in, float *out) {
  int x = blockIdx.x * 8 + threadIdx.x, y = threadIdx.y, z = blockIdx.z * 3 + threadIdx.z;
  out[(z * 4 + y) * 16 + x] = in[(x * 4 + y) * 6 + z];
}
