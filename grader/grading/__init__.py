"""Grade one submission: from its source file to a Grade.

In: a Job (grader.grading.pipeline), which holds the lab, the submission and the RunOptions.
Out: a Grade (grader.grading.record), a value that converts to and from the JSON record.

`pipeline` holds the steps in order: compile, run, localize, time, check, score, record. The other
modules do the work of one step each: `cases` and `run` launch kernels on a backend, `timing`
measures speed, `quiz` computes the expected answers, `baseline` measures the lab's baseline kernel,
also in the background. `crosscheck` and `single_launch` serve commands that grade nothing.

May import grader.checks, the two backends (grader.simulator, grader.gpu) and what they build on.
This is the only package that runs both backends.
"""
