// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 32], ["int32", 32, "out"], 5]}
// expect: clean
extern "C" __global__ void k(const int *in, int *out, int n) {
    int \
scale \
    ; float bias\
, other = 2 /* of
  two */ ; const char *text = "a\
b";
    alignas(8) int wide; short narrow [[maybe_unused]]; [[maybe_unused]] int nothing, something;
    scale = n; bias = 1; wide = 2; narrow = 3; something = nothing;
    int x = in[threadIdx.x] * scale;
    out[threadIdx.x] = x + bias + other + text[1] + wide + narrow;
}
