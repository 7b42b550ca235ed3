// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["uint8", 32], ["int32", 32, "out"]]}
// expect: clean
struct P { char c; int i; };
extern "C" __global__ void k(const char *in, int *out) {
    P p;
    memset(&p, 0, sizeof p);
    p.c = in[threadIdx.x];
    p.i = 5;
    const unsigned char *byte = (const unsigned char *)&p;
    unsigned hash = 0;
    for (int i = 0; i < (int)sizeof p; i++) hash = hash * 31 + byte[i];
    out[threadIdx.x] = hash;
}
