"""Handouts: Markdown pages and figures of simulated runs -> a static site and a PDF a page."""
