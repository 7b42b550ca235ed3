"""A student's own kernel in pictures: who touches what between barriers, and what it costs."""
