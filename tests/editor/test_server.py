"""`grader lsp` by the real protocol over stdio, with the client of pygls."""

from __future__ import annotations

import asyncio
import shutil
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from lsprotocol import types
from pygls.lsp.client import LanguageClient
from pygls.lsp.server import LanguageServer
from pygls.workspace import Workspace

from grader.cli.app import run as run_command
from grader.editor.server import Session, Typed
from grader.labs import reading
from grader.labs.reading import lab_roots, list_labs
from tests.command import ROOT, descendants, grader
from tests.patience import until

LAB = "vector-add"
SOLUTION = (ROOT / "solutions" / LAB / f"{LAB}.cu").read_text()
WRONG = next((ROOT / "solutions" / LAB / "wrong").glob("invalid-access*.cu")).read_text()
ENDLESS = SOLUTION.replace("    int i", "    while (n > 0) { if (n == -5) n = 0; }\n    int i", 1)


class Editor:
    """An editor with one server: it shows what the server last published of each file."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.client = LanguageClient("an editor", "1")
        self.published: asyncio.Queue[types.PublishDiagnosticsParams] = asyncio.Queue()
        self.said: list[str] = []
        self.versions: dict[str, int] = {}

        @self.client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def publish(params: types.PublishDiagnosticsParams) -> None:
            self.published.put_nowait(params)

        @self.client.feature(types.WINDOW_LOG_MESSAGE)
        def log(params: types.LogMessageParams) -> None:
            self.said.append(params.message)

        @self.client.feature(types.WINDOW_SHOW_MESSAGE)
        def show(params: types.ShowMessageParams) -> None:
            self.said.append(f"shown: {params.message}")

    async def start(self, *words: str, units: str = "utf-16") -> None:
        command = [sys.executable, "-m", "grader", "lsp", *words]
        around = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "HOME": str(Path.home())}
        await self.client.start_io(*command, cwd=self.folder, env=around)
        able = types.ClientCapabilities(
            general=types.GeneralClientCapabilities(
                position_encodings=[types.PositionEncodingKind(units)]
            )
        )
        await self.client.initialize_async(
            types.InitializeParams(capabilities=able, root_uri=self.folder.as_uri())
        )
        self.client.initialized(types.InitializedParams())

    async def end(self) -> int:
        await self.client.shutdown_async(None)
        self.client.exit(None)
        server = self.client._server
        assert server is not None
        await server.wait()
        await self.client.stop()
        return server.returncode or 0

    def uri(self, name: str) -> str:
        return (self.folder / name).as_uri()

    def open(self, name: str, text: str) -> None:
        self.versions[name] = 1
        item = types.TextDocumentItem(self.uri(name), "cuda-cpp", 1, text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))

    def type(self, name: str, text: str, *, save: bool = True) -> int:
        """Replace the text and return its version; saving it needs no pause."""
        self.versions[name] += 1
        known = types.VersionedTextDocumentIdentifier(
            uri=self.uri(name), version=self.versions[name]
        )
        change = types.TextDocumentContentChangeWholeDocument(text)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(known, [change]))
        if save:
            self.client.text_document_did_save(types.DidSaveTextDocumentParams(known))
        return self.versions[name]

    async def _next(self) -> types.PublishDiagnosticsParams:
        """Wait for diagnostics; only the end of the server fails the test, not a busy machine."""
        assert self.client._server is not None
        ends = asyncio.ensure_future(self.client._server.wait())
        comes = asyncio.ensure_future(self.published.get())
        await asyncio.wait([ends, comes], return_when=asyncio.FIRST_COMPLETED)
        ends.cancel()
        assert comes.done(), "the server has ended"
        return comes.result()

    async def shown(self, name: str, version: int | None = None) -> list[types.Diagnostic]:
        """Wait for the diagnostics of a version of a file."""
        while True:
            params = await self._next()
            if params.uri == self.uri(name) and version in (None, params.version):
                return list(params.diagnostics)

    async def hover(self, name: str, line: int) -> str:
        at = types.HoverParams(
            types.TextDocumentIdentifier(self.uri(name)), types.Position(line, 4)
        )
        found = await self.client.text_document_hover_async(at)
        assert found is None or isinstance(found.contents, types.MarkupContent)
        return found.contents.value if found else ""

    async def actions(self, name: str, found: types.Diagnostic) -> list[types.CodeAction]:
        params = types.CodeActionParams(
            types.TextDocumentIdentifier(self.uri(name)),
            found.range,
            types.CodeActionContext([found]),
        )
        made = await self.client.text_document_code_action_async(params)
        return [action for action in made or () if isinstance(action, types.CodeAction)]


def session(folder: Path, act: Callable[[Editor], Awaitable[None]], *words: str) -> None:
    """Run a session with a server; it ends by itself, and leaves nothing."""

    async def run() -> None:
        editor = Editor(folder)
        await editor.start(*words)
        server = editor.client._server
        assert server is not None
        try:
            await act(editor)
            assert await editor.end() == 0
        finally:
            if server.returncode is None:
                server.kill()

    standing = descendants()
    asyncio.run(run())
    until(lambda: not descendants(standing))


def line_of(text: str, part: str) -> int:
    return next(number for number, line in enumerate(text.split("\n")) if part in line)


def test_what_is_typed_has_diagnostics_and_hovers(tmp_path: Path) -> None:
    async def act(editor: Editor) -> None:
        name = f"{LAB}.cu"  # which says what lab it is of
        editor.open(name, WRONG)
        (wrong,) = await editor.shown(name)
        assert (wrong.code, wrong.severity) == ("missing-guard", types.DiagnosticSeverity.Error)
        line = line_of(WRONG, "[i] =")
        assert wrong.range.start == types.Position(line, 4) and wrong.source == "warpgrade"
        said = await editor.hover(name, line)
        assert said.startswith("missing-guard: ")
        assert "requests to global memory" in said
        assert await editor.hover(name, 0) == ""
        assert await editor.actions(name, wrong) == [], "the lab's hints show no edit"

        half = SOLUTION.replace(";\n", "\n", 1)
        codes = [d.code for d in await editor.shown(name, editor.type(name, half))]
        assert "compile-error" in codes
        assert await editor.shown(name, editor.type(name, SOLUTION)) == []
        await editor.shown(name, editor.type(name, ""))

        editor.type(name, ENDLESS)  # a newer text interrupts it
        editor.type(name, "x", save=False)
        version = editor.type(name, f"// 𝒳\n{WRONG}", save=False)
        (found,) = await editor.shown(name, version)
        assert found.range.start.line == line + 1

        closed = types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(editor.uri(name)))
        editor.client.text_document_did_close(closed)
        assert await editor.shown(name) == []
        editor.open("notes.cu", SOLUTION)
        editor.open(name, SOLUTION)
        assert await editor.shown(name) == []
        assert [text for text in editor.said if "Traceback" in text] == []
        assert any("notes.cu belongs to no lab" in text for text in editor.said)

    session(tmp_path, act)


def test_headers_and_fixes(tmp_path: Path) -> None:
    """A header that is not saved counts; a fix is offered where the lab's hints allow."""
    course = tmp_path / "course"
    shutil.copytree(ROOT / "labs" / LAB, course / "labs" / LAB)
    lab = course / "labs" / LAB / "lab.yaml"
    lab.write_text(lab.read_text() + "\nhints: fix\n")

    async def act(editor: Editor) -> None:
        header = "__device__ float twice(float x) { return 2 * x; }\n"
        editor.open("twice.cuh", header)
        editor.open("mine.cu", f'#include "twice.cuh"\n{SOLUTION}')
        assert await editor.shown("mine.cu") == []
        editor.type("twice.cuh", f"// 𝒳\n/* 𝒳 */ float y;\n{header}".replace("* x", "* z"))
        found = await editor.shown("twice.cuh")
        assert [d.range.start.line for d in found if "z" in d.message] == [2]
        editor.type("twice.cuh", header)
        assert await editor.shown("twice.cuh") == []

        text = f"// 𝒳\r\n{WRONG}"
        version = editor.type("mine.cu", text)
        (wrong,) = await editor.shown("mine.cu", version)
        (fix,) = await editor.actions("mine.cu", wrong)
        assert fix.kind == types.CodeActionKind.QuickFix and fix.is_preferred
        assert fix.edit and fix.edit.document_changes
        edit = fix.edit.document_changes[0]
        assert isinstance(edit, types.TextDocumentEdit) and edit.text_document.version == version
        assert await editor.shown("mine.cu", editor.type("mine.cu", applied(edit, text))) == []

    session(tmp_path, act, LAB, "--course", str(course))


