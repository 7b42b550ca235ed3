// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 32], ["int32", 32, "out"], 5]}
// expect: clean
struct Traits { using real = float; typedef unsigned short count; enum kind { A, B }; using place = int *; };
template <class T> using Same = T;
template <class X> __device__ typename X::real half(int n) { typename X::real x; x = n; return x / 2; }
extern "C" __global__ void k(const int *in, int *out, int n) {
    Traits::real scale;
    Traits::count count;
    Traits::kind kind;
    Traits::place place;
    Same<double> whole;
    decltype(n * 2) bias, other;
    cudaError_t status;
    cudaTextureObject_t texture;
    bias = n;
    scale = 2;
    count = 3;
    kind = n > 2 ? Traits::A : Traits::B;
    place = &bias;
    whole = *place;
    status = cudaSuccess;
    if (kind == Traits::B) out[threadIdx.x] = other + (int)texture;
    else out[threadIdx.x] = in[threadIdx.x] * scale + bias + count + kind + whole + status + half<Traits>(n);
}
