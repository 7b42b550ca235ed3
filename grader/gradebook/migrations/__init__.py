"""The history of the tables, as steps for alembic.

A change of tables.py needs a new file in versions/ that names the previous one as its
`down_revision`, and database.LATEST_REVISION set to it. Tests compare the tables with the steps.
"""
