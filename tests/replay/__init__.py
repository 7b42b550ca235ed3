"""Recorded grades made again: the same verdict, and every edit of a record found out."""
