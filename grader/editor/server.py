"""The language server: it grades a lab's source as it is typed, on the simulator.

The event loop of pygls answers the editor. One thread grades, so that an answer never waits for a
grade: the newest text of each document counts, and interrupts the grading of an older one. A fault
becomes a message of the editor; text that is half written has the compiler's errors, and no fault.
"""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from threading import Thread

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path

from grader import __version__, dataclass
from grader.checks.suite import checked_lab
from grader.editor.documents import Graded
from grader.editor.jobs import NewestJobs
from grader.faults import Fault, StudentFault
from grader.feedback.grade import grade
from grader.grading.pipeline import grade_unreadable
from grader.grading.quiz import known_answer_sheet
from grader.labs.model import Lab
from grader.labs.reading import lab_roots, list_labs
from grader.reports.problems import problems
from grader.reports.redact import redact
from grader.sandbox.process import Interrupted
from grader.submissions.containers import HEADERS, SOURCE_SUFFIX
from grader.submissions.files import read_regular_file
from grader.submissions.sources import Wanted, header_beside, open_submission

TYPING_SECONDS = 0.3
"""The pause of a typist after which a text is graded; a save, or opening a file, needs none."""

KERNEL_SECONDS = 5.0
"""Processor time after which a kernel is stopped: a student waits."""

FOLDERS_ABOVE = 3
"""The folders above a file whose names may be a lab's."""


@dataclass(frozen=True)
class Typed:
    """A version of a document's text."""

    path: Path
    version: int
    text: str


class Session:
    """The documents of one editor, and their grades.

    Attributes:
        server: The protocol's side.
        lab: The lab of all documents; "" to tell it by the names of files and folders.
        course: The folder of a course, or None.
    """

    def __init__(self, server: LanguageServer, lab: str, course: Path | None) -> None:
        self.server = server
        self.lab = lab
        self.course = course
        self._jobs = NewestJobs[str, Typed]()
        self._graded: dict[str, Graded] = {}
        self._named: dict[str, set[str]] = {}  # the documents that have diagnostics of another
        self._said: set[str] = set()
        self._loop: asyncio.AbstractEventLoop | None = None

    def start(self) -> None:
        """Begin to grade; called in the event loop."""
        self._loop = asyncio.get_running_loop()
        Thread(target=self._work, daemon=True, name="grading").start()

    def changed(self, uri: str, delay: float) -> None:
        """Have a document graded; for a header, the sources of its folders."""
        path = _path(uri)
        if path is None:
            return
        if path.name.lower().endswith(HEADERS):
            for other in list(self.server.workspace.text_documents):
                source = _path(other)
                if source and _is_source(source) and path.is_relative_to(source.parent):
                    self._offer(other, source, delay)
        elif _is_source(path):
            self._offer(uri, path, delay)

    def _offer(self, uri: str, path: Path, delay: float) -> None:
        document = self.server.workspace.get_text_document(uri)
        self._jobs.offer(uri, Typed(path, document.version or 0, document.source), delay)

    def closed(self, uri: str) -> None:
        """Forget a document."""
        self._jobs.withdraw(uri)
        self._graded.pop(uri, None)
        self._publish(uri, None, {})

    def graded(self, uri: str) -> Graded | None:
        """Return the grade of the text that the editor shows, if it is there."""
        known = self._graded.get(uri)
        if known is None:
            return None
        return known if known.text == self.server.workspace.get_text_document(uri).source else None

    def units(self, text: str) -> int:
        """Return how many of the client's units a text has."""
        return int(self.server.workspace.position_codec.client_num_units(text))

    def _work(self) -> None:
        """Grade what is typed, without end; the thread of its own."""
        while True:
            uri, typed = self._jobs.take()
            try:
                graded = self._grade(typed)
            except Interrupted:  # by a newer text
                continue
            except Fault as fault:
                self._later(self.say, str(fault), types.MessageType.Warning)
            except Exception:  # noqa: BLE001  the next text may do; the editor keeps the traceback
                self._later(self.say, traceback.format_exc(), types.MessageType.Error)
            else:
                if graded is not None:
                    self._later(self._show, uri, graded)

    def _later(self, function: object, *values: object) -> None:
        """Call a function in the event loop, which may be closed at the end."""
        assert self._loop is not None
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(function, *values)  # type: ignore[arg-type]

    def _grade(self, typed: Typed) -> Graded | None:
        """Grade a text; None where it belongs to no lab. Raises Fault, Interrupted."""
        lab = self._lab_of(typed.path)
        if lab is None:
            return None
        answers = known_answer_sheet(typed.path.parent) if lab.quiz else None
        data = typed.text.encode("utf-8", "replace")
        find = partial(header_beside, typed.path.parent, read=self._read)
        try:
            submission = open_submission(data, typed.path.name, Wanted.by(lab), find)
        except StudentFault as fault:
            made, source = grade_unreadable(lab, typed.path.name, fault, answers=answers), ""
        else:
            source = submission.text
            made = grade(lab, submission, limit=KERNEL_SECONDS, answers=answers, fixes=True)
        made = redact(made)
        found = problems(made, typed.path, source)
        return Graded(typed.path, typed.version, typed.text, made, found)

    def _read(self, path: Path) -> bytes:
        """Read a header: what the editor shows of it, or the file. Raises Fault."""
        document = self.server.workspace.text_documents.get(self._uri(path))
        return document.source.encode("utf-8", "replace") if document else read_regular_file(path)

    def _uri(self, path: Path) -> str:
        """Return the address of a file: the editor's own, which may escape other characters."""
        known = list(self.server.workspace.text_documents)
        return next((uri for uri in known if _path(uri) == path), path.absolute().as_uri())

    def _lab_of(self, path: Path) -> Lab | None:
        """Return the lab of a file: the one given, else one with the name of it or of its folder.

        Only labs of the course or of this installation count. A folder that someone opens, which
        is the current one then, cannot bring one along: a lab has a program, which grading runs.
        """
        roots = lab_roots(self.course, here=False)
        folders = [folder.name for folder in path.parents[:FOLDERS_ABOVE]]
        names = [self.lab] if self.lab else [path.stem, *folders]
        known = names if self.lab else [name for name in names if name in list_labs(roots)]
        if known:
            return checked_lab(known[0], roots)
        text = f"{path.name} belongs to no lab: name it or its folder as the lab, or set the lab"
        self._later(self.say, text, types.MessageType.Info)
        return None

    def _show(self, uri: str, graded: Graded) -> None:
        """Publish a grade, unless the editor has another text by now; in the event loop."""
        document = self.server.workspace.text_documents.get(uri)
        if document is None or document.source != graded.text:
            return
        self._graded[uri] = graded
        by_file = graded.diagnostics(self.units)
        own = by_file.pop(graded.path)
        others = {self._uri(path): rows for path, rows in by_file.items()}
        self._publish(uri, graded.version, {uri: own, **others})

    def _publish(
        self, uri: str, version: int | None, rows: dict[str, list[types.Diagnostic]]
    ) -> None:
        """Publish a document's diagnostics, and clear those that are gone."""
        before = self._named.get(uri, set())
        self._named[uri] = set(rows)
        for other in sorted({uri, *rows, *before}):
            own = version if other == uri else None
            params = types.PublishDiagnosticsParams(other, rows.get(other, []), own)
            self.server.text_document_publish_diagnostics(params)

    def say(self, text: str, kind: types.MessageType) -> None:
        """Write to the editor's log; show a warning, each once."""
        self.server.window_log_message(types.LogMessageParams(kind, text))
        if kind is types.MessageType.Warning and text not in self._said:
            self._said.add(text)
            self.server.window_show_message(types.ShowMessageParams(kind, text))


