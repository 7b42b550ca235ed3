"""Parse CUDA C++ text into a syntax tree with tree-sitter's grammar; nothing is compiled here.

A text is parsed once into a `Tree`, which has its nodes in the order of the text, so that readers
need no recursion, however deep a hostile text nests. Where the grammar knows less than the
compiler, or the text is wrong, there are ERROR nodes: readers use the nodes that exist.

The parser's error recovery can take more than linear time and memory. A long text is therefore
parsed in pieces, and the parser stops at limits that no program reaches. A piece at which it stops
is one ERROR node: readers find nothing there, and only the compiler decides about the text.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import field

import tree_sitter_cuda
from tree_sitter import Language, Parser, Point, TreeCursor
from tree_sitter import Tree as TreeSitter

from grader import dataclass, regex

MAX_PIECE = 1 << 13
"""Bytes that are parsed at once: 200 MB at most; twice the text can take four times the memory."""

MAX_REPORTS = 256
"""Progress reports of the parser before it is stopped; each is about 100 of its operations."""

BYTES_PER_REPORT = 4
"""Bytes read for each further progress report; programs need one for 10 bytes or more."""

SECONDS = 2.0
"""Time limit for one text; 256 KiB of ordinary code take a tenth of it."""

_SIGN = regex(rb"[{};]")
_BLANK = bytes(letter if letter == 0x0A else 0x20 for letter in range(256))


@dataclass(frozen=True, eq=False, repr=False)
class Tree:
    """The nodes of a text in preorder: each sequence has one entry for each node.

    Attributes:
        data: The text in UTF-8.
        kinds: The grammar's names of the nodes.
        named: Whether a node is more than punctuation or a keyword.
        names: The grammar's name of the node's part in its parent, such as "body".
        starts: The offset of the first byte.
        ends: The offset behind the last byte.
        lines: The line of the first byte, from 1.
        last_lines: The line of the last byte.
        parents: The index of the parent.
        afters: The index behind the node's descendants.
    """

    data: bytes
    kinds: Sequence[str]
    named: Sequence[bool]
    names: Sequence[str | None]
    starts: Sequence[int]
    ends: Sequence[int]
    lines: Sequence[int]
    last_lines: Sequence[int]
    parents: Sequence[int]
    afters: Sequence[int]

    @property
    def root(self) -> Node:
        """The node of the whole text."""
        return Node(self, 0)

    @property
    def has_error(self) -> bool:
        """Whether the grammar does not recognize the text."""
        return "ERROR" in self.kinds

    def walk(self, *kinds: str) -> Iterator[Node]:
        """Yield the nodes of those kinds in the text's order; all nodes when no kind is given."""
        return self.root.walk(*kinds)

    def leaves(self) -> Iterator[Node]:
        """Yield the nodes without children, which are the tokens, in the text's order."""
        return self.between(0, len(self.kinds))

    def between(self, first: int, end: int) -> Iterator[Node]:
        """Yield the tokens among the nodes from index `first` to before `end`."""
        afters = self.afters
        return (Node(self, i) for i in range(first, end) if afters[i] == i + 1)


@dataclass(frozen=True, slots=True)
class Node:
    """One node of a tree, by its index."""

    tree: Tree
    index: int

    @property
    def kind(self) -> str:
        """The grammar's name, such as "binary_expression"; a keyword's is itself."""
        return self.tree.kinds[self.index]

    @property
    def text(self) -> str:
        """The source text."""
        return self.tree.data[self.start : self.end].decode(errors="replace")

    @property
    def start(self) -> int:
        """The offset of the first byte."""
        return self.tree.starts[self.index]

    @property
    def end(self) -> int:
        """The offset behind the last byte."""
        return self.tree.ends[self.index]

    @property
    def line(self) -> int:
        """The line, from 1, that the node starts on."""
        return self.tree.lines[self.index]

    @property
    def last_line(self) -> int:
        """The line, from 1, of the node's last byte."""
        return self.tree.last_lines[self.index]

    @property
    def is_leaf(self) -> bool:
        """Whether the node has no children: a token."""
        return self.tree.afters[self.index] == self.index + 1

    @property
    def parent(self) -> Node | None:
        """The node that this one is a child of; None for the root."""
        return Node(self.tree, self.tree.parents[self.index]) if self.index else None

    @property
    def ancestors(self) -> Iterator[Node]:
        """The nodes around this one, from its parent to the root."""
        index = self.index
        while index:
            index = self.tree.parents[index]
            yield Node(self.tree, index)

    @property
    def children(self) -> Iterator[Node]:
        """The children in order, punctuation and keywords included."""
        at, end, afters = self.index + 1, self.tree.afters[self.index], self.tree.afters
        while at < end:
            yield Node(self.tree, at)
            at = afters[at]

    @property
    def named(self) -> tuple[Node, ...]:
        """The children without punctuation and keywords."""
        return tuple(child for child in self.children if self.tree.named[child.index])

    def part(self, name: str) -> Node | None:
        """Return the first child that is this part, such as "body"; None when there is none."""
        return next((c for c in self.children if self.tree.names[c.index] == name), None)

    def field(self, name: str) -> Node:
        """Return the first child that is this part.

        Raises:
            ValueError: There is none.
        """
        child = self.part(name)
        if child is None:
            raise ValueError(f"{self.kind} without {name}: {self.text}")
        return child

    def walk(self, *kinds: str) -> Iterator[Node]:
        """Yield this node and its descendants of those kinds; all when no kind is given."""
        tree = self.tree
        for index in range(self.index, tree.afters[self.index]):
            if not kinds or tree.kinds[index] in kinds:
                yield Node(tree, index)

    def first_line(self) -> str:
        """Return the first line of the text, shortened for a message."""
        lines = self.text.strip().splitlines() or [""]
        more = len(lines) > 1
        return lines[0][:40] + ("..." if more or len(lines[0]) > 40 else "")


