"""Send the scores of a course once: a process that a test may kill at any request.

python -m tests.portal.lti.killed FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

from grader.gradebook.book import open_gradebook
from grader.gradebook.course import read_course
from grader.portal.lti.sync import sync_for
from grader.portal.site import labs_of

if __name__ == "__main__":
    course = read_course(Path(sys.argv[1]))
    book = open_gradebook(course.gradebook)
    sync_for(book, course, labs_of(course), print).send()
    book.close()
