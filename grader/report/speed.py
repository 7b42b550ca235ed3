"""How fast a kernel was, as a paragraph: the ratio with its interval, times, rates, the peaks."""

from __future__ import annotations

from collections.abc import Mapping

from grader.check.speed import duration


def speed_lines(measured: Mapping[str, float]) -> list[str]:
    """What a speed check measured, for example

    1.523 times the baseline's speed (95 % interval 1.519 to 1.526, 400 pairs)
    1.234 ms a launch, the baseline 1.879 ms
    1,740 GFLOP/s, 2.9 % of this GPU's measured FMA peak
    """
    ends = f"{measured['speedup_low']:.3f} to {measured['speedup_high']:.3f}"
    own, baseline = (duration(measured[name]) for name in ("seconds", "baseline_seconds"))
    lines = [
        f"{measured['speedup']:.3f} times the baseline's speed (95 % interval {ends}, "
        f"{measured['pairs']:.0f} pairs)",
        f"{own} a launch, the baseline {baseline}",
        _rate(measured, "gflop_per_second", "GFLOP/s", "percent_of_fma_peak", "FMA peak"),
        _rate(measured, "gbyte_per_second", "GB/s", "percent_of_copy_bandwidth", "copy bandwidth"),
    ]
    if "percent_of_cublas" in measured:
        lines.append(f"{measured['percent_of_cublas']:.3g} % of cuBLAS' speed at this size")
    if "review" in measured:
        lines.append("for a person to look at: see the note above")
    return [line for line in lines if line]


def _rate(measured: Mapping[str, float], name: str, unit: str, share: str, peak: str) -> str:
    if name not in measured:
        return ""
    of = f", {measured[share]:.3g} % of this GPU's measured {peak}" if share in measured else ""
    return f"{_rounded(measured[name])} {unit}{of}"


def _rounded(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
