"""Split a source into its items: the declarations at file scope and in namespaces.

One pass over the tokens of `preprocessor.code` and over the directives. No syntax tree is needed:
an item ends at a `;` or at the brace that closes a function's body, and its head says what it
declares. A text that the grammar does not recognize is split all the same, and no limit of a parser
leaves a part of it out.

In a conditional the branches are alternatives: each begins with the braces that were open before
the `#if`. An item that branches continue is one item.

Offsets are those of `preprocessor.joined`, the text without spliced lines.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from functools import cached_property

from grader import dataclass, regex
from grader.compile.preprocessor import (
    Directive,
    block_macros,
    code,
    directives,
    macro_words,
)

_TOKEN = regex(r"[A-Za-z_$][\w$]*|\.?\d[\w.']*|<<<|::|->|[{}()\[\];,=<>:.*&~#]")
_SKIPPED = frozenset((
    "__align__", "alignas", "__attribute__", "__launch_bounds__", "__cluster_dims__", "throw",
    "__block_size__", "__declspec", "decltype", "noexcept", "__maxnreg__", "requires", "sizeof",
))  # fmt: skip
"""Words whose parentheses are not those of parameters."""
_TYPES = frozenset(("struct", "class", "union", "enum"))
_NOT_NAMES = frozenset((
    "const", "volatile", "struct", "class", "union", "enum", "typename", "unsigned", "signed",
    "int", "float", "double", "char", "short", "long", "bool", "void", "size_t", "__restrict__",
    "__restrict", "restrict"))  # fmt: skip
KERNEL, DEVICE, HOST = "__global__", "__device__", "__host__"
ANNOTATIONS = (KERNEL, DEVICE, HOST, "__constant__", "__managed__", "__shared__")

_BEHIND_NAMES = ("=", "[", ",", ";", "{")
_POINTERS = regex(r"\* (\w+) \)")
"""The names of function pointers in a head: `(*name)`."""

MAX_NESTING = 256  # namespaces around an item that are named: what every compiler has to read

Token = tuple[str, int]
"""A token and its offset."""


@dataclass(eq=False)
class Item:
    """One declaration.

    Attributes:
        start: The offset of its first token.
        end: The offset behind its last token.
        line: The line of the first token.
        last_line: The line of the last token.
        scope: The namespaces around it, from the outermost; "" is an unnamed one.
        conditional: Whether it begins in a preprocessor conditional.
        head: The tokens before its body, without those in nested braces.
        words: The identifiers in it, members and its own parameters left out.
        called: Those that are followed by `(` or `<`.
        inner: The identifiers in its braces that are followed by `,`, `=` or `}`.
        is_function: Whether its body is a function's.
    """

    start: int
    line: int
    scope: tuple[str, ...] = ()
    conditional: bool = False
    end: int = 0
    last_line: int = 0
    head: list[Token] = field(default_factory=list)
    words: set[str] = field(default_factory=set)
    called: set[str] = field(default_factory=set)
    inner: set[str] = field(default_factory=set)
    is_function: bool = False

    @property
    def first(self) -> str:
        """The first token."""
        return self.head[0][0] if self.head else ""

    @cached_property
    def name(self) -> str:
        """The declared function's name, "operator" for an operator; else the first name."""
        return self.function_name or min(self.names, default="")

    @cached_property
    def names(self) -> frozenset[str]:
        """The names that it declares at its scope."""
        if name := self.function_name:
            return frozenset((name,))
        flat = self._flat()
        pairs = zip(flat, [*flat[1:], (";", 0)], strict=False)
        found = {one for (one, _), (two, _) in pairs if two in _BEHIND_NAMES and is_name(one)}
        tokens = [token for token, _ in self.head]
        if not _TYPES.isdisjoint(tokens) or self.first == "typedef":
            found |= {two for one, two in zip(tokens, tokens[1:], strict=False) if one in _TYPES}
            found |= set(_POINTERS.findall(" ".join(tokens)))
        if "enum" in tokens:
            found |= self.inner
        return frozenset(filter(is_name, found))

    @property
    def is_instantiation(self) -> bool:
        """Whether it is an explicit instantiation of a template."""
        return self.first == "template" and len(self.head) > 1 and self.head[1][0] != "<"

    @property
    def is_template(self) -> bool:
        """Whether it declares a template, not a specialization of one."""
        tokens = [token for token, _ in self.head[:3]]
        return tokens[:2] == ["template", "<"] and tokens[2:] != [">"]

    @cached_property
    def function_name(self) -> str:
        """The name before the last parentheses of its head; "" when it declares no function."""
        tokens = [token for token, _ in self.head]
        if "operator" in tokens:
            return "operator"
        is_function = self.is_function or _is_prototype(tokens)
        if not is_function or self.first in ("using", "typedef"):
            return ""
        name, scoped, word = "", "", ""
        angles: list[str] = []
        for token, after in zip(tokens, [*tokens[1:], ""], strict=True):
            if token in (":", "->") and name:
                break
            if token == "<":
                angles.append(word)
            word = angles.pop() if token == ">" and angles else token
            if after == "(" and is_name(word) and word not in _SKIPPED:
                name = f"{scoped}{word}"
            scoped = token if token in ("~", "::") else ""
        return name

    def _flat(self) -> list[Token]:
        """The head's tokens outside of angle brackets, which contain no declared names."""
        flat, depth = [], 0
        for token in self.head:
            depth += (token[0] == "<") - (token[0] == ">" and depth > 0)
            if not depth:
                flat.append(token)
        return flat


