"""A lab proves itself: what `grader labs check` asks of it, and what it must not give away."""
