"""A class's grades as HTML pages that open from a folder: an index, and a page a student."""
