// verdict: output fail
// A source that reads otherwise than it compiles, at a line that a finding shows.
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int n)
{
    C[n * n + 1] = 1; /* ‮ } <script>alert(1)</script> ⁦ */
}
