"""The checks: one file each, found by name (`grader.checks.<name>`), no list to edit.

A check's file has

    Options                         a CheckOptions model: what a lab may set
    DEPENDS                         a Dependency on another check, or None
    ONLY_ON                         the one backend that can judge it (may be absent: any can)
    judge(options, evidence)        -> Verdict; its docstring is the line that the student reads

`grader.checks.suite` finds them, orders them and turns their verdicts into Results.
"""
