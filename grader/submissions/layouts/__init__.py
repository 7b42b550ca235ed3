"""Layouts of a class's files: one module for each, found by its presence in this folder.

A layout takes a Listing and returns a LayoutResult: which file is whose. Its module defines

    RANK                   its place in the order in which layouts are tried, lowest first
    OF_A_SITE              whether a course site generates the file names
    fits(listing)          whether the names follow this layout
    arrange(listing, lab)  the submission of each student

It imports `gather`, `listing` and what they may import.
"""
