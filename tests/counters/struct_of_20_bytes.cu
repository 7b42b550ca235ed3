// launch: {"kernel": "struct_of_20_bytes", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 640], ["float32", 128, "out"]]}
struct Particle { float x, y, z, mass; int kind; };
extern "C" __global__ void struct_of_20_bytes(const Particle *p, float *out) {
  int i = blockIdx.x * 64 + threadIdx.x;
  out[i] = p[i].mass * (p[i].x + p[i].z);
}
