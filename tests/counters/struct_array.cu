// launch: {"kernel": "struct_array", "grid": [2, 1, 1], "block": [100, 1, 1], "shared": 0, "args": [["float32", 600], ["float32", 600, "out"], 200]}
struct Point {
  float x, y, z;
};
extern "C" __global__ void struct_array(const Point *in, Point *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Point p = in[i];
  p.x += p.y;
  p.z *= p.y;
  out[i] = p;
}
