"""LTI 1.3 Advantage: learning platforms lead to the portal, and the portal sends them the scores.

`keys` has the course's own keys.
"""
