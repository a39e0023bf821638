"""Writes docs/commands.md from the help texts of the commands: `python docs/make_commands.py`. A test compares."""

from __future__ import annotations

from pathlib import Path

import click
from gather_infer_cli.main import COMMANDS, main

PAGE = Path(__file__).with_name("commands.md")
WIDTH = 100

HEAD = """\
<!-- made by docs/make_commands.py -->

# Commands

The help text of each command, as `gather-infer COMMAND --help` prints it. Options under *Common* have the same meaning
in all commands; [in a shell](shell.md) has the exit codes and the completion of names.
"""


def page() -> str:
    """The text of the page: a section for each command."""
    program = click.Context(main, info_name="gather-infer", **main.context_settings)
    sections = []
    for name, summary in COMMANDS.items():
        command = main.get_command(program, name)
        assert command is not None, name
        context = click.Context(command, info_name=name, parent=program, max_content_width=WIDTH, terminal_width=WIDTH)
        sections.append(f"## {name}\n\n{summary}\n\n```text\n{command.get_help(context)}\n```\n")
    return "\n".join([HEAD, *sections])


if __name__ == "__main__":
    PAGE.write_text(page())
