"""Runs the blocks of a page, in order and in one working directory that holds the fixtures.

sh       one command per line, run for its exit code: 0, or the one that a comment states: `# exit 2`
console  `$ command`, perhaps with such a comment, then its output; a line `...` stands for any number of lines, and
         times are not compared
python   run as one program per page. Comments behind a `print`, or directly below a statement that prints, are its
         output. A block that begins with the comment `# name.py` is also that file
"""

from __future__ import annotations

import ast
import contextlib
import io
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import Any

from click.testing import CliRunner
from gather_infer_cli.main import main

REPO = Path(__file__).resolve().parents[1]
_BLOCK = re.compile(r"^```(\w*|\{\w+\})\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SECONDS = re.compile(r"\b\d+\.\d\d s\b")
_EXIT = re.compile(r"# exit (\d)$")
_FILE = re.compile(r"# (\w+\.py)\n")


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: its language, its text, and the line of the page that it begins on."""

    language: str
    text: str
    line: int


def blocks(page: Path, *languages: str) -> list[Block]:
    """The fenced blocks of a page in these languages, in order."""
    text = page.read_text()
    found = [Block(m[1], m[2], text.count("\n", 0, m.start(2)) + 1) for m in _BLOCK.finditer(text)]
    return [block for block in found if block.language in languages]


def run_page(page: Path, folder: Path, *, skip: tuple[str, ...] = ()) -> int:
    """Runs every block of a page in `folder`, the current directory; how many statements and commands there were.

    skip   beginnings of commands that are not run
    """
    if not (folder / "fixtures").exists():
        (folder / "fixtures").symlink_to(REPO / "fixtures")
    names: dict[str, object] = {"__name__": "__main__"}
    ran = 0
    for block in blocks(page, "sh", "console", "python"):
        where = f"{page.name}:{block.line}"
        if block.language == "python":
            ran += _run_python(block, where, folder, names)
        elif block.language == "sh":
            for line in block.text.splitlines():
                if line and not line.startswith(("#", *skip)):
                    stated = _EXIT.search(line)
                    code, output = run_command(line)
                    assert code == (int(stated[1]) if stated else 0), f"{where}: {line}\n{output}"
                    ran += 1
        else:
            for command, expected in _session(block):
                stated = _EXIT.search(command)
                code, output = run_command(command)
                assert code == (int(stated[1]) if stated else 0), f"{where}: {command}\n{output}"
                assert matches(expected, output.splitlines()), f"{where}: {command}\n{output}"
                ran += 1
    return ran


_PYTEST = ["-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:gather-infer"]
_PLUGIN = ["-p", "gather_infer_cli.pytest_plugin"]


def cli_runner() -> CliRunner:
    """A runner whose results have standard output and standard error apart, which is an option before click 8.2."""
    options: dict[str, Any] = {"mix_stderr": False} if "mix_stderr" in signature(CliRunner).parameters else {}
    return CliRunner(**options)


def run_command(line: str) -> tuple[int, str]:
    """Exit code and output of a `gather-infer` command, run in this process, or of `python` and `pytest` in another.

    `> FILE` at the end writes standard output to a file.
    """
    program, *arguments = shlex.split(line, comments=True)
    if program in ("python", "pytest"):
        before = [] if program == "python" else [*_PYTEST, *_PLUGIN]
        done = subprocess.run([sys.executable, *before, *arguments], capture_output=True, text=True, timeout=300)
        return done.returncode, done.stdout + done.stderr
    assert program == "gather-infer", f"not run by the tests: {line}"
    if ">" not in arguments:
        result = CliRunner().invoke(main, arguments)
        return result.exit_code, result.output
    *arguments, _, file = arguments
    result = cli_runner().invoke(main, arguments)
    Path(file).write_text(result.stdout, encoding="utf-8")
    return result.exit_code, result.stderr


def _session(block: Block) -> Iterator[tuple[str, list[str]]]:
    assert block.text.startswith("$ "), "a console block begins with a command"
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        command, *output = part.rstrip("\n").split("\n")
        yield command, output


def matches(expected: list[str], output: list[str]) -> bool:
    """Whether the output is the expected lines, where `...` is any number of lines and every time is like another."""

    def pattern(line: str) -> str:
        return r"(?:[^\n]*\n)*?" if line == "..." else re.escape(_SECONDS.sub("0.00 s", line.rstrip()) + "\n")

    text = "".join(_SECONDS.sub("0.00 s", line.rstrip()) + "\n" for line in output)
    return re.fullmatch("".join(map(pattern, expected)), text) is not None


def _run_python(block: Block, where: str, folder: Path, names: dict[str, object]) -> int:
    if file := _FILE.match(block.text):
        (folder / file[1]).write_text(block.text)
    lines = block.text.splitlines()
    statements = ast.parse(block.text).body
    for number, statement in enumerate(statements):
        printed = io.StringIO()
        program = compile(ast.Module([statement], []), where, "exec")
        with contextlib.redirect_stdout(printed):
            exec(program, names)
        end = statements[number + 1].lineno - 1 if number + 1 < len(statements) else len(lines)
        assert statement.end_lineno is not None
        expected = _expected(statement, lines[statement.end_lineno - 1 : end])
        output = printed.getvalue().splitlines()
        assert bool(output) == bool(expected), f"{where}: {ast.unparse(statement)} prints {output}"
        assert output == expected, f"{where}: {ast.unparse(statement)}"
    return len(statements)


def _expected(statement: ast.stmt, lines: list[str]) -> list[str]:
    """The output that the comments state behind the last line of a statement, or directly below it."""
    is_print = isinstance(statement, ast.Expr) and ast.unparse(statement).startswith("print(")
    if is_print and statement.end_col_offset is not None:
        behind = lines[0].encode()[statement.end_col_offset :].decode().strip()
        if behind:
            return [behind.removeprefix("# ")]
    below = []
    if is_print or isinstance(statement, ast.For):
        for line in lines[1:]:
            if not line.startswith("#"):
                break
            below.append(line.removeprefix("# "))
    return below
