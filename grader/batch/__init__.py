"""A whole class graded through the gradebook, so that nothing is lost and nothing done twice."""
