"""Writes docs/api.md from the docstrings of what is public: `python docs/make_api.py`. Tests compare, and run it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from doctest import DocTestParser, Example
from pathlib import Path
from textwrap import dedent

import gather_infer

PAGE = Path(__file__).with_name("api.md")

HEAD = """\
<!-- made by docs/make_api.py -->

# Python

What `gather_infer` offers, from its docstrings; every example runs in the tests. Names are resolved on first use, so
importing the package costs next to nothing. Errors are subclasses of `GatherInferError`, each with one clear line.

```python
import gather_infer
```
"""

GROUPS = {
    "Ask": ("infer", "explain", "verdicts", "check", "check_many", "contract_of", "axis_provenance", "independence",
            "page", "open_model"),
    "Many models": ("infer_many", "optimize_many", "convert_many", "contract_many", "cost_many", "ModelRun"),
    "Compare": ("diff", "Difference", "DiffVerdict", "Certificate"),
    "Change": ("fold", "optimize", "freeze", "unfreeze", "convert"),
    "Edit": ("extract", "compose", "rename", "outputs"),
    "Answers": (
        "Inference", "TensorRow", "Cost", "CostCurve", "Explainer", "Explanation", "SymbolExplanation", "Access",
        "Verdict", "Diagnostic", "Location", "Severity", "CheckResult", "ContractResult", "OptimizeResult",
        "FreezeResult", "ConversionResult", "EditResult", "RenameResult", "ComposeResult", "UnfreezeResult",
        "RowCheck", "Page", "AxisProvenance", "AxisOrigin", "AxisFactor", "Independence", "IndependenceVerdict",
        "OutputIndependence",
    ),
    "Contracts at run time": ("Contract", "Violation", "emit", "Emission"),
    "Facts": (
        "SymbolicTensor", "SequenceType", "OptionalType", "ValueRange", "DType", "Dim", "Expr", "parse_dim",
        "symbol",
    ),
    "Operators and rewrites of your own": (
        "RuleSet", "OpCall", "RewriteSet", "Rewrite", "Match", "CheckSet", "Problem", "Extension", "load_extension",
        "load_extensions",
    ),
    "Files": ("ModelFile",),
    "Errors": (
        "GatherInferError", "ModelReadError", "ModelStructureError", "ModelWriteError", "UsageError", "UnknownName",
        "SpecViolation",
        "ConversionRefused", "ContractViolated", "EmissionRefused", "EditRefused",
        "CertificateRefused",
    ),
}  # fmt: skip

ALIASES = {"Dim": "`int | Expr`: a size, as a number or as an expression in symbols."}

_ENTRY = re.compile(r"(?P<names>[`\w][\w, `*.()]*?)  +(?P<text>\S.*)")


def page() -> str:
    """The text of docs/api.md."""
    parts = [HEAD]
    for group, names in GROUPS.items():
        parts.append(f"\n## {group}\n")
        for name in names:
            parts += ["", *_section(name)]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(parts)) + "\n"


def _section(name: str) -> Iterator[str]:
    yield f"### {name}\n"
    if name in ALIASES:
        yield ALIASES[name]
        return
    thing = getattr(gather_infer, name)
    if inspect.isfunction(thing):
        yield f"```text\n{_signature(name, thing)}\n```\n"
    yield from markdown(inspect.getdoc(thing) or "")
    if inspect.isclass(thing):
        members = [f"* `{text}`: {_first_line(member)}" for text, member in _members(thing)]
        if members:
            yield "\nMethods and properties:\n\n" + "\n".join(members)


def _signature(name: str, function: object) -> str:
    """A parameter a line; defaults that are objects are left out."""
    assert callable(function), "only functions have one"
    lines = []
    keyword = False
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and not keyword:
            keyword = True
            lines.append("*")
        default = "" if parameter.default is parameter.empty else f" = {parameter.default!r}"
        if " at 0x" in default:
            default = " = ..."
        lines.append(f"{parameter.name}: {parameter.annotation}{default}")
    returned = inspect.signature(function).return_annotation
    inside = "".join(f"    {line},\n" for line in lines)
    return f"{name}(\n{inside}) -> {returned}"


def _members(thing: type) -> Iterator[tuple[str, object]]:
    """Public methods and properties of ours that have a docstring, in the order of the source."""
    ours = [c for c in reversed(thing.__mro__) if c.__module__.startswith("gather_infer")]
    for name, member in {name: member for c in ours for name, member in vars(c).items()}.items():
        unwrapped = getattr(member, "fget", None) or getattr(member, "__func__", None) or member
        if name.startswith("_") or not inspect.isfunction(unwrapped) or not unwrapped.__doc__:
            continue
        if isinstance(member, property):
            yield name, unwrapped
            continue
        taken = [p for p in inspect.signature(unwrapped).parameters if p not in ("self", "cls")]
        yield f"{name}({', '.join(taken)})", unwrapped


def _first_line(member: object) -> str:
    paragraph = (inspect.getdoc(member) or "").split("\n\n")[0]
    return " ".join(paragraph.split())


def markdown(docstring: str) -> Iterator[str]:
    """A docstring as Markdown: paragraphs, lists of names with their meaning, examples."""
    programs: list[str] = []
    for piece in DocTestParser().parse(docstring):
        if isinstance(piece, Example):
            programs.append(_program(piece))
        elif piece.strip():
            yield from _block(programs)
            programs = []
            yield from _prose(piece)
    yield from _block(programs)


def _block(programs: list[str]) -> Iterator[str]:
    if programs:
        yield "```python\n" + "\n".join(programs) + "\n```\n"


def _program(example: Example) -> str:
    """An example with what it prints as comments."""
    lines = [example.source.rstrip("\n")]
    lines += [f"# {line}".rstrip() for line in example.want.splitlines()]
    if example.source.startswith("import "):
        lines.append("")  # as the formatter has it
    return "\n".join(lines)


def _prose(text: str) -> Iterator[str]:
    for paragraph in re.split(r"\n\s*\n", dedent(text).strip("\n")):
        if not paragraph.strip():
            continue
        entries = list(_entries(paragraph))
        yield "\n".join(f"* {e}" for e in entries) if entries else " ".join(paragraph.split())
        yield ""


def _entries(paragraph: str) -> Iterator[str]:
    """The entries of a paragraph that is a table of names; none of one that is a sentence."""
    lines = paragraph.splitlines()
    if not _ENTRY.fullmatch(lines[0]):
        return
    current = ""
    for line in lines:
        found = None if line.startswith(" ") else _ENTRY.fullmatch(line)
        if found is None:
            current += " " + line.strip()
            continue
        if current:
            yield current
        names = ", ".join(f"`{name.strip('` ')}`" for name in found["names"].split(","))
        current = f"{names}: {found['text']}"
    yield current


if __name__ == "__main__":
    PAGE.write_text(page())
