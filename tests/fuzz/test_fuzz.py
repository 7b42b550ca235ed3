"""A short, repeatable fuzzing run, the whole corpus under the sanitizers, and proof that a
defect would be noticed.
"""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import pytest

import grader.simulator.core.bindings
from tests.fuzz import runner
from tests.fuzz.build import sanitised
from tests.fuzz.corpus import CORPUS, KERNELS, entries
from tests.fuzz.execute import execute
from tests.fuzz.minimise import ended
from tests.fuzz.mutate import mutated
from tests.fuzz.runner import fuzz
from tests.patience import PATIENCE

INPUTS = 1000
"""The mutated inputs that are tried here: 4 s of processor time; the command goes on."""


@pytest.fixture(scope="session")
def core() -> Path:
    return sanitised()


def test_mutated_inputs_do_not_crash_the_core(core: Path) -> None:
    outcome = fuzz(core, seconds=PATIENCE, seed=20, jobs=1, inputs=INPUTS)
    assert not outcome.defects, "\n".join(outcome.defects)
    assert outcome.reached > 20


def test_corpus_is_clean_under_the_sanitizers(core: Path) -> None:
    assert ended(core, *sorted(CORPUS.glob("*.ptx"))) == ""


def test_corpus_reaches_the_core() -> None:
    for entry in entries():
        assert execute(entry.text, entry.spec, grader.simulator.core.bindings.core()), entry.name


@pytest.mark.parametrize("offset", ["99999999999999999999", "-9223372036854775808"])
def test_addresses_with_offsets_of_any_size_are_encoded(offset: str) -> None:
    """Addresses wrap around: an offset that does not fit in a field of the core is none."""
    changed = 0
    for entry in entries():
        text, count = re.subn(r"\[(%\w+)(?:\+\d+)?\]", rf"[\1+{offset}]", entry.text)
        execute(text, entry.spec, grader.simulator.core.bindings.core())
        changed += count
    assert changed > 100


def test_load_behind_the_parameters_of_a_function_is_refused() -> None:
    """Behind them are those of another call, and what is known of their bits."""
    changed = 0
    for entry in entries():
        functions = re.findall(r"^\.(?:visible |weak )?func .*?^\}", entry.text, re.M | re.S)
        for text in functions:
            far, count = re.subn(r"(ld\.param\S* \t?[^;]*\[\w+)\]", r"\1+4096]", text)
            if count:
                spoiled = entry.text.replace(text, far)
                assert not execute(spoiled, entry.spec, grader.simulator.core.bindings.core())
                changed += 1
    assert changed > 3


@pytest.mark.parametrize("name", ["atomics.fast", "prints.debug"])
def test_instruction_that_lacks_an_operand_is_refused(name: str) -> None:
    """Analyses that look at an instruction before it is decoded meet it as it is."""
    entry = next(e for e in entries() if e.name == name)
    lines = entry.text.split("\n")
    short = [re.sub(r"^(\s(?:add|ld|st|mov)\.[^;]*),[^,;]*;$", r"\1;", line) for line in lines]
    places = [k for k, line in enumerate(lines) if short[k] != line]
    for k in places:
        text = "\n".join([*lines[:k], short[k], *lines[k + 1 :]])
        assert not execute(text, entry.spec, grader.simulator.core.bindings.core()), short[k]
    assert len(places) > 20


def test_instruction_of_any_kind_without_operands_is_refused_or_runs() -> None:
    """Each kind of instruction in the corpus without any operand, and without its last ones."""
    statement = re.compile(r"^(\s+(?:@!?%p\d+\s+)?)([a-z]\w*)([.\w:]*)\s+([^;{}]+);", re.M)
    seen: set[tuple[str, str]] = set()
    for entry in entries():
        for found in statement.finditer(entry.text):
            operands = {"none": "", "one less": found[4].rpartition(",")[0]}
            operands["two less"] = operands["one less"].rpartition(",")[0]
            for kind, left in operands.items():
                if (found[2], kind) not in seen:
                    seen.add((found[2], kind))
                    made = f"{found[1]}{found[2]}{found[3]} {left};"
                    text = entry.text[: found.start()] + made + entry.text[found.end() :]
                    execute(text, entry.spec, grader.simulator.core.bindings.core())
    assert len(seen) > 80


