#include "cuda_runtime.h"
#include "device_launch_parameters.h"
#include "pch.h"
#include <windows.h>
#include <stdio.h>
#pragma comment(lib, "cudart.lib")
#pragma warning(disable : 4996)

#define SIDE 5

__constant__ float mask[SIDE][SIDE];

cudaError_t convolveWithCuda(float *c, const float *a, unsigned int w, unsigned int h);

__device__ static inline float pixelAt(const float* in, int x, int y, int width, int height)
{
	if (x < 0 || y < 0 || x >= width || y >= height) return 0.0f;
	return in[y * width + x];
}

__global__ void convolve(const float* in, float* out, int width, int height)
{
	int x = threadIdx.x + blockIdx.x * blockDim.x;
	int y = threadIdx.y + blockIdx.y * blockDim.y;
	if (x < width && y < height)
	{
		float sum = 0.0f;
		for (int j = 0; j < SIDE; j++)
			for (int i = 0; i < SIDE; i++)
				sum += mask[j][i] * pixelAt(in, x + i - SIDE / 2, y + j - SIDE / 2, width, height);
		out[y * width + x] = sum;
	}
}

int main()
{
	const unsigned int w = 32, h = 32;
	float a[w * h] = { 1, 2, 3 };
	float c[w * h] = { 0 };
	LARGE_INTEGER start, end, frequency;
	QueryPerformanceFrequency(&frequency);
	QueryPerformanceCounter(&start);
	cudaError_t cudaStatus = convolveWithCuda(c, a, w, h);
	QueryPerformanceCounter(&end);
	if (cudaStatus != cudaSuccess) {
		fprintf(stderr, "convolveWithCuda failed!");
		return 1;
	}
	printf("{1,2,3} -> {%f,%f,%f}\n", c[0], c[1], c[2]);
	cudaStatus = cudaDeviceReset();
	return 0;
}

cudaError_t convolveWithCuda(float *c, const float *a, unsigned int w, unsigned int h)
{
	float *dev_a = 0, *dev_c = 0;
	cudaError_t cudaStatus;
	cudaStatus = cudaSetDevice(0);
	if (cudaStatus != cudaSuccess) {
		fprintf(stderr, "cudaSetDevice failed!  Do you have a CUDA-capable GPU installed?");
		goto Error;
	}
	cudaStatus = cudaMalloc((void**)&dev_c, w * h * sizeof(float));
	convolve<<<dim3(1, 4), dim3(32, 8)>>>(dev_a, dev_c, w, h);
	cudaStatus = cudaGetLastError();
Error:
	cudaFree(dev_c);
	cudaFree(dev_a);
	return cudaStatus;
}
