"""`gather-infer completion`."""

from __future__ import annotations

import click

from .completers import VARIABLE
from .options import Command


@click.command("completion", cls=Command, example="gather-infer completion bash")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(context: click.Context, shell: str) -> int:
    """Print a shell completion script.

    It completes commands, options, files, operators, codes and tensors. For bash and zsh, put
    `eval "$(gather-infer completion bash)"` into .bashrc or .zshrc; for fish, write it to a file: gather-infer
    completion fish > ~/.config/fish/completions/gather-infer.fish.
    """
    from click.shell_completion import get_completion_class

    made = get_completion_class(shell)
    assert made is not None, "click knows these shells"
    program = context.find_root().command
    click.echo(made(program, {}, "gather-infer", VARIABLE).source())
    return 0
