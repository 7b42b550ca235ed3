"""How the tables came to be, step by step, for alembic. A new step is a new file in versions/."""
