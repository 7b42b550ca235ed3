#define STB_IMAGE_IMPLEMENTATION
#include "stb_image.h"
#define STB_IMAGE_WRITE_IMPLEMENTATION
#include "stb_image_write.h"
#include <algorithm>
#include <iostream>
#include <cuda_runtime.h>

namespace filters {

constexpr int kTile = 16, kSide = kTile + 2;

struct Clamp {
    int last;
    __device__ explicit Clamp(int size) : last(size - 1) {}
    __device__ int operator()(int i) const { return i < 0 ? 0 : (i > last ? last : i); }
};

template <typename T>
__device__ T median9(T (&v)[9])
{
    #pragma unroll
    for (int i = 0; i < 5; ++i) {
        int least = i;
        for (int j = i + 1; j < 9; ++j) if (v[j] < v[least]) least = j;
        T t = v[i]; v[i] = v[least]; v[least] = t;
    }
    return v[4];
}

namespace detail {
    void die(const char* what) { std::cerr << what << std::endl; std::exit(1); }
}

__global__ void median(const unsigned char* in, unsigned char* out, int width, int height)
{
    __shared__ unsigned char tile[kSide * kSide];
    const Clamp cx(width), cy(height);
    const int linear = threadIdx.y * blockDim.x + threadIdx.x;
    for (int i = linear; i < kSide * kSide; i += kTile * kTile) {
        const int x = cx(blockIdx.x * kTile + i % kSide - 1);
        const int y = cy(blockIdx.y * kTile + i / kSide - 1);
        tile[i] = in[y * width + x];
    }
    __syncthreads();
    const int x = blockIdx.x * kTile + threadIdx.x, y = blockIdx.y * kTile + threadIdx.y;
    if (x < width && y < height) {
        unsigned char v[9];
        for (int i = 0; i < 9; ++i) v[i] = tile[(threadIdx.y + i / 3) * kSide + threadIdx.x + i % 3];
        out[y * width + x] = median9(v);
    }
}

} // namespace filters

int main(int argc, char** argv)
{
    int w, h, channels;
    unsigned char* img = stbi_load(argv[1], &w, &h, &channels, 1);
    if (!img) filters::detail::die("cannot load");
    unsigned char *d_in = nullptr, *d_out = nullptr;
    cudaMalloc(&d_in, w * h);
    cudaMalloc(&d_out, w * h);
    cudaMemcpy(d_in, img, w * h, cudaMemcpyHostToDevice);
    filters::median<<<dim3((w + 15) / 16, (h + 15) / 16), dim3(16, 16)>>>(d_in, d_out, w, h);
    cudaMemcpy(img, d_out, w * h, cudaMemcpyDeviceToHost);
    stbi_write_png("out.png", w, h, 1, img, w);
    stbi_image_free(img);
}
