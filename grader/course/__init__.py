"""A course: its labs with their deadlines, its roster and its secret, read from course.yaml."""