def parse(text: str) -> Tree:
    """Parse CUDA C++ text: the result of `preprocessor.code` to read it, the source to edit it."""
    data = text.encode(errors="replace")
    parser = Parser(Language(tree_sitter_cuda.language()))
    rows, end = _Rows(), time.monotonic() + SECONDS
    rows.add("text", (0, len(data)), (1, data.count(b"\n") + 1))
    offset, line = 0, 1
    for piece in _pieces(data):
        after, last = offset + len(piece), line + piece.count(b"\n")
        if (tree := _parsed(parser, piece, end)) is None:
            parser.reset()
            rows.add("ERROR", (offset, after), (line, last))
        else:
            rows.add_tree(tree.walk(), offset, line)
        offset, line = after, last
    rows.afters[0] = len(rows.kinds)
    return Tree(data, **vars(rows))


def _parsed(parser: Parser, piece: bytes, end: float) -> TreeSitter | None:
    """The tree of a piece; None when the parser reached a limit."""
    reports = 0
    if time.monotonic() > end:
        return None

    def read(offset: int, _: Point) -> bytes:
        return piece[offset:]

    def stop(offset: int, _: bool) -> bool:
        nonlocal reports
        reports += 1
        return reports > MAX_REPORTS + offset // BYTES_PER_REPORT or time.monotonic() > end

    try:
        return parser.parse(read, progress_callback=stop)
    except ValueError:  # it was stopped
        return None


def _pieces(data: bytes) -> Iterator[bytes]:
    """Cut a long text between its functions, into pieces of at most MAX_PIECE bytes.

    A longer piece loses the text in its braces.
    """
    if len(data) <= MAX_PIECE:
        yield data
        return
    start = end = 0
    for cut in (*_ends(data), len(data)):
        if cut - start > MAX_PIECE and end > start:
            yield _shortened(data[start:end])
            start = end
        end = cut
    yield _shortened(data[start:])


def _ends(data: bytes) -> Iterator[int]:
    """The offsets behind each statement and each function-like block outside of other blocks.

    A function-like block has parentheses before it. Other braces, such as a namespace's, contain
    functions and are not blocks here.
    """
    depth = start = 0
    for sign in _SIGN.finditer(data):
        if sign[0] == b"{":
            depth += depth > 0 or b"(" in data[start : sign.start()]
        elif sign[0] == b"}" and depth:
            depth -= 1
        start = start if depth else sign.end()
        if not depth and sign[0] != b"{":
            yield sign.end()


def _shortened(piece: bytes) -> bytes:
    """A piece of at most MAX_PIECE bytes as it is; a longer one with the text in braces blanked."""
    first, last = piece.find(b"{"), piece.rfind(b"}")
    if len(piece) <= MAX_PIECE:
        return piece
    if first < 0 or last - first < len(piece) - MAX_PIECE:
        return piece.translate(_BLANK)
    return piece[: first + 1] + piece[first + 1 : last].translate(_BLANK) + piece[last:]


@dataclass
class _Rows:
    """The sequences of a tree under construction."""

    kinds: list[str] = field(default_factory=list)
    named: list[bool] = field(default_factory=list)
    names: list[str | None] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    last_lines: list[int] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    afters: list[int] = field(default_factory=list)

    def add(self, kind: str, bytes_: tuple[int, int], lines: tuple[int, int]) -> None:
        """Append a child of the root that has no children."""
        self.kinds.append(kind)
        self.named.append(True)
        self.names.append(None)
        self.starts.append(bytes_[0])
        self.ends.append(bytes_[1])
        self.lines.append(lines[0])
        self.last_lines.append(lines[1])
        self.parents.append(0)
        self.afters.append(len(self.kinds))

    def add_tree(self, cursor: TreeCursor, offset: int, line: int) -> None:
        """Append the nodes of a piece at an offset and a line, without recursion."""
        above = [0]
        while node := cursor.node:
            self.kinds.append(node.type)
            self.named.append(node.is_named)
            self.names.append(cursor.field_name)
            self.starts.append(offset + node.start_byte)
            self.ends.append(offset + node.end_byte)
            self.lines.append(line + node.start_point.row)
            self.last_lines.append(line + node.end_point.row)
            self.parents.append(above[-1])
            self.afters.append(len(self.kinds))
            if cursor.goto_first_child():
                above.append(len(self.kinds) - 1)
                continue
            while not cursor.goto_next_sibling():
                if not cursor.goto_parent():
                    return
                self.afters[above.pop()] = len(self.kinds)
