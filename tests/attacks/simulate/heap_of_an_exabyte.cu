// verdict: output fail
// Allocates more memory than any machine has.
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int n)
{
    char* first = (char*)malloc(1ul << 60);
    if (first) *first = 1;
    for (int i = 0; i < 1000; ++i) {
        char* more = (char*)malloc(1ul << 40);
        if (more) *more = 1;
    }
}
