"""One call from a student's bytes to a Program: screen, cache, compile in a box, read the log."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from grader.compile.cache import key_of, load, store, user_folder
from grader.compile.diagnostics import fault, findings, located, missing_header
from grader.compile.entries import kernels, resources
from grader.compile.functions import declarations
from grader.compile.nvrtc import COMPILATION, SUCCESS, Installation, installation
from grader.compile.preprocessor import code, directives
from grader.compile.program import Kernel, Program
from grader.compile.screen import (
    HostCode,
    host_code,
    host_finding,
    nested_launch,
    refuse_reaching,
    text_of,
)
from grader.compile.syntax import Tree, parse
from grader.faults import MachineFault, StudentFault
from grader.launch import Finding
from grader.sandbox.call import Limits, SandboxFailure, run_sandboxed

FORMAT = 1
"""Of the cache's entries: a change of what the child returns makes all older ones unknown."""

LIMITS = Limits(wall=90.0, cpu=20.0, memory=2 << 30, output=64 << 20, processes=16)
MAX_STATIC_SHARED = 48 << 10  # CUDA C++ Programming Guide, technical specifications
ARCHITECTURE = "sm_90"

_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f\"\\\\]")  # in a file's name
_INCLUDE = Path(__file__).parent / "include"
_TOOLKIT = ("cooperative_groups", "cuda_fp16.h", "cuda_bf16.h", "mma.h", "cuda/", "cuda_pipeline")
_TOOLKIT_WHEELS = (
    'python -m pip install "nvidia-cuda-runtime==13.0.*" "nvidia-cuda-cccl==13.0.*" '
    '"nvidia-cuda-crt==13.0.*"'
)


@dataclass(frozen=True)
class _Raw:
    """What the child returned: code, log and PTX of the last variant (the one that failed, or the
    optimised one) and of the debug one, and the C++ names.
    """

    last: dict[str, Any]
    debug: dict[str, Any]
    names: dict[str, str]

    @property
    def log(self) -> str:
        log: str = self.last["log"]
        return log


def compile_source(
    source: bytes,
    file: str,
    *,
    architecture: str = ARCHITECTURE,
    cache: Path | Literal["user"] | None = "user",
    limits: Limits = LIMITS,
    confine: bool | None = None,
) -> Program:
    """Compile a student's `.cu` for the simulator: its `-G` and its optimised PTX.

    `file` names it in messages; only its last part is used. `cache` is the folder to keep results
    in, "user" for the user's own, None for none. StudentFault, with findings, when it does not
    compile; MachineFault when the compiler is missing.
    """
    started = time.perf_counter()
    name = _UNPRINTABLE.sub("_", Path(file).name) or "kernel.cu"
    text = text_of(source, name)
    refuse_reaching(text, name)
    tree = parse(code(text))
    _refuse_host_code(text, name, tree)
    place = installation()
    variants = _variants(architecture, place)
    folder = user_folder() if cache == "user" else cache
    key = key_of(FORMAT, text, name, variants, place.release, _headers())
    kept = load(folder, key)
    if kept is None:
        kept = _compiled(text, name, variants, place, limits, confine)
        if _last(kept)["code"] in (SUCCESS, COMPILATION):
            store(folder, key, kept)
    raw = _Raw(_last(kept), kept["variants"]["debug"], kept["names"])
    program = _program(raw, text, tree, name, architecture, place)
    return replace(program, seconds=time.perf_counter() - started)


def toolchain() -> dict[str, str]:
    """The compiler's release, for provenance. MachineFault when it is not installed."""
    return {"nvrtc": installation().release}


def architectures() -> tuple[str, ...]:
    """The architectures that can be compiled for: "sm_75", ..."""
    place = installation()
    reply = run_sandboxed(
        "grader.compile.nvrtc:architectures", {"libraries": str(place.libraries)}, limits=LIMITS
    )
    return tuple(f"sm_{number}" for number in reply.value)


def _variants(architecture: str, place: Installation) -> dict[str, list[str]]:
    """The options of each compilation, in order: the cheap one that finds the errors first."""
    headers = [f"-I{folder}" for folder in (_INCLUDE, *place.headers)]
    base = ["--std=c++17", "--device-int128", "--pre-include=cuda_runtime.h", *headers]
    virtual = architecture.replace("sm_", "compute_")
    return {
        "debug": ["-G", f"-arch={virtual}", *base],
        "optimised": ["-lineinfo", "--ptxas-options=-v", f"-arch={architecture}", *base],
    }


def _headers() -> list[str]:
    """Our headers' contents, by name: another text means another compilation."""
    return [f"{path.name}\n{path.read_text()}" for path in sorted(_INCLUDE.iterdir())]


def _compiled(
    text: str,
    name: str,
    variants: dict[str, list[str]],
    place: Installation,
    limits: Limits,
    confine: bool | None,
) -> Any:
    request = {
        "source": text,
        "file": name,
        "variants": variants,
        "libraries": str(place.libraries),
        "folder": str(_INCLUDE),
    }
    step = "grader.compile.nvrtc:compile_variants"
    try:
        return run_sandboxed(step, request, limits=limits, confine=confine).value
    except SandboxFailure as death:
        raise _gave_up(death, name, limits) from death


