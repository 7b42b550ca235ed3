"""Tests of the search for the line at fault."""
