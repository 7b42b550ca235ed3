#include <cuda_runtime.h>
#include <gtest/gtest.h>
#include <glog/logging.h>

class Smoother {
public:
    explicit Smoother(int n);
    virtual ~Smoother();
    float* run(const float* host);
private:
    int n_;
    float *x_{}, *y_{};
};

__global__ void smooth(const float* __restrict__ x, float* __restrict__ y, const int n)
{
    constexpr int window = 16;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float largest = __ldg(x + i), sum = largest;
        for (int j = 1; j < window; ++j) {
            const float v = __ldg(x + i + j);
            sum += v * static_cast<float>(j + 1);
            largest = fmaxf(largest, v);
        }
        y[i] = sum - largest;
    }
}

__global__ void choose_block(int threads_per_sm, int blocks_per_sm, int most, int* block)
{
    int best = 32, threads = 32;
    do {
        const bool fills = threads_per_sm % threads == 0;
        if (threads <= most && fills && threads_per_sm / threads <= blocks_per_sm) best = threads;
    } while ((threads += 32) <= most);
    *block = best;
}

Smoother::Smoother(int n) : n_(n)
{
    cudaMalloc(&x_, (n + 16) * sizeof(float));
    cudaMalloc(&y_, n * sizeof(float));
}

Smoother::~Smoother() { cudaFree(x_); cudaFree(y_); }

float* Smoother::run(const float* host)
{
    cudaMemcpy(x_, host, n_ * sizeof(float), cudaMemcpyHostToDevice);
    smooth<<<(n_ + 511) / 512, 512>>>(x_, y_, n_);
    CHECK_EQ(cudaSuccess, cudaDeviceSynchronize()) << "smooth";
    return y_;
}

TEST(SmootherTest, RunsOnAnyLength) {
    Smoother s(1000);
    float zeros[1016] = {};
    EXPECT_NE(nullptr, s.run(zeros));
}

int main(int argc, char** argv)
{
    ::testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
}
