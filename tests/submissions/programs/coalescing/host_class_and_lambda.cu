#include <cassert>
#include <functional>
#include <iostream>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>
#include "cuda_runtime.h"
#include "device_launch_parameters.h"

namespace gpu {

template <class T>
class Buffer {
    T* data_ = nullptr;
    size_t size_;

public:
    explicit Buffer(size_t n) : size_{n} {
        if (cudaMalloc(&data_, n * sizeof(T)) != cudaSuccess) throw std::runtime_error("cudaMalloc");
    }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    ~Buffer() { cudaFree(data_); }
    T* get() { return data_; }
    void upload(const std::vector<T>& v) { cudaMemcpy(data_, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice); }
    std::vector<T> download() const {
        std::vector<T> v(size_);
        cudaMemcpy(v.data(), data_, size_ * sizeof(T), cudaMemcpyDeviceToHost);
        return v;
    }
};

struct Shape { int rows, cols; };

__device__ __forceinline__ int at(int r, int c, int stride) { return r * stride + c; }

__global__ void matmul(const float* a, const float* b, float* c, int rows, int cols, int inner)
{
    const Shape shape = {rows, cols};
    const int col = blockDim.x * blockIdx.x + threadIdx.x;
    const int row = blockDim.y * blockIdx.y + threadIdx.y;
    if (row >= shape.rows || col >= shape.cols) return;
    float total = 0.f;
    for (int i = 0; i != inner; ++i) total = fmaf(a[at(row, i, inner)], b[at(i, col, cols)], total);
    c[at(row, col, cols)] = total;
}

}  // namespace gpu

std::ostream& operator<<(std::ostream& out, const gpu::Shape& s) { return out << s.rows << "x" << s.cols; }

static const auto now = [] { return std::chrono::steady_clock::now(); };
std::mt19937 generator(42);
std::uniform_real_distribution<float> uniform{-1.f, 1.f};

auto random_matrix(gpu::Shape s) -> std::vector<float> {
    std::vector<float> m(s.rows * s.cols);
    for (auto& v : m) v = uniform(generator);
    return m;
}

int main() try {
    gpu::Shape s{300, 200};
    auto a = random_matrix({300, 100}), b = random_matrix({100, 200});
    gpu::Buffer<float> da(a.size()), db(b.size()), dc(300 * 200);
    da.upload(a);
    db.upload(b);
    auto start = now();
    gpu::matmul<<<dim3(7, 10), dim3(32, 32)>>>(da.get(), db.get(), dc.get(), 300, 200, 100);
    cudaDeviceSynchronize();
    std::cout << s << " " << (now() - start).count() << "\n";
    assert(dc.download().size() == 60000);
} catch (const std::exception& e) {
    std::cerr << e.what() << '\n';
    return 1;
}
