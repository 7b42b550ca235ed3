// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64], ["int32", 64, "out"]]}
// expect: invalid-access error line 11
struct Node { int value; Node *next; };
extern "C" __global__ void k(const int *in, int *out) {
  __shared__ Node *list[64];
  int t = threadIdx.x;
  Node own = {in[t], nullptr};
  list[t] = &own;
  __syncthreads();
  own.next = list[(t + 1) & 63];
  out[t] = own.next->value + own.value;
}
