"""`gather-infer completion`."""

from __future__ import annotations

import click

from .completing import VARIABLE
from .options import Command


@click.command("completion", cls=Command, example="gather-infer completion bash")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(context: click.Context, shell: str) -> int:
    """Print what makes a shell complete commands, options, files, operators, codes and tensors.

    bash and zsh read it with `eval "$(gather-infer completion bash)"` in .bashrc or .zshrc, fish from a file:
    gather-infer completion fish > ~/.config/fish/completions/gather-infer.fish.
    """
    from click.shell_completion import get_completion_class

    made = get_completion_class(shell)
    assert made is not None, "click knows these shells"
    program = context.find_root().command
    click.echo(made(program, {}, "gather-infer", VARIABLE).source())
    return 0
