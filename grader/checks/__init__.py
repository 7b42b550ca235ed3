"""The checks of a lab: Evidence in, a Verdict and its points out.

Each check is one module, which `grader.checks.suite` finds by name; there is no list to edit. A
check's module defines

    Options                         a CheckOptions model: what a lab may set
    DEPENDS                         a Dependency on another check, or None
    ONLY_ON                         the one backend that can evaluate it (absent: every backend)
    evaluate(options, evidence)     -> Verdict; its docstring's first line is the check's title

`result` defines the values that checks receive and return, `findings` folds findings and adds
their origins, `mismatch` explains wrong outputs. Checks do no I/O. The package may import
grader.gpu.speedup (values only), grader.compile, grader.labs, grader.launch and grader.faults.
"""
