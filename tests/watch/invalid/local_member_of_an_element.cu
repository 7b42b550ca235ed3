// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 32], ["int32", 32, "out"], 3]}
// expect: invalid-access info line 7 variable bodies[...].pos
struct Body { float pos[3], vel[3]; };
extern "C" __global__ void k(const int *in, int *out, int n) {
    Body bodies[2] = {};
    for (int b = 0; b < 2; ++b)
        for (int i = 0; i <= n; ++i) bodies[b].pos[i] = in[threadIdx.x];
    out[threadIdx.x] = bodies[1].pos[2] + bodies[0].vel[0] + bodies[n & 1].vel[1];
}
