"""Where the values and conditions of a source line come from, as far as its words tell.

What a run shows is the line where harm is done: the access out of bounds, the store of a wrong
number. The mistake is often on the line that worked out the index, or in the guard around it. This
reads the student's text for those: it is no parser and may name a line too many; the text is
hostile, so everything here takes time in proportion to its length.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from grader.compile.lexical import code, directives
from grader.launch import Origin

MOST = 3
"""So many origins are told at most: a student reads three lines, and skips ten."""

WORDS = 16
"""So many words of a macro's text are looked at."""

DEEPEST = 8
"""So many conditions before an `else` are kept: a chain of them must not cost its square."""

_TOKEN = re.compile(r"\n|[A-Za-z_]\w*|\d[\w.]*|[=!<>]=|<<=|>>=|[-+*/%&|^]=|->|\S")
_WORD = re.compile(r"[A-Za-z_]\w*")
_NUMBER = re.compile(r"(\w+)\s+\(?(\d{1,9})\)?\s*$")
_CONDITIONS = ("if", "for", "while", "switch")
_SETS = ("=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=")
_CONSTANTS = ("true", "false", "0", "1")
_MEMBER = (".", "->")


@dataclass(frozen=True)
class Token:
    """One word or sign, and its line from 1."""

    text: str
    line: int


@dataclass(frozen=True)
class Span:
    """Lines `first` to `last`, which the word `name` at `line` decides about."""

    name: str
    line: int
    first: int
    last: int


@dataclass(frozen=True)
class Flow:
    """What a source says about its names: the lines that set each, the words on each line, the
    spans under a condition, the functions, and each macro's line and the words of its text.
    """

    set_at: Mapping[str, Sequence[int]]
    named_at: Mapping[int, Sequence[str]]
    conditions: Sequence[Span]
    functions: Sequence[Span]
    macros: Mapping[str, tuple[int, Sequence[str]]]
    numbers: Mapping[str, int] = field(default_factory=dict)
    """The macros that are a number."""
    settled: Sequence[Origin] = ()
    """The conditions that are a constant."""

    def origins(
        self,
        places: Collection[int],
        unwritten: str = "",
        first: Collection[Origin] = (),
        *,
        guarded: bool = False,
    ) -> tuple[Origin, ...]:
        """Where what stands on some lines comes from, in the order of the lines, themselves left
        out: what sets their names, the conditions around them, the sizes in all those, at most
        MOST in this order and one size more, the nearest first, but `first` before all. Of an
        array that should have been written before, `unwritten`, also what its writes come from.
        Where it is the question whether a line should run, `guarded`, conditions count as much as
        names.
        """
        every = (o for line in places for o in self.reaching(line, unwritten))
        found = {origin for origin in (*every, *first) if origin.line not in places}

        def rank(origin: Origin) -> tuple[int, int, int, str]:
            condition = origin.name in _CONDITIONS and not guarded
            least = 2 if origin.name in self.macros else condition
            least = -1 if origin in first else least
            return least, min(abs(origin.line - at) for at in places), origin.line, origin.name

        ranked = sorted(found, key=rank)
        told, rest = ranked[:MOST], ranked[MOST:]
        if not any(origin.name in self.macros for origin in told):
            told += [origin for origin in rest if origin.name in self.numbers][:1]
        return tuple(sorted(told, key=lambda o: (o.line, o.name)))

    def reaching(self, line: int, unwritten: str = "") -> set[Origin]:
        """All that what stands on a line comes from, itself included where it sets a name."""
        inside = next((f for f in self.functions if f.first <= line <= f.last), None)
        if inside is None:
            return set()
        found = self._direct(line, inside)
        for origin in tuple(found):
            found |= self._sizes(self.named_at.get(origin.line, ()))
            if origin.name == unwritten:
                found |= self._direct(origin.line, inside)
        return found

    def declared(self, name: str, places: Collection[int]) -> tuple[Origin, ...]:
        """Where an array is declared, or where those pointers into it are set that lines use."""
        used = (word for line in places for word in self.named_at.get(line, ()) if word != name)
        pointers = (
            Origin(word, at)
            for word in dict.fromkeys(used)
            for at in self.set_at.get(word, ())
            if at not in places and name in self.named_at.get(at, ())
        )
        first = (Origin(name, line) for line in sorted(self.set_at.get(name, ()))[:1])
        return tuple(pointers) or tuple(first)

    def numbers_on(self, lines: Collection[int]) -> tuple[Origin, ...]:
        """The macros that are a number, of those that stand on some lines."""
        names = dict.fromkeys(name for line in lines for name in self.named_at.get(line, ()))
        return tuple(Origin(n, self.macros[n][0]) for n in names if n in self.numbers)

    def beside(self, extents: Collection[int]) -> tuple[Origin, ...]:
        """The macros that are one more or one less than an extent, and are none themselves."""
        near = {extent + step for extent in extents for step in (1, -1)} - {*extents}
        held = (name for name, number in self.numbers.items() if number in near)
        return tuple(Origin(name, self.macros[name][0]) for name in held)

    def _direct(self, line: int, inside: Span) -> set[Origin]:
        names = self.named_at.get(line, ())
        sets = {Origin(n, at) for n in names for at in self.set_at.get(n, ())}
        found = {o for o in sets if inside.first <= o.line <= inside.last}
        around = {Origin(c.name, c.line) for c in self.conditions if c.first <= line <= c.last}
        return found | around | self._sizes(names)

    def _sizes(self, names: Sequence[str]) -> set[Origin]:
        """The macros among the words, and those in their texts."""
        found = {Origin(n, self.macros[n][0]) for n in names if n in self.macros}
        inner = [n for o in found for n in self.macros[o.name][1] if n in self.macros]
        return found | {Origin(n, self.macros[n][0]) for n in inner}


