"""grading.__init__."""