def is_name(token: str) -> bool:
    """Whether a token is an identifier or a keyword."""
    return token[:1].isalpha() or token[:1] in tuple("_$")


def _is_prototype(tokens: list[str]) -> bool:
    """Whether a head without a body declares a function: `void f(int);`, and not `dim3 g(1, 2);`.

    Parameters have types: two words in a row, a star, a reference, or nothing.
    """
    if "(" not in tokens or "=" in tokens[: tokens.index("(")]:
        return False
    inside = tokens[tokens.index("(") + 1 :]
    if inside[:1] == [")"] or KERNEL in tokens or DEVICE in tokens or tokens[0] == "template":
        return True
    pairs = zip(inside, [*inside[1:], ""], strict=True)
    return any(is_name(one) and (is_name(two) or two in ("*", "&")) for one, two in pairs) or (
        inside[:1] == ["void"] or (len(inside) > 1 and inside[0] in _NOT_NAMES)
    )


@dataclass(frozen=True)
class Items:
    """What a source declares.

    Attributes:
        items: Its declarations in order.
        directives: Its preprocessor directives.
        macros: The identifiers of each macro's definitions.
        unnamed: The offsets of the words and braces of unnamed namespaces.
        namespaces: The names of its namespaces.
        launches: The template arguments of each kernel launch, by the kernel's name.
        text: The text of `preprocessor.code`.
    """

    items: tuple[Item, ...]
    directives: tuple[Directive, ...]
    macros: Mapping[str, frozenset[str]]
    unnamed: tuple[tuple[int, int], ...]
    namespaces: frozenset[str]
    launches: Mapping[str, tuple[str, ...]]
    text: str


def split_items(source: str) -> Items:
    """Split a source into its items."""
    text, found = code(source), tuple(directives(source))
    reader = _Reader(text, macro_words(found), block_macros(found))
    for token in _merged(text, found):
        if isinstance(token, Directive):
            reader.directive(token)
        else:
            reader.token(*token)
    return Items(
        tuple(reader.finished()), found, reader.macros, tuple(reader.unnamed),
        frozenset(reader.namespaces), _launches(text), text)  # fmt: skip


def _merged(text: str, found: tuple[Directive, ...]) -> Iterator[Token | Directive]:
    """The tokens and the directives in the order of the text."""
    waiting = iter(found)
    directive = next(waiting, None)
    for match in _TOKEN.finditer(text):
        while directive is not None and directive.start < match.start():
            yield directive
            directive = next(waiting, None)
        yield match[0], match.start()


_LAUNCH = regex(r"(?<!\w)([A-Za-z_]\w*+)\s*+(?:<([^<>;{}]{1,200})>)?\s*+<<<")


def _launches(text: str) -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for match in _LAUNCH.finditer(text):
        found.setdefault(match[1], {})[(match[2] or "").strip()] = None
    return {name: tuple(arguments) for name, arguments in found.items()}


_Stack = tuple["_Stack", tuple[str, ...], int] | None
"""The open namespaces: those around, their names, and the offset of an unnamed one's word or -1."""


@dataclass(frozen=True)
class _State:
    """Which braces and parentheses are open; the braces of namespaces are on the stack."""

    stack: _Stack = None
    braces: int = 0
    parentheses: int = 0
    item: Item | None = None


