"""The published files: built twice, looked into, and installed where no checkout is."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import platform
import re
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import NamedTuple
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest

from grader.labs.reading import list_labs, load_lab
from tests.command import ROOT
from tests.patience import PATIENCE

LAB = "vector-add"
FAST = {"CC": os.environ.get("CC", "cc"), "CFLAGS": "-O0 -w", "LDFLAGS": "-Wl,-s"}
"""The compiler of this machine, without optimization: the wheels are about all but speed."""


def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("wheels", ROOT / "deploy" / "wheels.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


wheels = script()


class Built(NamedTuple):
    """The files of one build."""

    sdist: Path
    wheel: Path


def build(folder: Path, content: Path) -> Built:
    sdist = wheels.make_sdist(content, folder)
    machine = platform.machine()
    return Built(sdist, wheels.make_wheel(sdist, machine, FAST, folder, "linux_{0}"))


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bundle") / "content"
    wheels.make_content(folder, [LAB])
    return folder


@pytest.fixture(scope="module")
def built(content: Path, tmp_path_factory: pytest.TempPathFactory) -> Built:
    return build(tmp_path_factory.mktemp("first"), content)


@pytest.fixture(scope="module")
def again(content: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Built]:
    """A second build: other folders, other times of files, another time zone and language."""
    was = {name: os.environ.get(name) for name in ("TZ", "LANG", "PYTHONHASHSEED")}
    os.environ.update(TZ="Pacific/Kiritimati", LANG="tr_TR.UTF-8", PYTHONHASHSEED="17")
    for path in content.rglob("*"):
        os.utime(path, (1_600_000_000, 1_600_000_000))
    try:
        yield build(tmp_path_factory.mktemp("second-and-elsewhere"), content)
    finally:
        for name, value in was.items():
            os.environ.pop(name, None)
            os.environ.update({name: value} if value is not None else {})


def names(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


def read(wheel: Path, end: str) -> bytes:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(end)]
        return archive.read(name)


def test_two_builds_are_equal(built: Built, again: Built) -> None:
    for first, second in zip(built, again, strict=True):
        assert first != second and first.name == second.name
        assert hashlib.sha256(first.read_bytes()).digest() == (
            hashlib.sha256(second.read_bytes()).digest()
        ), f"{first.name} differs"


def test_a_wheel_fits_every_python_and_uses_no_symbol_of_it(built: Built, tmp_path: Path) -> None:
    assert "-py3-none-" in built.wheel.name
    cores = [name for name in names(built.wheel) if name.endswith(".so")]
    expected = ["_core.so", "_core_v3.so"] if platform.machine() == "x86_64" else ["_core.so"]
    assert sorted(Path(name).name for name in cores) == expected
    with zipfile.ZipFile(built.wheel) as archive:
        for name in cores:
            symbols = subprocess.run(
                ["nm", "-D", archive.extract(name, tmp_path)], capture_output=True, check=True
            ).stdout
            assert b"core_sources" in symbols and b" Py" not in symbols and b"_Py" not in symbols


def test_the_labs_are_their_public_parts(built: Built) -> None:
    inside = [name for name in names(built.wheel) if "/content/" in name]
    assert {Path(name).parent.name for name in inside if name.endswith("lab.yaml")} == set(
        list_labs()
    )
    assert [name for name in inside if "solutions" in name or "wrong" in name] == []
    with zipfile.ZipFile(built.wheel) as archive:
        texts = {name: archive.read(name).decode() for name in inside}
    for lab in map(load_lab, list_labs()):
        text = "".join(text for name, text in texts.items() if f"/{lab.name}" in name)
        hidden = [case.name for case in lab.cases if case.visibility == "hidden"]
        assert hidden and not [name for name in hidden if name in text]
        assert "drawn:" not in text and "BEGIN SOLUTION" not in text


def test_the_figures_of_a_page_are_pictures(built: Built) -> None:
    """They are embedded as text, which a browser has to read back as the same XML."""
    page = read(built.wheel, f"content/handouts/{LAB}.html").decode()
    figures = re.findall(r'src="data:image/svg\+xml,([^"]*)"', page)
    assert figures and "base64" not in "".join(re.findall(r'src="([^"]{0,40})', page))
    for figure in figures:
        assert not set(figure) & set('"<>#\n') and "<script" not in unquote(figure)
        assert ElementTree.fromstring(unquote(figure)).tag.endswith("}svg")


def test_the_source_distribution_has_no_hidden_case(built: Built) -> None:
    with tarfile.open(built.sdist) as archive:
        inside = archive.getnames()
        files = [archive.extractfile(name) for name in inside if name.endswith("lab.yaml")]
        texts = [file.read().decode() for file in files if file]
    top = {name.split("/")[1] for name in inside if "/" in name}
    assert {"grader", "setup.py", "pyproject.toml", "deploy", "PKG-INFO"} <= top
    assert not top & {"labs", "solutions", "tests"}
    assert any(name.endswith("core/machine/launch.c") for name in inside)
    templates = [text for text in texts if "visibility: hidden" in text]
    assert len(texts) == len(list_labs()) + len(templates)
    assert len(templates) <= 1, "the template of a new lab shows what a hidden case looks like"


def test_the_bill_of_materials_names_what_is_inside(built: Built) -> None:
    bill = json.loads(read(built.wheel, ".dist-info/sboms/warpgrade.cdx.json"))
    assert (bill["bomFormat"], bill["specVersion"], bill["version"]) == ("CycloneDX", "1.6", 1)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert bill["metadata"]["component"]["version"] == project["version"]
    lock = json.loads((ROOT / "grader/portal/assets/package-lock.json").read_text())["packages"]
    scripts = {part["name"]: part["version"] for part in bill["components"] if "version" in part}
    assert scripts["htmx.org"] == lock["node_modules/htmx.org"]["version"]
    assert "@codemirror/state" in scripts and not [name for name in scripts if "esbuild" in name]
    needed = {part["name"] for part in bill["components"] if "version" not in part}
    assert len(needed) == len(project["dependencies"]) and {"numpy", "tree-sitter"} <= needed
    licenses = {x["license"]["id"] for part in bill["components"] for x in part.get("licenses", ())}
    assert licenses <= {"MIT", "0BSD", "BSD-2-Clause", "ISC", "Apache-2.0"}, "names of SPDX's list"
    references = [part["bom-ref"] for part in bill["components"]]
    assert len(set(references)) == len(references)
    (own, *others) = bill["dependencies"]
    assert own["dependsOn"] == references and {x["ref"] for x in others} == set(references)


def test_every_module_of_every_package_is_in_the_wheel(built: Built) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    patterns = project["tool"]["setuptools"]["packages"]["find"]["include"]
    modules = {
        path.relative_to(ROOT).as_posix()
        for pattern in patterns
        for folder in ROOT.glob(pattern)
        for path in folder.rglob("*.py")
    }
    assert len(modules) > 250 and modules - set(names(built.wheel)) == set()


def test_the_record_lists_every_file(built: Built) -> None:
    rows = read(built.wheel, ".dist-info/RECORD").decode().splitlines()
    assert sorted(row.split(",")[0] for row in rows) == sorted(names(built.wheel))


def test_a_wheel_that_is_compressed_anew_is_the_same_but_smaller(tmp_path: Path) -> None:
    wheel, text = tmp_path / "x-1-py3-none-any.whl", Path(__file__).read_bytes()
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as made:
        for name, mode in (("a/code.py", 0o644), ("a/run.sh", 0o755)):
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.external_attr, entry.compress_type = mode << 16, zipfile.ZIP_DEFLATED
            made.writestr(entry, text)
    before = wheel.read_bytes()
    wheels.compress(wheel)
    assert len(wheel.read_bytes()) < 0.99 * len(before)
    assert [p.name for p in tmp_path.iterdir()] == [wheel.name]
    with zipfile.ZipFile(wheel) as archive:
        assert archive.testzip() is None
        for entry in archive.infolist():
            assert archive.read(entry) == text
        modes = {e.filename: (e.external_attr >> 16, e.date_time[0]) for e in archive.infolist()}
    assert modes == {"a/code.py": (0o644, 1980), "a/run.sh": (0o755, 1980)}


def test_the_audit_accepts_a_wheel_and_says_what_is_wrong(built: Built, tmp_path: Path) -> None:
    assert built.wheel.stat().st_size <= wheels.MAX_BYTES
    assert [w for w in wheels.audit(built.wheel) if "auditwheel" not in w] == []
    wrong = tmp_path / built.wheel.name.replace("-linux_", "-manylinux_2_5_")
    with zipfile.ZipFile(built.wheel) as old, zipfile.ZipFile(wrong, "w") as new:
        for entry in old.infolist():
            kept = [row for row in old.read(entry).splitlines(True) if b"/sboms/" not in row]
            record = entry.filename.endswith("/RECORD")
            if "/sboms/" not in entry.filename:
                new.writestr(entry, b"".join(kept) if record else old.read(entry))
        new.writestr("grader/labs/content/labs/x/lab.yaml", "cases: [{visibility: hidden}]")
        new.writestr("grader/labs/content/solutions/x.cu", "")
        new.writestr("noise.bin", os.urandom(wheels.MAX_BYTES))
    said = "\n".join(wheels.audit(wrong))
    assert f"more than {wheels.MAX_BYTES:,}" in said and "does not confirm manylinux_2_5_" in said
    assert "labs/x/lab.yaml has `visibility: hidden`" in said and "`solutions/`" in said
    assert "it has no file /sboms/warpgrade.cdx.json" in said


@pytest.fixture(scope="module")
def installed(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel alone; its dependencies are those of this environment."""
    folder = tmp_path_factory.mktemp("environment") / "venv"
    venv.create(folder)
    python = folder / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check"]
    subprocess.run(
        [*pip, "install", "--quiet", "--no-index", "--no-deps", "--no-compile", str(built.wheel)],
        check=True, cwd=folder,
    )  # fmt: skip
    (place,) = folder.glob("lib/python*/site-packages")
    (place / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder


def run(installed: Path, cwd: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the installed command, with no checkout on its path."""
    variables = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "WARPGRADE"))}
    return subprocess.run(
        [str(installed / "bin" / "grader"), *words], cwd=cwd, env=variables, text=True,
        stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE,
    )  # fmt: skip


def test_from_the_installation_to_the_first_grade(installed: Path, tmp_path: Path) -> None:
    where = subprocess.run(
        [str(installed / "bin" / "python"), "-c", "import grader; print(grader.__file__)"],
        cwd=tmp_path, capture_output=True, text=True, check=True,
        env={k: v for k, v in os.environ.items() if k != "PYTHONPATH"},
    ).stdout  # fmt: skip
    assert where.startswith(str(installed))
    listed = run(installed, tmp_path, "labs", "list", "--json", "-")
    assert [lab["name"] for lab in json.loads(listed.stdout)["labs"]] == list(list_labs())
    got = run(installed, tmp_path, "labs", "get", LAB)
    assert got.returncode == 0, got.stderr
    work = tmp_path / LAB
    assert {path.name for path in work.iterdir()} == {
        f"{LAB}.cu", f"{LAB}.html", "README.md", "answers.yaml", ".vscode",
    }  # fmt: skip
    skeleton = run(installed, work, "check", LAB, f"{LAB}.cu")
    assert skeleton.returncode == 1 and "score 0 of 100" in skeleton.stdout, skeleton.stderr
    (work / f"{LAB}.cu").write_bytes((ROOT / "solutions" / LAB / f"{LAB}.cu").read_bytes())
    right = run(installed, work, "check", LAB, f"{LAB}.cu", "--json", "-")
    grade = json.loads(right.stdout)
    assert grade["status"] == "graded" and grade["score"] == grade["judged_max"] > 0
    assert {case["visibility"] for case in grade["cases"]} == {"public"}


def test_a_lab_of_the_current_folder_comes_before_the_packages(
    installed: Path, tmp_path: Path
) -> None:
    """The zip of a course may have a lab of the same name, with other points."""
    own = tmp_path / "labs" / LAB
    own.mkdir(parents=True)
    (source,) = installed.glob(f"lib/python*/site-packages/grader/labs/content/labs/{LAB}")
    for path in source.iterdir():
        (own / path.name).write_bytes(path.read_bytes())
    text = (own / "lab.yaml").read_text()
    (own / "lab.yaml").write_text(text.replace("title: Vector addition", "title: Ours"))
    listed = json.loads(run(installed, tmp_path, "labs", "list", "--json", "-").stdout)["labs"]
    titles = {lab["name"]: lab["title"] for lab in listed}
    assert titles[LAB] == "Ours" and len(titles) == len(list_labs())
