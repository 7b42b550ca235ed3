#include <array>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>
#include <cuda_runtime.h>

static_assert(sizeof(float) == 4, "float has four bytes");
static_assert(std::is_trivially_copyable<float>::value, "");

using Index = std::int32_t;
enum class Mode { fast, exact };

constexpr std::array<int, 3> sizes{64, 128, 256};
constexpr auto total() { int s = 0; for (auto v : sizes) s += v; return s; }

template <typename F> void repeat(int times, F&& f) { while (times--) std::forward<F>(f)(); }

__global__ void choose_tile(Index threads, Index bytes, Index* tile)
{
    Index width = 32;
    while (width > 1 && (width * width > threads || 2 * width * width * Index(sizeof(float)) > bytes)) --width;
    *tile = width;
}

__global__ void matmul(const float* A, const float* B, float* C, Index m, Index n, Index k, Index tile)
{
    extern __shared__ float memory[];
    auto As = memory, Bs = memory + tile * tile;
    auto row = Index(blockIdx.y * tile + threadIdx.y), col = Index(blockIdx.x * tile + threadIdx.x);
    auto slot = threadIdx.y * tile + threadIdx.x;
    float sum{};
    for (Index first = 0; first < k; first += tile) {
        Index x = first + threadIdx.x, y = first + threadIdx.y;
        As[slot] = row < m && x < k ? A[row * k + x] : 0.f;
        Bs[slot] = y < k && col < n ? B[y * n + col] : 0.f;
        __syncthreads();
        for (Index i = 0; i < tile; ++i) sum += As[threadIdx.y * tile + i] * Bs[i * tile + threadIdx.x];
        __syncthreads();
    }
    if (row < m && col < n) C[row * n + col] = sum;
}

std::optional<int> parse(const char* s) { return s ? std::optional<int>(std::stoi(s)) : std::nullopt; }

int main(int argc, char** argv)
{
    Mode mode = argc > 1 ? Mode::exact : Mode::fast;
    repeat(mode == Mode::fast ? 1 : 3, [&] {
        matmul<<<1, dim3(8, 8), 2 * 64 * sizeof(float)>>>(nullptr, nullptr, nullptr, 0, 0, total(), 8);
    });
    return parse(argv[1]).value_or(0);
}