def read_flow(source: str) -> Flow:
    """Read a source once, for the origins of any of its lines."""
    tokens = tuple(_tokens(code(source)))
    named: dict[int, dict[str, None]] = defaultdict(dict)
    for before, token in zip((Token("", 0), *tokens), tokens, strict=False):
        if _WORD.match(token.text) and before.text not in _MEMBER:
            named[token.line][token.text] = None
    walk = _Walk()
    for token in tokens:
        walk.step(token)
    defined = (d for d in directives(source) if d.name == "define")
    texts = [(d, _WORD.findall(d.text)[:WORDS]) for d in defined]
    macros = {words[0]: (d.line, words[1:]) for d, words in texts if words}
    numbers = {found[1]: int(found[2]) for d, _ in texts if (found := _NUMBER.match(d.text))}
    return Flow(
        _settings(tokens), {line: tuple(words) for line, words in named.items()},
        tuple(walk.conditions), tuple(walk.functions), macros, numbers, tuple(_settled(tokens)),
    )  # fmt: skip


def _tokens(bare: str) -> Iterator[Token]:
    line = 1
    for found in _TOKEN.finditer(bare):
        if found[0] == "\n":
            line += 1
        else:
            yield Token(found[0], line)


def _settings(tokens: Sequence[Token]) -> Mapping[str, Sequence[int]]:
    """The lines on which each name is given a value, or declared as an array."""
    partner = _partners(tokens)
    lines: dict[str, list[int]] = defaultdict(list)
    for at, token in enumerate(tokens):
        before = tokens[at - 1].text if at else ""
        if not _WORD.match(token.text) or before in _MEMBER:
            continue
        after = partner[at + 1] if at + 1 < len(tokens) else at + 1
        sign = tokens[after].text if after < len(tokens) else ""
        declared = sign == ";" and after > at + 1 and bool(_WORD.match(before))
        if sign in _SETS or (declared and before != "return"):
            lines[token.text].append(token.line)
    return lines


def _settled(tokens: Sequence[Token]) -> Iterator[Origin]:
    """The conditions `if (false)` and `false ? ...`."""
    for one, two, three, four in zip(tokens, tokens[1:], tokens[2:], tokens[3:], strict=False):
        if (one.text, two.text, four.text) == ("if", "(", ")") and three.text in _CONSTANTS:
            yield Origin("if", one.line)
        elif one.text in _CONSTANTS and two.text == "?":
            yield Origin("?", one.line)


def _partners(tokens: Sequence[Token]) -> Sequence[int]:
    """For each token where the text goes on when indices in brackets that begin there are passed
    over: the token itself when none does.
    """
    goes_on = list(range(len(tokens) + 1))
    open_at: list[int] = []
    pairs: list[tuple[int, int]] = []
    for at, token in enumerate(tokens):
        if token.text == "[":
            open_at.append(at)
        elif token.text == "]" and open_at:
            pairs.append((open_at.pop(), at))
    for opening, end in sorted(pairs, reverse=True):
        goes_on[opening] = goes_on[end + 1]
    return goes_on


@dataclass
class _Block:
    """A brace that is open: what decided about it, and the line that it opened on."""

    headers: list[Token]
    first: int
    returns: bool = False


@dataclass
class _Walk:
    """One pass over the tokens: which conditions decide about which lines."""

    conditions: list[Span] = field(default_factory=list)
    functions: list[Span] = field(default_factory=list)
    blocks: list[_Block] = field(default_factory=list)
    pending: list[Token] = field(default_factory=list)
    header: Token | None = None
    closed: list[Token] = field(default_factory=list)
    depth: int = 0
    began: int = 0
    returned: bool = False
    exits: list[Token] = field(default_factory=list)

    def step(self, token: Token) -> None:
        """Take one more token into account."""
        self.began = self.began or token.line
        match token.text:
            case "(":
                self.depth += 1
            case ")":
                self._closes()
            case "{" if not self.depth:
                self.blocks.append(_Block(self.pending, token.line))
                self.pending, self.returned = [], False
            case "}" if not self.depth:
                self._ends(token)
            case ";" if not self.depth:
                self._simple(token)
            case "else":
                self.pending = self.closed[-DEEPEST:]
            case "return":
                self.returned = True
                if self.blocks:
                    self.blocks[-1].returns = True
            case word if word in _CONDITIONS and not self.depth:
                self.header = token

    def _closes(self) -> None:
        self.depth = max(self.depth - 1, 0)
        if not self.depth and self.header is not None:
            self.pending.append(self.header)
            self.header = None

    def _simple(self, end: Token) -> None:
        """A statement without braces ends."""
        self._decided(self.pending, self.pending[0].line if self.pending else 0, end.line)
        if self.returned:
            self.exits += self.pending
        self.closed, self.pending, self.returned = self.pending, [], False
        if not self.blocks:
            self.began = 0

    def _ends(self, end: Token) -> None:
        """A block ends, with a function when it is the outermost."""
        if not self.blocks:
            return
        block = self.blocks.pop()
        self._decided(block.headers, block.first, end.line)
        if block.returns:
            self.exits += block.headers
        self.closed, self.pending = block.headers, []
        if not self.blocks:
            self.functions.append(Span("", self.began, self.began, end.line))
            self.conditions += [Span(e.text, e.line, e.line, end.line) for e in self.exits]
            self.exits, self.began, self.closed = [], 0, []

    def _decided(self, headers: Sequence[Token], first: int, last: int) -> None:
        self.conditions += [Span(h.text, h.line, first, last) for h in headers]
