"""A class's grades as HTML pages that open from a folder: an index and one page per student.

In: ReportRow values (`classes`): a grade, the source and what lateness or an override changed.
`classes` and `student` turn rows into plain view values, `source` annotates the source, `write`
fills the templates and writes the files. The pages load nothing from elsewhere.

May import the text reports and `explain`, never the gradebook: the caller makes the rows.
"""
