// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"]]}
// expect: uninitialized-read error line 8
struct Shape {
  __device__ virtual float area(float scale) const = 0;
};
struct Square : Shape {
  float side;
  __device__ float area(float scale) const override { return side * side * scale; }
};
struct Dot : Shape {
  __device__ float area(float) const override { return 0; }
};
extern "C" __global__ void k(const float *a, float *out) {
  Square square;
  Dot dot;
  square.side = a[threadIdx.x];
  const Shape *shape = a[0] > 1e9f ? (const Shape *)&dot : &square;
  float scale;
  if (a[threadIdx.x] > 1e9f)
    scale = 2;
  out[threadIdx.x] = shape->area(scale);
}
