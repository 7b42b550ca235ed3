"""How the tables came to be, step by step, for alembic.

A change of tables.py needs a new file in versions/ that names the one before as its
`down_revision`, and migrate.HEAD set to it; tests hold the tables and the steps together.
"""
