"""Grading while a student types: in a terminal, and in editors by the Language Server Protocol.

- `jobs`: the newest text of each file is graded; an older one that is being graded is interrupted.
- `changes`: when a file on disk has another content, however an editor saves it.
- `documents`: a graded text as diagnostics, hovers and quick fixes of the protocol.
- `server`: the language server, on pygls.
"""