def test_unknown_type_of_any_instruction_is_refused() -> None:
    """Analyses meet the type of an instruction before its decoding refuses it."""
    statement = re.compile(
        r"^(\s+(?:@!?%p\d+\s+)?)((ld|st|atom|red|and|shr|mov|cvt)\.[\w.:]*)\s", re.M
    )
    seen: set[tuple[str, str]] = set()
    for entry in entries():
        for found in statement.finditer(entry.text):
            before = entry.text[: found.start()].rstrip().rpartition("\n")[2].split(".")[0].strip()
            if (kind := (found[3], before if found[3] == "st" else "")) not in seen:
                seen.add(kind)
                made = f"{found[1]}{found[2].rpartition('.')[0]}.xor "
                text = entry.text[: found.start()] + made + entry.text[found.end() :]
                execute(text, entry.spec, grader.simulator.core.bindings.core())
    assert len(seen) > 20


@pytest.mark.parametrize("number", ["08", "0x"])
def test_numbers_that_are_none_are_refused(number: str) -> None:
    """Analyses that look at a number before it is decoded meet it as it is."""
    changed = 0
    for entry in entries():
        text, count = re.subn(r"(?<=, )-?\d+(?=;)", number, entry.text)
        execute(text, entry.spec, grader.simulator.core.bindings.core())
        changed += count
    assert changed > 100


def test_statements_of_functions_without_operands_are_refused_or_run() -> None:
    """Analyses of whole functions, which are not kernels, meet their statements as they are."""
    body = re.compile(r"^\.(?:visible |weak )?func .*?^\{(.*?)^\}", re.M | re.S)
    statement = re.compile(r"^(\s+(?:@!?%p\d+\s+)?[a-z][\w.:]*)\s+[^;{}]+;", re.M)
    seen: set[str] = set()
    for entry in entries():
        for function in body.finditer(entry.text):
            for found in statement.finditer(entry.text, function.start(1), function.end(1)):
                if (kind := found[1].split()[-1]) not in seen:
                    seen.add(kind)
                    text = f"{entry.text[: found.start()]}{found[1]};{entry.text[found.end() :]}"
                    execute(text, entry.spec, grader.simulator.core.bindings.core())
    assert len(seen) > 20


@pytest.mark.parametrize("name", ["1", "_", "%tid.x"])
@pytest.mark.parametrize("of", ["%p1", "%r1"])
def test_registers_of_any_name_are_refused_or_run(of: str, name: str) -> None:
    """Numbers and special registers are operands, too."""
    changed = 0
    for entry in entries():
        text, count = re.subn(rf"{of}\b", name, entry.text)
        for declared in ("b32", "pred"):
            more = re.sub(r"(?<=\n\{\n)", f".reg .{declared} {name};\n", text)
            execute(more, entry.spec, grader.simulator.core.bindings.core())
            changed += count
    assert changed > 100


@pytest.mark.parametrize("lacking", ["brx.idx 3;", "brx.idx;", "bra;", "bra.uni;"])
def test_branch_that_lacks_an_operand_is_refused(lacking: str) -> None:
    entry = next(one for one in entries() if "brx.idx" in one.text and "elect.sync" in one.text)
    text = re.sub(r"(?=membar\.gl;|elect\.sync)", f"{lacking}\n", entry.text)
    assert text != entry.text
    assert not execute(text, entry.spec, grader.simulator.core.bindings.core())


def test_every_kernel_has_both_variants() -> None:
    names = {entry.name for entry in entries()}
    for path in KERNELS.glob("*.cu"):
        assert {f"{path.stem}.debug", f"{path.stem}.fast"} <= names


def test_mutations_are_repeatable_from_their_seed() -> None:
    corpus = entries()
    assert mutated(Random(5), corpus) == mutated(Random(5), corpus)
    assert mutated(Random(5), corpus) != mutated(Random(6), corpus)


def test_dead_process_is_a_defect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A core that cannot be loaded counts as a defect."""
    monkeypatch.setattr(runner, "FOUND", tmp_path)
    outcome = fuzz(tmp_path / "no-core.so", seconds=1, seed=1, jobs=1)
    assert outcome.defects and not outcome.reached
