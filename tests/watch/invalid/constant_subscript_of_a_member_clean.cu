// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 32], ["int32", 32, "out"], 5]}
// expect: clean
struct Packet { int count; int body[1]; };
extern "C" __global__ void k(const int *in, int *out, int n) {
    __shared__ int room[8];
    Packet *p = (Packet *)room;
    if (threadIdx.x == 0) {
        p->count = 4;
        p->body[0] = p->body[1] = p->body[2] = in[0];
        p->body[3] = n;
    }
    __syncthreads();
    out[threadIdx.x] = p->body[n & 3] + p->count;
}