def _last(kept: Any) -> dict[str, Any]:
    last: dict[str, Any] = list(kept["variants"].values())[-1]
    return last


def _gave_up(death: SandboxFailure, name: str, limits: Limits) -> StudentFault | MachineFault:
    """The compiler died on this text: the text asks too much of it, unless the box itself broke or
    this machine had too little for both.
    """
    if not death.caused_by_child:
        return MachineFault(
            f"the compiler was ended before its time: {death.detail}",
            fix="grade fewer at a time, or on a machine with more cores and memory",
        )
    match death.reason:
        case "timeout":
            what = f"the compiler needed more than {min(limits.wall, limits.cpu):g} s"
        case "memory":
            what = f"the compiler needed more than {limits.memory >> 20} MB"
        case "output":
            what = f"the compiled code is larger than {limits.output >> 20} MB"
        case "crash":
            what = f"the compiler broke down on this file ({death.detail})"
        case "protocol":
            return MachineFault(f"the compiling child gave no answer: {death.detail}")
    hint = "look for templates, macros or constant expressions that expand without end"
    return fault((located(what, name, 0, "", hint=hint),), what)


def _program(
    raw: _Raw, text: str, tree: Tree, name: str, architecture: str, place: Installation
) -> Program:
    declared = declarations(tree)
    if raw.last["code"] != 0:
        found = kernels(raw.debug["ptx"], raw.names, declared, raw.log)
        raise _failure(raw, found, host_code(text, tree), text, name, place)
    return Program(
        file=name,
        source=text,
        kernels=kernels(raw.last["ptx"], raw.names, declared, raw.log),
        debug_ptx=raw.debug["ptx"],
        ptx=raw.last["ptx"],
        architecture=architecture,
        warnings=findings(raw.log, name, text),
        toolchain={"nvrtc": place.release},
    )


def _failure(
    raw: _Raw,
    found: tuple[Kernel, ...],
    hosts: tuple[HostCode, ...],
    text: str,
    name: str,
    place: Installation,
) -> StudentFault | MachineFault:
    """Why it did not compile, as one message where one says more than the compiler's many."""
    missing = missing_header(raw.log)
    if missing.startswith(_TOOLKIT) and not place.headers:
        return MachineFault(f"the toolkit's header {missing} is not here", fix=_TOOLKIT_WHEELS)
    if hosts:
        one = host_finding(hosts, text, name, _unknown_headers(text, place))
        return fault((one,), one.message)
    errors = findings(raw.log, name, text, raw.last["ptx"])
    if not any(f.severity == "error" for f in errors):
        errors = _unsaid(raw, found, text, name)
    if not errors:
        return MachineFault(f"NVRTC failed with its code {raw.last['code']} and said nothing")
    count = sum(f.severity == "error" for f in errors)
    return fault(errors, f"it does not compile: {count} error{'s' * (count != 1)}")


def _unsaid(raw: _Raw, found: tuple[Kernel, ...], text: str, name: str) -> tuple[Finding, ...]:
    """The failures that the compiler reports without a word: too much static shared memory, and
    those of its assembler that we cannot name (too much constant memory is one).
    """
    if raw.last["code"] != COMPILATION:
        return ()
    lines = {kernel.symbol: kernel for kernel in found}
    errors = []
    for symbol, used in resources(raw.log).items():
        taken = used.static_shared_bytes or 0
        if taken > MAX_STATIC_SHARED and symbol in lines:
            kernel = lines[symbol]
            message = (
                f"kernel `{kernel.name}` declares {taken:,} bytes of static shared memory, "
                f"a block can have {MAX_STATIC_SHARED:,}"
            )
            hint = "use smaller tiles, or one extern __shared__ array sized at the launch"
            errors.append(located(message, name, kernel.line, text, hint=hint))
    if not errors:
        message = "the compiler refuses this file and does not say why"
        hint = "look for __constant__ arrays of more than 64 KB, or more of anything than a GPU has"
        errors.append(located(message, name, 0, text, hint=hint))
    return tuple(errors)


def _refuse_host_code(text: str, name: str, tree: Tree) -> None:
    """StudentFault when the compiler is certain to meet a host function or a nested launch."""
    found = tuple(h for h in host_code(text, tree) if not h.guarded)
    if found:
        place = installation()
        one = host_finding(found, text, name, _unknown_headers(text, place))
        raise fault((one,), one.message)
    if nested := nested_launch(text, name, tree):
        raise fault((nested,), nested.message)


def _unknown_headers(text: str, place: Installation) -> tuple[str, ...]:
    """The headers that a source includes and that no folder of ours has."""
    names = [d.text.strip('<>"') for d in directives(text) if d.name == "include"]
    folders = (_INCLUDE, *place.headers)
    return tuple(n for n in names if not any((folder / n).is_file() for folder in folders))
