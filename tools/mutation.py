"""The places of a source file where a small change should make a test fail, and the change.

A place is found in the syntax tree and changed in the text, so that the rest of the file stays as it is. Left out is
what no test should look at: docstrings, annotations, decorators, texts and messages, `__repr__`, assertions, and the
limits on work that are called MAX_...: one more is as good.
"""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

COMPARISONS = {
    ast.Lt: (rb"<", b"<="),
    ast.LtE: (rb"<=", b"<"),
    ast.Gt: (rb">", b">="),
    ast.GtE: (rb">=", b">"),
    ast.Eq: (rb"==", b"!="),
    ast.NotEq: (rb"!=", b"=="),
    ast.Is: (rb"\bis\b", b"is not"),
    ast.IsNot: (rb"\bis\s+not\b", b"is"),
    ast.In: (rb"\bin\b", b"not in"),
    ast.NotIn: (rb"\bnot\s+in\b", b"in"),
}
KEYS = re.compile(r"key|text|question", re.IGNORECASE)
"""What variables and functions are called that hold or make a key."""
TEXTS = frozenset({"strict", "reason", "stem"})
"""Keywords that decide nothing: an assertion of zip, why something is not known, what a symbol is called."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Place:
    """One change of one file.

    file     relative to the tree
    within   the class and function around it, "" at the top of the module
    kind     what is changed
    start, end, text   the bytes of the file that are replaced, and what takes their place
    lines    the lines of the innermost statement, of a compound one its header: who runs these reaches the place
    names    outside functions, what the statement defines: who uses these reaches the place
    function   the qualified name of the outermost function whose code has the place; empty where none has
    """

    file: str
    within: str
    kind: str
    start: int
    end: int
    text: bytes
    lines: tuple[int, ...]
    names: frozenset[str]
    function: str

    def applied(self, source: bytes) -> bytes:
        return source[: self.start] + self.text + source[self.end :]

    def is_valid(self, source: bytes) -> bool:
        """Whether the changed file is still Python: a change may leave nothing between brackets."""
        try:
            ast.parse(self.applied(source))
        except SyntaxError:
            return False
        return True

    def diff(self, source: bytes) -> str:
        """The changed lines, without their surroundings."""
        old, new = source.decode().splitlines(), self.applied(source).decode().splitlines()
        found = difflib.unified_diff(old, new, lineterm="", n=0)
        return "\n".join(line for line in found if not line.startswith(("---", "+++", "@@")))


def places(file: str, source: bytes) -> list[Place]:
    """Every place of a file, in the order of the text."""
    found = _Finder(file, source)
    found.visit(ast.parse(source))
    return sorted(found.places, key=lambda p: (p.start, p.end, p.kind))


class _Finder(ast.NodeVisitor):
    def __init__(self, file: str, source: bytes) -> None:
        self.file, self.source = file, source
        self.places: list[Place] = []
        self.scopes: list[ast.ClassDef | Function] = []
        self.statement: ast.stmt | None = None
        self.is_default = False
        self.starts = [0]
        for line in source.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))

    # positions

    def start(self, node: ast.expr | ast.stmt | ast.keyword) -> int:
        return self.starts[node.lineno - 1] + node.col_offset

    def end(self, node: ast.expr | ast.stmt | ast.keyword) -> int:
        assert node.end_lineno is not None and node.end_col_offset is not None, "the parser gives every node an end"
        return self.starts[node.end_lineno - 1] + node.end_col_offset

    def between(self, left: ast.expr, pattern: bytes, right: ast.expr) -> tuple[int, int]:
        """Where the operator is between two operands; brackets and line ends may be there too."""
        at = self.end(left)
        match = re.search(pattern, self.source[at : self.start(right)])
        assert match is not None, "an operator stands between its operands"
        return at + match.start(), at + match.end()

    def note(self, kind: str, start: int, end: int, text: bytes) -> None:
        outermost = next((at for at, s in enumerate(self.scopes) if isinstance(s, Function)), None)
        names: frozenset[str] = frozenset()
        function = ""
        if outermost is None:
            names = frozenset(_defined(self.statement)) if self.statement is not None else frozenset()
            names |= {s.name for s in self.scopes}
        elif not self.is_default:
            function = ".".join(s.name for s in self.scopes[: outermost + 1])
        within = ".".join(s.name for s in self.scopes)
        lines = () if self.statement is None else tuple(_header(self.statement))
        self.places.append(Place(self.file, within, kind, start, end, text, lines, names, function))

    # what is left out

    def visit(self, node: ast.AST) -> None:
        if isinstance(node, (ast.Assert, ast.JoinedStr, ast.Import, ast.ImportFrom)):
            return
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            return
        outer = self.statement
        if isinstance(node, ast.stmt):
            self.statement = node
        super().visit(node)
        self.statement = outer

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        if node.name == "__repr__":
            return
        first = node.body[0]
        is_docstring = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
        self.scopes.append(node)
        for child in node.body[is_docstring:]:
            self.visit(child)
        # a default is evaluated once, but decides in the body
        self.statement = node.body[is_docstring] if len(node.body) > is_docstring else first
        outer, self.is_default = self.is_default, True
        for default in (*node.args.defaults, *node.args.kw_defaults):
            if default is not None:
                self.visit(default)
        self.is_default = outer
        self.scopes.pop()

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.scopes.append(node)
        for child in node.body:
            self.visit(child)
        self.scopes.pop()

    # statements

    def visit_Assign(self, node: ast.Assign) -> None:
        if all(isinstance(t, (ast.Attribute, ast.Subscript)) or self.is_bound_before(t) for t in node.targets):
            self.note("statement dropped", self.start(node), self.end(node), b"pass")
        if any(isinstance(t, ast.Name) and KEYS.search(t.id) for t in node.targets):
            self.drop_elements(node.value)
        self.visit(node.value)
        for target in node.targets:
            self.visit(target)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        name = node.target.id if isinstance(node.target, ast.Name) else ""
        if node.value is None or name.lstrip("_").startswith("MAX_") or "TypeAlias" in ast.dump(node.annotation):
            return
        self.visit(node.value)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.note("statement dropped", self.start(node), self.end(node), b"pass")
        self.visit(node.value)

    def visit_Delete(self, node: ast.Delete) -> None:
        self.note("statement dropped", self.start(node), self.end(node), b"pass")

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Call):
            self.note("statement dropped", self.start(node), self.end(node), b"pass")
            self.visit(node.value)
        elif not isinstance(node.value, ast.Constant):
            self.visit(node.value)

    def visit_If(self, node: ast.If) -> None:
        only = node.body[0]
        if (
            len(node.body) == 1
            and not node.orelse
            and isinstance(only, (ast.Return, ast.Raise, ast.Continue, ast.Break))
        ):
            self.note("guard dropped", self.start(only), self.end(only), b"pass")
        self.generic_visit(node)

    def visit_Return(self, node: ast.Return) -> None:
        function = next((s for s in reversed(self.scopes) if isinstance(s, Function)), None)
        if function is not None and node.value is not None and KEYS.search(function.name):
            self.drop_elements(node.value)
        self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> None:
        pass  # a message

    def is_bound_before(self, target: ast.expr) -> bool:
        """Whether a name has another value without this assignment: else the change is a mere NameError."""
        function = next((s for s in reversed(self.scopes) if isinstance(s, Function)), None)
        if not isinstance(target, ast.Name) or function is None:
            return False
        arguments = {a.arg for a in (*function.args.args, *function.args.kwonlyargs)}
        bound = (
            n.id
            for n in ast.walk(function)
            if isinstance(n, ast.Name)
            and isinstance(n.ctx, ast.Store)
            and (n.lineno, n.col_offset) < (target.lineno, 0)
        )
        return target.id in arguments or target.id in bound

    # expressions

    def visit_Compare(self, node: ast.Compare) -> None:
        left = node.left
        for operator, right in zip(node.ops, node.comparators, strict=True):
            pattern, text = COMPARISONS[type(operator)]
            self.note("comparison", *self.between(left, pattern, right), text)
            if isinstance(operator, (ast.In, ast.NotIn)):
                self.drop_elements(right)
            left = right
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        old, new = (b"and", b"or") if isinstance(node.op, ast.And) else (b"or", b"and")
        for left, right in zip(node.values, node.values[1:], strict=False):
            self.note("and/or", *self.between(left, rb"\b%s\b" % old, right), new)
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not):
            operand = self.source[self.start(node.operand) : self.end(node.operand)]
            self.note("not dropped", self.start(node), self.end(node), b"(" + operand + b")")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, bool):
            self.note("True/False", self.start(node), self.end(node), str(not node.value).encode())
        elif isinstance(node.value, int):
            self.note("integer + 1", self.start(node), self.end(node), str(node.value + 1).encode())

    def visit_Set(self, node: ast.Set) -> None:
        self.drop_elements(node)
        self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        self.drop_elements(node.slice)
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        function = node.func
        if isinstance(function, ast.Name) and function.id in ("min", "max"):
            other = b"max" if function.id == "min" else b"min"
            self.note("min/max", self.start(function), self.end(function), other)
        if isinstance(function, ast.Attribute) and function.attr in ("get", "setdefault") and node.args:
            self.drop_elements(node.args[0])
        for keyword in node.keywords:
            if keyword.arg is not None and keyword.arg not in TEXTS:
                self.drop(keyword, "keyword dropped")
        self.generic_visit(node)

    def visit_keyword(self, node: ast.keyword) -> None:
        if node.arg not in TEXTS:
            self.visit(node.value)

    def drop_elements(self, node: ast.expr) -> None:
        """Each element of a tuple or set of at least two."""
        for choice in (node.body, node.orelse) if isinstance(node, ast.IfExp) else (node,):
            if isinstance(choice, (ast.Tuple, ast.Set)) and len(choice.elts) > 1:
                for element in choice.elts:
                    self.drop(element, "element dropped")

    def drop(self, node: ast.expr | ast.keyword, kind: str) -> None:
        """An element of a list in brackets, with the comma behind it."""
        end = self.end(node)
        comma = re.match(rb"\s*,[ \t]*", self.source[end:])
        if comma is not None:
            self.note(kind, self.start(node), end + comma.end(), b"")
            return
        before = re.search(rb",\s*$", self.source[: self.start(node)])
        self.note(kind, self.start(node) if before is None else before.start() + 1, end, b"")


def _header(statement: ast.stmt) -> Iterator[int]:
    """The lines of a statement that run when it is reached: those before its body, if it has one."""
    body = getattr(statement, "body", None) or getattr(statement, "cases", None)
    last = statement.end_lineno or statement.lineno
    if body:
        first = body[0]
        last = max(statement.lineno, (first.pattern if isinstance(first, ast.match_case) else first).lineno - 1)
    yield from range(statement.lineno, last + 1)


def _defined(statement: ast.stmt) -> Iterator[str]:
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def users(names: frozenset[str], trees: dict[str, ast.Module]) -> tuple[set[tuple[str, int]], frozenset[str]]:
    """Where functions use one of the names, as (file, line); and what is defined by one of them outside functions."""
    lines: set[tuple[str, int]] = set()
    more: set[str] = set()
    for file, tree in trees.items():
        waiting: list[tuple[ast.AST, ast.stmt | None, bool]] = [(tree, None, False)]
        while waiting:
            node, statement, is_inside = waiting.pop()
            if isinstance(node, ast.stmt):
                statement = node
            is_inside = is_inside or isinstance(node, (ast.FunctionDef, ast.Lambda))
            match node:
                case ast.Name(id=name) | ast.Attribute(attr=name) | ast.keyword(arg=name):
                    line = node.lineno
                case _:
                    name, line = None, 0
            if name in names:
                if is_inside:
                    lines.add((file, line))
                elif statement is not None:
                    more |= set(_defined(statement))
            waiting += [(child, statement, is_inside) for child in ast.iter_child_nodes(node)]
    return lines, frozenset(more) - names


def sources(tree: Path, rooms: tuple[str, ...]) -> dict[str, bytes]:
    """The files of some folders of a tree, by their path in it."""
    files = sorted(f for room in rooms for f in (tree / room).rglob("*.py"))
    return {f.relative_to(tree).as_posix(): f.read_bytes() for f in files}
