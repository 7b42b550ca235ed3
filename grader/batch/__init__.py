"""Batches: a whole class graded through the gradebook, durable and idempotent.

In: a lab, a class's submissions, a gradebook. Out: a grade per submission in the gradebook, and the
failures. `store` stores submissions, `task` grades one as plain values, `runner` and `cluster` do
that on threads or on a Dask cluster, `batch` claims, grades and stores. `replay` reproduces one
recorded grade; `similarity` compares the submissions of a class.

May import `gradebook`, `feedback`, `reports` and below, never `export`.
"""
