"""The gradebook: submissions, attempts, grades, overrides and an audit, in SQLite or PostgreSQL."""
