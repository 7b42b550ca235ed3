"""`grader doctor`: what this machine can do for grading, and how to mend what it cannot."""

from __future__ import annotations

from grader.cli.options import Json
from grader.cli.terminal import check_writable, show_line, write_json
from grader.fault import MachineFault

MARKS = {"ok": "ok  ", "note": "note", "bad": "FAIL"}


def doctor(json: Json = None) -> int:
    """Look at what grading needs on this machine. The exit code is 3 when it cannot grade."""
    from dataclasses import asdict

    from grader import __version__
    from grader.doctor import signs

    check_writable(json)
    seen = []
    for sign in signs():
        seen.append(sign)
        if json == "-":
            continue
        show_line(f"{MARKS[sign.state]} {sign.what:<10} {sign.seen}", good=sign.state != "bad")
        if sign.mend:
            show_line(f"     {'':<10} {sign.mend}", good=True)
    bad = sum(sign.state == "bad" for sign in seen)
    if json:
        signs_json = [asdict(sign) for sign in seen]
        write_json({"version": __version__, "can_grade": not bad, "signs": signs_json}, json)
    if json != "-":
        verdict = f"this machine cannot grade: {bad} to mend" if bad else "this machine can grade"
        show_line(verdict, good=not bad)
    return MachineFault.exit_code if bad else 0