def applied(edit: types.TextDocumentEdit, text: str) -> str:
    """Apply edits of whole lines, the last first, as an editor does."""
    lines = text.split("\n")
    for one in sorted(edit.edits, key=lambda e: e.range.start.line, reverse=True):
        assert isinstance(one, types.TextEdit)
        first, last = one.range.start, one.range.end
        rest = "\n".join(lines[last.line :])[last.character :]
        before = "\n".join([*lines[: first.line], lines[first.line][: first.character]])
        lines = f"{before}{one.new_text}{rest}".split("\n")
    return "\n".join(lines)


def test_a_missing_package_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("grader.cli.lsp.find_spec", lambda name: None)
    assert run_command(["lsp"]) == 3
    said = capsys.readouterr().err
    assert "pygls is not installed" in said and "pip install" in said


def test_a_folder_that_is_opened_brings_no_lab(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An editor starts the server in the folder that it shows, installed as a package or not."""
    shutil.copytree(ROOT / "labs" / LAB, tmp_path / "labs" / "planted")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WARPGRADE_LABS", raising=False)
    opened = Session(LanguageServer("x", "1"), "", None)
    monkeypatch.setattr(opened, "_later", lambda *values: None)
    file = tmp_path / "planted" / "planted.cu"
    for package in (reading.__file__, str(tmp_path / "site" / "grader" / "labs" / "reading.py")):
        monkeypatch.setattr(reading, "__file__", package)
        assert "planted" in list_labs(), "a command that is typed here does find it"
        assert "planted" not in list_labs(lab_roots(here=False))
        assert opened._lab_of(file) is None
        assert run_command(["lsp", "planted"]) == 2
    assert Session(LanguageServer("x", "1"), "", tmp_path)._lab_of(file), "--course is a choice"


HALF = (
    "", "\0", "/*", '"', "{", "#include", '#include "none.cuh"', "#if 0\n", "__global__ void",
    f"{SOLUTION}}}", SOLUTION[: len(SOLUTION) // 2], SOLUTION.replace("(const", "const"), "\ud800",
    SOLUTION.replace("+", "-").replace("\n", "\r"), "\\\n" * 50, "```\n__global__ void k() {",
)  # fmt: skip


def test_half_written_code_has_problems_and_no_fault() -> None:
    """Graded as the server does; its thread would report a fault, and go on."""

    def units(text: str) -> int:
        return len(text.encode("utf-16-le", "surrogatepass")) // 2

    path, own = Path("/work/nowhere") / f"{LAB}.cu", Session(LanguageServer("x", "1"), LAB, None)
    own.server.protocol._workspace = Workspace(None)
    for text in HALF:
        graded = own._grade(Typed(path, 1, text))
        assert graded is not None and graded.grade.score.points < 100
        rows = graded.diagnostics(units)[path]
        assert rows and all(row.message for row in rows), text
        for place in (row.range for row in rows):
            start, end = ((at.line, at.character) for at in (place.start, place.end))
            assert (0, 0) <= start <= end
        assert any(graded.hover(path, line) for line in range(len(graded.lines))), text
        assert list(graded.fixes(0, 999, [], units)) == []


@pytest.mark.parametrize("words", [["nothing"], ["--course", "nowhere", LAB]])
def test_a_lab_that_is_not_there_is_an_error(words: list[str], tmp_path: Path) -> None:
    said = grader("lsp", *words, cwd=tmp_path)
    assert said.code == 2 and "lab" in said.err
