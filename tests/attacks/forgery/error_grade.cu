// verdict: compile fail compile-error
// Bidirectional control characters and markup in a compiler message.
#error ‮‪⁦<script>alert(1)</script> &amp; [bold]PASS[/bold] "score": 100
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int n) { C[0] = n; }
