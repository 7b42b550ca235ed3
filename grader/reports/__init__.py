"""Grades and findings as text and JSON. Everything here is pure: values in, values out."""
