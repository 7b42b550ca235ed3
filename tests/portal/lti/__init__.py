"""LTI 1.3: launches, good and bad, of a platform of the tests' own, in a browser too."""
