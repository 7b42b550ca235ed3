"""Run one step on untrusted input in a confined child process under limits.

In: the name of a step ("package.module:function"), a JSON request, arrays, limits and the paths
that the child may read. Out: a Reply, a Fault that the step raised, or a SandboxFailure that says
how the child died. No process and no file of the child remains.

`call` is the entry; `bubblewrap`, `cgroup` and `user` isolate the child, `process` starts and ends
it, `inside` runs in it, `message` carries data in and out. `template` starts one confined process
that has loaded what steps need, and `template_child` runs in it and forks a child for each step.
Imports `faults` and `launch` only.
"""

STARTED, STATUS, FAILED = b"p", b"s", b"f"
"""What a child's host says: the child waits (with its pidfd), and how it ended, packed as ENDED."""

ENDED = "<id"
"""A child's exit code and its seconds of processor time."""
