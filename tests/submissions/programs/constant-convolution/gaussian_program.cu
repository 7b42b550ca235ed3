#include <cuda_runtime.h>
#include <device_launch_parameters.h>
#include <math_constants.h>
#include <cstdio>
#include <cmath>
#include <vector>
#include <sys/resource.h>

#define FILTER_RADIUS 2
#define FILTER_SIDE (2 * FILTER_RADIUS + 1)

__constant__ float mask[FILTER_SIDE][FILTER_SIDE];
static float h_mask[FILTER_SIDE][FILTER_SIDE];
static const double SIGMA = 1.4;

static void make_gaussian()
{
    double total = 0;
    for (int i = -FILTER_RADIUS; i <= FILTER_RADIUS; i++)
        for (int j = -FILTER_RADIUS; j <= FILTER_RADIUS; j++)
            total += h_mask[i + FILTER_RADIUS][j + FILTER_RADIUS] = std::exp(-(i * i + j * j) / (2 * SIGMA * SIGMA));
    for (auto &r : h_mask) for (auto &v : r) v /= total;
}

void convolve_cpu(const std::vector<float> &in, std::vector<float> &out, int w, int h);

__global__ void convolve(const float *in, float *out, int width, int height)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    float s = 0.0f;
#pragma unroll
    for (int j = 0; j < FILTER_SIDE; ++j)
#pragma unroll
        for (int i = 0; i < FILTER_SIDE; ++i) {
            const int xx = x + i - FILTER_RADIUS, yy = y + j - FILTER_RADIUS;
            const bool ok = (unsigned)xx < (unsigned)width && (unsigned)yy < (unsigned)height;
            s += ok ? mask[j][i] * in[yy * width + xx] : 0.0f;
        }
    out[y * width + x] = s;
}

int main(int argc, char **argv)
{
    make_gaussian();
    cudaMemcpyToSymbol(mask, h_mask, sizeof(mask));
    int w = 640, h = 480;
    std::vector<float> in(w * h, 1.f), out(w * h), ref(w * h);
    float *d_in, *d_out;
    cudaMalloc(&d_in, in.size() * sizeof(float));
    cudaMalloc(&d_out, out.size() * sizeof(float));
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    cudaMemcpyAsync(d_in, in.data(), in.size() * sizeof(float), cudaMemcpyHostToDevice, stream);
    convolve<<<dim3((w + 31) / 32, (h + 7) / 8), dim3(32, 8), 0, stream>>>(d_in, d_out, w, h);
    cudaMemcpyAsync(out.data(), d_out, out.size() * sizeof(float), cudaMemcpyDeviceToHost, stream);
    cudaStreamSynchronize(stream);
    convolve_cpu(in, ref, w, h);
    for (int i = 0; i < w * h; i++) if (fabs(out[i] - ref[i]) > 1e-4) { puts("wrong"); return 1; }
    puts("ok");
}

void convolve_cpu(const std::vector<float> &in, std::vector<float> &out, int w, int h)
{
    for (int y = 0; y < h; y++) for (int x = 0; x < w; x++) {
        float s = 0;
        for (int j = -FILTER_RADIUS; j <= FILTER_RADIUS; j++) for (int i = -FILTER_RADIUS; i <= FILTER_RADIUS; i++)
            if (x + i >= 0 && x + i < w && y + j >= 0 && y + j < h) s += h_mask[j + 2][i + 2] * in[(y + j) * w + x + i];
        out[y * w + x] = s;
    }
}