def _path(uri: str) -> Path | None:
    """Return the file of a document; None for one that is not on disk."""
    path = to_fs_path(uri) if uri.startswith("file:") else None
    return Path(path) if path else None


def _is_source(path: Path) -> bool:
    return path.name.lower().endswith(SOURCE_SUFFIX)


def make_server(lab: str, course: Path | None) -> LanguageServer:
    """Return a server that is ready to start.

    Args:
        lab: The lab of all documents; "" to tell it by their names.
        course: The folder of a course, or None.
    """
    full = types.TextDocumentSyncKind.Full
    server = LanguageServer("warpgrade", __version__, text_document_sync_kind=full)
    session = Session(server, lab, course)

    @server.feature(types.INITIALIZED)
    def initialized(_: types.InitializedParams) -> None:
        session.start()

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: types.DidOpenTextDocumentParams) -> None:
        session.changed(params.text_document.uri, 0.0)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def changed(params: types.DidChangeTextDocumentParams) -> None:
        session.changed(params.text_document.uri, TYPING_SECONDS)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def saved(params: types.DidSaveTextDocumentParams) -> None:
        session.changed(params.text_document.uri, 0.0)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: types.DidCloseTextDocumentParams) -> None:
        session.closed(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    def hover(params: types.HoverParams) -> types.Hover | None:
        graded, path = session.graded(params.text_document.uri), _path(params.text_document.uri)
        text = graded.hover(path, params.position.line) if graded and path else ""
        plain = types.MarkupContent(types.MarkupKind.PlainText, text)
        return types.Hover(plain) if text else None

    kinds = types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix])

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION, kinds)
    def actions(params: types.CodeActionParams) -> Sequence[types.CodeAction]:
        graded = session.graded(params.text_document.uri)
        start, end = params.range.start.line, params.range.end.line
        known = params.context.diagnostics
        return list(graded.fixes(start, end, known, session.units)) if graded else []

    return server
