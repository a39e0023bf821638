"""The fenced blocks of a page. `python tests/readme.py setup --print-tests` prints the README's test command.

The README's first two `sh` blocks set a checkout up: one for users, one for tests. Nothing but the standard library is
needed here, so that a build can read the README before anything is installed.
"""

from __future__ import annotations

import argparse
import re
from dataclasses import dataclass
from pathlib import Path

REPO = Path(__file__).resolve().parents[1]
README = REPO / "README.md"
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


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


def setup() -> tuple[list[str], list[str]]:
    """The commands of the README's first two `sh` blocks: what users and what testers run."""
    use, test = (block.text.splitlines() for block in blocks(README, "sh")[:2])
    return use, test


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("block", choices=["setup"])
    parser.add_argument(
        "--print-tests", action="store_true", help="only the commands that test, not those that install"
    )
    options = parser.parse_args()
    for command in setup()[1]:
        if not options.print_tests or not command.startswith("pip install"):
            print(command)


if __name__ == "__main__":
    main()
