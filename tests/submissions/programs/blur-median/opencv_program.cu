#include <opencv2/opencv.hpp>
#include <opencv2/core/cuda.hpp>
#include <iostream>
#include <cuda_runtime.h>

using namespace cv;
using namespace std;

#define BLOCK 16
#define WINDOW 3

static inline void _safe_cuda_call(cudaError err, const char* msg, const char* file_name, const int line_number)
{
	if (err != cudaSuccess) {
		fprintf(stderr, "%s\n\nFile: %s\n\nLine Number: %d\n\nReason: %s\n", msg, file_name, line_number, cudaGetErrorString(err));
		exit(EXIT_FAILURE);
	}
}
#define SAFE_CALL(call, msg) _safe_cuda_call((call), (msg), __FILE__, __LINE__)

__device__ void sort9(unsigned char *w)
{
	for (int i = 0; i < 9; i++)
		for (int j = i + 1; j < 9; j++)
			if (w[i] > w[j]) { unsigned char t = w[i]; w[i] = w[j]; w[j] = t; }
}

__global__ void median(const unsigned char *input, unsigned char *output, int width, int height)
{
	__shared__ unsigned char s[BLOCK + 2][BLOCK + 2];
	const int x = blockIdx.x * BLOCK + threadIdx.x;
	const int y = blockIdx.y * BLOCK + threadIdx.y;
	for (int i = threadIdx.y * BLOCK + threadIdx.x; i < (BLOCK + 2) * (BLOCK + 2); i += BLOCK * BLOCK) {
		int sx = i % (BLOCK + 2), sy = i / (BLOCK + 2);
		int gx = min(max((int)(blockIdx.x * BLOCK) + sx - 1, 0), width - 1);
		int gy = min(max((int)(blockIdx.y * BLOCK) + sy - 1, 0), height - 1);
		s[sy][sx] = input[gy * width + gx];
	}
	__syncthreads();
	if (x >= width || y >= height) return;
	unsigned char w[WINDOW * WINDOW];
	for (int j = 0; j < WINDOW; j++)
		for (int i = 0; i < WINDOW; i++) w[j * WINDOW + i] = s[threadIdx.y + j][threadIdx.x + i];
	sort9(w);
	output[y * width + x] = w[4];
}

void filter(const Mat& input, Mat& output)
{
	const int bytes = input.step * input.rows;
	unsigned char *d_input, *d_output;
	SAFE_CALL(cudaMalloc<unsigned char>(&d_input, bytes), "CUDA Malloc Failed");
	SAFE_CALL(cudaMalloc<unsigned char>(&d_output, bytes), "CUDA Malloc Failed");
	SAFE_CALL(cudaMemcpy(d_input, input.ptr(), bytes, cudaMemcpyHostToDevice), "CUDA Memcpy Failed");
	const dim3 block(BLOCK, BLOCK);
	const dim3 grid((input.cols + block.x - 1) / block.x, (input.rows + block.y - 1) / block.y);
	median<<<grid, block>>>(d_input, d_output, input.cols, input.rows);
	SAFE_CALL(cudaDeviceSynchronize(), "Kernel Launch Failed");
	SAFE_CALL(cudaMemcpy(output.ptr(), d_output, bytes, cudaMemcpyDeviceToHost), "CUDA Memcpy Failed");
}

int main()
{
	Mat input = imread("lena.png", IMREAD_GRAYSCALE);
	if (input.empty()) { cout << "Image not found!" << std::endl; return -1; }
	Mat output(input.rows, input.cols, CV_8UC1);
	filter(input, output);
	imshow("Output", output);
	waitKey();
	return 0;
}
