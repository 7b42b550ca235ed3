"""Tests of fault localization."""
