"""Every text that can be put into a gradebook, for the tests that put attacks into it."""

from __future__ import annotations

DIGEST, WORD = "a digest or a random token", "one of a few words"
OF_STUDENT, OF_LAB = "the ID of a student", "the name of a lab of the course"
COLUMNS = {
    **dict.fromkeys(
        (
            "account.email", "account.name", "account.sections", "audit.actor", "audit.after",
            "audit.reason", "audit.student", "audit.records", "credential.name", "regrade.author",
            "regrade.reason", "release_rule.author", "release_rule.reason", "student.id",
            "student.name", "student.email", "student.sis_id", "student.login", "student.section",
            "worker.name", "worker.device", "worker.version", "worker.note", "board_entry.reason",
            "course_extension.reason", "extension.author", "extension.reason", "membership.team",
            "membership.author", "membership.reason", "override.author", "override.reason",
            "submission.name", "submission.data", "submission.answers", "submission.source",
            "submission.student", "attempt.worker", "attempt.reason", "attempt.grade_json",
            "choice.author", "comment.author", "comment.body", "message.author", "message.body",
            "progress.body"
        ),
        "attack",
    ),
    **dict.fromkeys(
        (
            "credential.digest", "submission.sha256", "submission.answers_sha256", "audit.digest",
            "attempt.token", "attempt.grade_sha256", "board_mark.lab_sha256"
        ), DIGEST,
    ),
    **dict.fromkeys(
        (
            "account.role", "credential.kind", "credential.scopes", "credential.who",
            "regrade.state", "worker.backend", "attempt.state", "attempt.proposal", "attempt.key",
            "progress.kind", "request.status"
        ), WORD,
    ),
    **dict.fromkeys(
        (
            "audit.lab", "board_mark.lab", "regrade.lab", "release_rule.lab", "board_entry.lab",
            "extension.lab", "course_extension.lab", "membership.lab", "override.lab",
            "standing.lab", "submission.lab", "choice.lab"
        ), OF_LAB,
    ),
    **dict.fromkeys(
        (
            "regrade.students", "board_entry.student", "course_extension.student",
            "extension.student", "membership.student", "override.student", "standing.student",
            "choice.student", "coauthor.student"
        ), OF_STUDENT,
    ),
    "audit.action": "a word of the program",
    "audit.before": "what `after` of an earlier line had",
    "board_mark.marks": "numbers that a worker measures",
    "board_entry.pseudonym": "letters, digits and . _ - alone: read_pseudonym",
    "board_entry.folded": "the pseudonym",
    "standing.note": "a sentence of the program with a time",
}  # fmt: skip
"""What is in each column of text: an attack, or why none can be. The tables of LTI have what
learning platforms send, which tests/portal/lti tries."""

FIELDS = {
    "send_link.email": "", "new_token.name": "credential.name", "new_token.scope": "",
    "submit.source": "submission.data", "submit.file": "submission.data",
    "submit.answers": "submission.answers", "submit.keep": "", "choose.submission": "",
    "extend.student": "", "extend.reason": "extension.reason", "extend.due": "",
    "extend.group": "", "points.student": "", "points.reason": "override.reason",
    "points.points": "", "release.when": "", "release.moment": "",
    "release.reason": "release_rule.reason", "set_group.student": "",
    "set_group.reason": "membership.reason", "set_group.team": "membership.team",
    "set_group.course": "", "set_group.earlier": "", "api_extend.student": "",
    "api_extend.due": "", "api_extend.reason": "extension.reason", "api_set_group.student": "",
    "api_set_group.team": "membership.team", "api_set_group.reason": "membership.reason",
    "api_set_group.earlier": "", "start_regrade.reason": "regrade.reason",
    "start_regrade.students": "", "decide_regrade.decision": "", "retry.student": "",
    "ask.body": "message.body", "reply.body": "message.body", "comment.body": "comment.body",
    "comment.line": "", "join_board.pseudonym": "board_entry.pseudonym",
    "moderate_entry.student": "", "moderate_entry.action": "",
    "moderate_entry.reason": "board_entry.reason",
    "api_join_board.pseudonym": "board_entry.pseudonym", "api_submit.file": "submission.data",
    "api_submit.answers": "submission.answers", "api_ask.text": "message.body",
    "api_retry.student": "",
}  # fmt: skip
"""The column that each field is stored in; "" for one that is compared or looked up."""
