"""Batches: a whole class graded through the gradebook, durable and idempotent.

In: a lab, a class's submissions, a gradebook. Out: a grade per submission in the gradebook, and the
failures. `store` stores submissions, `task` grades one as plain values, `batch` claims, grades on
threads and stores, `cluster` grades on a Dask cluster. `replay` reproduces one
recorded grade; `similarity` compares the submissions of a class.

May import `gradebook`, `feedback`, `reports` and below, never `export`.
"""
