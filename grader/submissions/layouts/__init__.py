"""How a course's files may lie in a folder or zip: one file a layout, found by its name.

A layout has `RANK`, its place in the order in which they are asked, `OF_A_SITE`,
whether a course's site names the files, `fits(listing)`, whether they are named as its own
are, and `arrange(listing, lab)`, which says whose they are.
"""