class _Reader:
    """The state of the pass over the tokens."""

    def __init__(
        self, text: str, macros: Mapping[str, frozenset[str]], blocks: frozenset[str]
    ) -> None:
        self.text, self.macros, self.blocks = text, macros, blocks
        self.items: list[Item] = []
        self.unnamed: list[tuple[int, int]] = []
        self.namespaces: set[str] = set()
        self._stack: _Stack = None
        self._braces = self._parentheses = 0
        self._item: Item | None = None
        self._saved: list[_State] = []
        self._before: list[str] = ["", ""]
        self._lines = _Lines(text)

    def directive(self, directive: Directive) -> None:
        """Enter, change or leave a branch of a conditional."""
        if directive.name in ("if", "ifdef", "ifndef"):
            self._saved.append(_State(self._stack, self._braces, self._parentheses, self._item))
        elif directive.name.startswith("el") and self._saved:
            state = self._saved[-1]
            self._stack, self._braces = state.stack, state.braces
            self._parentheses = state.parentheses
            self._item = state.item or self._item
        elif directive.name == "endif" and self._saved:
            self._saved.pop()

    def token(self, token: str, at: int) -> None:
        """Take one more token into account."""
        item = self._item
        if item is None:
            if token == ";":
                return
            if token == "}":
                return self._leave_scope(at)
            names = self._stack[1] if self._stack else ()
            item = Item(at, self._lines.of(at), names, bool(self._saved))
            self._item = item
            self.items.append(item)
            self._before = ["", ""]
        item.end, item.last_line = at + len(token), self._lines.of(at)
        self._count(item, token)
        if token == "{":
            self._opens(item, at)
        elif token == "}":
            self._closes(item, at)
        elif self._braces == 0:
            item.head.append((token, at))
            self._parentheses += (token == "(") - (token == ")" and self._parentheses > 0)
            if self._parentheses == 0 and (token == ";" or self._ends_macro(item, token)):
                self._item = None

    def finished(self) -> list[Item]:
        """The items, without their own parameters among their words."""
        for item in self.items:
            item.words -= _parameter_names(item.head)
        return self.items

    def _count(self, item: Item, token: str) -> None:
        """Add the word before this token, now that the tokens around it are known."""
        earlier, word = self._before
        if is_name(word) and earlier not in (".", "->"):
            item.words.add(word)
            if token in ("(", "<"):
                item.called.add(word)
            if self._braces and token in (",", "=", "}"):
                item.inner.add(word)
        self._before = [word, token]

    def _opens(self, item: Item, at: int) -> None:
        if self._braces == 0 and self._parentheses == 0:
            words = [token for token, _ in item.head]
            scope = [word for word in words if word != "inline"]
            if scope[:1] == ["namespace"] or scope in (["extern"], []):
                self._enter_scope(item, scope, at)
                return
            if not item.is_function:
                item.is_function = _begins_body(words)
                item.head.append(("{", at))
        self._braces += 1

    def _closes(self, item: Item, at: int) -> None:
        self._braces -= self._braces > 0
        if self._braces == 0 and (item.is_function or self._parentheses == 0 and not item.head):
            self._item = None

    def _enter_scope(self, item: Item, words: list[str], at: int) -> None:
        """Open a namespace or a block of `extern "C"`: these words are no declaration."""
        around = self._stack[1] if self._stack else ()
        names = tuple(word for word in words[1:] if is_name(word))
        unnamed = words == ["namespace"]
        if unnamed:
            self.unnamed += [(item.start, item.start + len("namespace")), (at, at + 1)]
        self.namespaces.update(names)
        self._stack = (self._stack, (*around, *names)[:MAX_NESTING], item.start if unnamed else -1)
        self.items.pop()
        self._item = None

    def _leave_scope(self, at: int) -> None:
        if self._stack is not None and self._stack[2] >= 0:
            self.unnamed.append((at, at + 1))
        self._stack = self._stack[0] if self._stack else None

    def _ends_macro(self, item: Item, token: str) -> bool:
        """Whether this closes a call of a macro that declares a whole function."""
        return token == ")" and item.first in self.blocks


class _Lines:
    """Counts lines for growing offsets."""

    def __init__(self, text: str) -> None:
        self._text, self._at, self._line = text, 0, 1

    def of(self, at: int) -> int:
        """Return the line, from 1, of an offset that is not before the last one."""
        self._line += self._text.count("\n", self._at, at)
        self._at = at
        return self._line


def _begins_body(words: list[str]) -> bool:
    """Whether a `{` after these words begins a function's body."""
    depth = angles = 0
    previous, called = "", False
    template = words[:1] == ["template"]
    for word in words:
        if template and depth == 0 and word in ("<", ">"):
            angles += 1 if word == "<" else -1
            template = angles > 0 or word == "<"
        elif word == "(":
            called |= depth == 0 and previous not in _SKIPPED
            depth += 1
        elif word == ")":
            depth -= 1
        elif word == "=" and depth == 0 and angles == 0 and previous != "operator":
            return False
        previous = word
    return called


def _parameter_names(head: list[Token]) -> set[str]:
    """The names of parameters: words before `,`, `)`, `[` or `=` with a type before them."""
    found, depth = set(), 0
    before = word = ""
    for token, _ in head:
        if depth and token in (",", ")", "[", "=") and is_name(word) and word not in _NOT_NAMES:
            is_typed = before in ("*", "&", ">") or (is_name(before) and before != "const")
            if is_typed and before not in ("struct", "enum", "volatile", "typename"):
                found.add(word)
        depth += (token == "(") - (token == ")" and depth > 0)
        before, word = word, token
    return found
