"""What this simulator does not run, by the words that a reader of CUDA's manual knows it by."""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import prod

_FEATURES = (
    (("wmma", "mma", "wgmma", "ldmatrix", "stmatrix", "movmatrix", "tcgen05"), "tensor cores"),
    (("tex", "tld4", "txq", "istypep"), "textures"),
    (("suld", "sust", "sured", "suq"), "surfaces"),
    (("mapa", "getctarank", "clusterlaunchcontrol"), "thread block clusters"),
    (("st.async", "red.async", "multimem"), "thread block clusters"),
    (("cp.async.bulk", "cp.reduce.async"), "the tensor memory accelerator"),
    (("tensormap", "prefetch.tensormap"), "the tensor memory accelerator"),
    (("mbarrier.arrive", "mbarrier.expect_tx"), "transactions of the tensor memory accelerator"),
    (("griddepcontrol",), "dependent launches"),
    (("setmaxnreg",), "registers moved between warps"),
)
_VIDEO = re.compile(r"v(?:add|sub|absdiff|min|max|shl|shr|mad|set|avrg)[24]?\.")
_REGISTER = re.compile(
    r"%(?:n?clusterid|cluster_|is_explicit_cluster|pm\d|current_graph|aggr_smem)"
)


def described(refused: str) -> str:
    """The refused instruction with what it belongs to: "wmma.load... (tensor cores)"."""
    if refused.endswith(")"):
        return refused
    if _VIDEO.match(refused):
        return f"{refused} (video instructions)"
    for names, words in _FEATURES:
        if any(refused == name or refused.startswith(f"{name}.") for name in names):
            return f"{refused} ({words})"
    return refused


def refused_attribute(limits: Mapping[str, list[int]]) -> str:
    """The attribute of a kernel that this machine does not have; "" if none."""
    clusters = prod(limits.get("reqnctapercluster", [1])) > 1
    return "__cluster_dims__ (thread block clusters)" if clusters else ""


def refused_register(operands: list[str]) -> str:
    """The special register among the operands that this machine does not have; "" if none."""
    for operand in operands:
        if _REGISTER.match(operand):
            words = "performance counters" if operand.startswith("%pm") else "thread block clusters"
            return f"{operand} ({words})"
    return ""
