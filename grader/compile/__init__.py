"""Compile a submission: CUDA C++ text in, a `Program` or findings for the student out.

`source` refuses what cannot be graded (`source_text`), sets host code aside (`host_code`, by the
declarations of `items`), compiles the rest with NVRTC in a sandboxed child (`nvrtc`), caches the
result and turns the compiler's log into findings (`diagnostics`). `signature` checks the program
against the lab, `launch_limits` launches against CUDA's.

`syntax`, `functions` and `dataflow` read C++ for all packages; nothing here runs a kernel.

May import `grader.labs`, `grader.sandbox` and what they build on.
"""
