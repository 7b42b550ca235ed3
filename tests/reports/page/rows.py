"""Classes made by hand: plain ones of any size, and one whose every word is an attack."""

from __future__ import annotations

from dataclasses import replace

from grader.checks.result import Result
from grader.checks.suite import award, make_check
from grader.grading.record import CaseResult, Grade
from grader.grading.timing import timing_samples
from grader.labs.model import CheckSpec
from grader.launch import Finding, LineCounters, Origin, OtherAccess
from grader.reports.classes import ReportRow
from tests.checks.test_speed import ASKED, H100, a_timing, judged
from tests.made import RACE, SOURCE, a_grade, a_result, counters

CASES = (
    CaseResult("square", "16 x 16", "public", "pass"),
    CaseResult("ragged", "33 x 17", "public", "fail"),
    CaseResult("secret-4711", "4711 x 1931", "hidden", "fail"),
)
PUBLIC = replace(RACE, cases=("square", "ragged"), origins=(Origin("row", 5),))
WRONG = Finding(
    "wrong-output",
    "error",
    "896 of 1024 elements of C are wrong; the first is C[2, 0] = 0.5975",
    file="tiled.cu",
    line=8,
    text="    C[row * n + col] = sum;",
    hint="work one of these elements out by hand",
    detail="from C[2, 0] on:\nexpected    actual\n0.0248      0.5975",
    cases=("ragged",),
)
WARNING = Finding("uncoalesced", "warning", "a warp's loads touch 32 sectors", line=7)
LINES = (
    counters(6, ld_requests=1728, ld_sectors=6912, shared_st=1728),
    counters(7, ld_requests=8, ld_sectors=256, waves=55296, conflicts=48),
)
NAMES = (
    "Ada Lovelace",
    "Grace Hopper",
    "Konrad Zuse",
    "Émilie du Châtelet",
    "関 孝和",
    "ada lovelace",
)


def speed_result(speedup: float) -> Result:
    """The speed check's verdict on a made-up measurement."""
    check = make_check(CheckSpec("speed", 15, ASKED))
    return award(check, judged(a_timing(speedup)))


def a_row(number: int) -> ReportRow:
    """One of six kinds of students in turn; names repeat with a number, two differ in case only."""
    kind = number % len(NAMES)
    points = (15, 10, 0, 5, 7.5, 15)[kind]
    checks = [
        a_result("compile", "pass", 0, 0),
        a_result("output", "pass" if points == 15 else "fail", 2 * points, 30),
        a_result(
            "sync",
            "fail" if kind in (2, 3) else "pass",
            0 if kind in (2, 3) else 15,
            findings=(PUBLIC, WRONG) if kind in (2, 3) else (WARNING,) if kind == 1 else (),
        ),
        speed_result(1.0 + number % 7 / 10) if kind in (0, 3) else a_result("speed", "unjudged"),
    ]
    if kind == 4:
        checks[1] = a_result("output", "error", 0, 30)
    grade = a_grade(*checks, cases=CASES, lines=LINES, lines_on="ragged", file=f"s{number}.cu")
    again = f" {number // len(NAMES) + 1}" if number >= len(NAMES) else ""
    return ReportRow(
        NAMES[kind] + again,
        measured(grade),
        SOURCE + f"// {number}\n",
        late="2 h late: 10 % off" if kind == 1 else "",
        override="by M. Curie: the handout was wrong" if kind == 5 else "",
        points=41.5 if kind == 5 else None,
    )


def measured(grade: Grade) -> Grade:
    """With what a GPU tells beside a speed check."""
    if not any("speedup" in check.measurements for check in grade.checks):
        return grade
    shown = {"device": H100, "driver": "580.65", "samples": timing_samples([a_timing(1.3)])}
    return replace(grade, backend="gpu", provenance=replace(grade.provenance, **shown))  # type: ignore[arg-type]


def a_class(size: int) -> list[ReportRow]:
    return [a_row(number) for number in range(size)]


def attacks(server: str) -> list[str]:
    """Texts that would run a script, ask `server` for something or reorder what is read, were
    they not neutralised.
    """
    return [
        "<script>window.hacked = 1</script>",
        f"<script src={server}/script.js></script>",
        '"><img src=x onerror="window.hacked = 1">',
        f"'><img src={server}/image.png>",
        f"</style><style>@import url({server}/style.css);</style>",
        "</script><script>window.hacked = 1</script>",
        "</title></head><body onload='window.hacked = 1'>",
        "<svg/onload=window.hacked=1>",
        f"<iframe src={server}/frame></iframe>",
        f"<meta http-equiv=refresh content='0;url={server}/refresh'>",
        f"<base href={server}/>",
        f"<link rel=stylesheet href={server}/link.css>",
        "<a href='javascript:window.hacked=1'>x</a>",
        "--><!--",
        "]]></svg><script>window.hacked = 1</script>",
        "{{ 7 * 7 }}{% include '/etc/passwd' %}${7*7}",
        "\u202etxt.exe\u2066 \u200b\ufeff",
        "\x1b[31mred\x07\x00\x9b2J",
        "line\nbreak\rreturn\u2028\u2029\x0b\x0c\x85",
        "lone \ud800 surrogate",
        "`a`<script>window.hacked = 1</script>`b`",
        "W" * 5000,
        "../../../../tmp/escape",
        "..\\..\\con",
        "/etc/passwd\0.html",
        "",
        " ",
        "%2e%2e%2f&lt;script&gt;&#x3c;script>",
        "=cmd|' /C calc'!A0",
    ]


def hostile_class(server: str) -> list[ReportRow]:
    """A row for each attack: the attack in every place that is text, and source made of it."""
    return [hostile_row(attack) for attack in attacks(server)]


def hostile_row(attack: str) -> ReportRow:
    finding = Finding(
        "race", "error", attack, attack, 1, 0, attack, 2, "shared", "RAW", "read", attack,
        (0, 0, 0), (1, 0, 0), OtherAccess(2, (0, 0, 0), (1, 0, 0), "write", attack), attack, attack,
        (attack,), (Origin(attack, 3),),
    )  # fmt: skip
    check = a_result(
        attack,
        "fail",
        1,
        15,
        summary=attack,
        findings=(finding, replace(finding, kind=attack, line=2)),
        measurements={attack: 1.5},
        measured_on=attack,
        cases={attack: "fail"},
    )
    profile = a_result(
        "profile", "pass", 0, 0, measurements={f"{attack} {w}": 1.0 for w in ("ncu", "sim")}
    )
    grade = a_grade(
        check,
        profile,
        replace(speed_result(1.3), findings=(finding,)),
        cases=[CaseResult(attack, attack, "hidden", "fail")],
        title=attack,
        lab=attack,
        file=attack,
        student=attack,
        submission_sha256=attack,
        lines=(LineCounters(1, {attack: 1.0}),),
        lines_on=attack,
    )
    made = replace(
        grade.provenance,
        seed=attack,
        toolchain={attack: attack},
        grader_version=attack,
        started=attack,
        device=attack,
        driver=attack,
        clocks={attack: attack},
        lab_sha256=attack,
    )
    source = f'// {attack}\n/* {attack}\n{attack} */ "{attack}\n# {attack}\n{attack}'
    return ReportRow(attack, replace(grade, provenance=made), source, attack, attack, 3.0, attack)
