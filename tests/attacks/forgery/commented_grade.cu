// verdict: output fail
// Bidirectional control characters in a line that a finding shows: it reads differently than it compiles.
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int n)
{
    C[n * n + 1] = 1; /* ‮ } <script>alert(1)</script> ⁦ */
}
