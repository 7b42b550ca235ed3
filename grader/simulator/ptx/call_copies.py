"""Give each call of a function a copy of its own.

Then an instruction has one chain of calls that leads to it, and the order of two instructions is
that of their calls. Only runs that found something in a function with several calls need this.
"""

from __future__ import annotations

from dataclasses import replace

from grader.simulator.ptx.model import Function

MOST_COPIES = 64
MOST_INSTRUCTIONS = 20_000
"""The copies that are made of the functions of a kernel, and the instructions that these have."""

_MARK = "$call"


def with_a_copy_for_each_call(functions: dict[str, Function], kernel: str) -> dict[str, Function]:
    """The functions of a kernel, each called in one place.

    Functions that call themselves, and calls through an address, stay as they are; so do the last
    ones where there would be too many copies.
    """
    made, called, work = dict(functions), {kernel}, [kernel]
    path: dict[str, frozenset[str]] = {kernel: frozenset((kernel,))}
    copies = room = 0
    while work:
        name = work.pop(0)
        body = []
        for i in made[name].body:
            callee = next((x for x in i.operands[:2] if _is_defined(made, x)), None)
            if not i.op.startswith("call") or callee is None or callee in path[name]:
                body.append(i)
                continue
            own, size = callee, len(made[callee].body)
            if callee in called and copies < MOST_COPIES and room + size <= MOST_INSTRUCTIONS:
                copies, room = copies + 1, room + size
                own = f"{callee}{_MARK}{copies}"
                body_of_copy = [replace(x) for x in functions[callee].body]
                made[own] = replace(made[callee], name=own, body=body_of_copy)
            if own not in called:
                path[own] = path[name] | {callee}
                work.append(own)
            called.add(own)
            body.append(replace(i, operands=[own if x == callee else x for x in i.operands]))
        made[name] = replace(made[name], body=body)
    return made


def original_name(name: str) -> str:
    """The name of the function that a copy for a call was made of, or the name itself."""
    return name.partition(_MARK)[0]


def _is_defined(functions: dict[str, Function], name: str) -> bool:
    return name in functions and functions[name].has_body and not functions[name].entry
