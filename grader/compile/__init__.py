"""Compile a submission: CUDA C++ text in, a `Program` or findings for the student out.

`source` refuses what is not a kernel (`source_text`), compiles the rest with NVRTC in a sandboxed
child (`nvrtc`), caches the result and turns the compiler's log into findings (`diagnostics`).
`signature` and `launch_limits` check the program against the lab and against CUDA's limits.

`syntax`, `functions` and `dataflow` read C++ for all packages; nothing here runs a kernel.

May import `grader.labs`, `grader.sandbox` and what they build on.
"""
