"""Write `fixtures/dims/conformance.json`: dims as ONNX tools write them, with their values by these tools.

    python tools/dim_conformance.py rfc0009 torch onnxruntime onnx-ir    # needs torch, onnxruntime, onnx-ir and sympy
    python tools/dim_conformance.py paddle                               # needs paddlepaddle, onnxruntime and sympy

Each run replaces the expressions of the named dialects and keeps the others. No expression and no value comes from
gather_infer. `docs/dims.md` describes the format.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeAlias

FILE = Path(__file__).parents[1] / "fixtures" / "dims" / "conformance.json"
PER_DIALECT = 40
SIZES = [
    (0, 0, 0), (1, 1, 1), (2, 2, 2), (0, 1, 2), (1, 0, 3), (3, 2, 0), (2, 3, 5), (5, 3, 2), (7, 7, 7), (7, 11, 13),
    (13, 5, 17), (4, 8, 16), (8, 4, 2), (10, 10, 10), (31, 32, 33), (64, 1, 63), (101, 97, 89), (127, 128, 129),
    (224, 224, 3), (512, 1000, 65536),
]  # fmt: skip
"""Sizes of the first, second and third name of an expression: 0, 1, equal, prime and large ones."""

Sizes: TypeAlias = Mapping[str, int]
Entry: TypeAlias = tuple[tuple[str, ...], str, Callable[[Sizes], "int | None"]]
"""The names, the text, and its value by the tool; None where the tool has no integer value."""


def values(names: tuple[str, ...], value: Callable[[Sizes], int | None]) -> list[int | None]:
    return [value(dict(zip(names, sizes, strict=False))) for sizes in SIZES]


def by_sympy(expression: Any) -> Callable[[Sizes], int | None]:
    """The value of a sympy expression with numbers for its symbols, by name."""

    def value(sizes: Sizes) -> int | None:
        import sympy

        try:
            found = sympy.sympify(expression).subs(
                {s: sizes[s.name] for s in sympy.sympify(expression).free_symbols}, simultaneous=True
            )
        except (ZeroDivisionError, TypeError, AssertionError):  # torch asserts that a remainder has a legal operand
            return None
        return int(found) if found.is_Integer or (found.is_Float and found == int(found)) else None

    return value


# RFC 0009, by its text: Python arithmetic with ^ for max, & for min, and the exact division /:

RFC = [
    "2*batch", "cache_length + seq_length", "N+1", "N*M//2", "(N+1)//2", "2*N//M", "CeilToInt(N, 4)",
    "CeilToInt(N+M,2)", "Max(N, M)", "N^M", "N&M", "(N-1)^0", "N^M^K", "N&M&K", "N^M&K", "N&M^K", "(N^M)&K",
    "N+M^K", "N+(M^K)", "2*N&M+1", "N%4", "(N+M)%3", "N-N%8", "2*(N//2)", "(2*N)/:2", "4*N*M/:2", "N*(M*6/:3)",
    "N*M*K/:K", "-N+2*N+M", "+N*3", "((N+1)//2+1)//2+1", "N//2//2", "N*M%7", "7*N//3%5", "CeilToInt(N*M, 16)*16",
    "Max(N, 1)*Max(M, 1)", "Max(Max(N, M), K)+1", "1^N", "N//(M+1)", "N%(M+1)",
]  # fmt: skip


class _Undefined(Exception):
    """A value that the RFC leaves open."""


def rfc_value(text: str, sizes: Sizes) -> int | None:
    """The value of a text of the RFC.

    None where the RFC defines none, and where the implementation that it describes, which truncates, departs from its
    floor division.
    """
    tree = ast.parse(text.strip().replace("/:", "@"), mode="eval").body  # @ has the precedence of *
    try:
        return _rfc(tree, sizes)
    except (_Undefined, ZeroDivisionError):
        return None


def _rfc(node: ast.expr, sizes: Sizes) -> int:
    match node:
        case ast.Constant(value=int(number)):
            return number
        case ast.Name(id=name):
            return sizes[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_rfc(operand, sizes)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return _rfc(operand, sizes)
        case ast.Call(func=ast.Name(id="Max"), args=args):
            return max(_rfc(arg, sizes) for arg in args)
        case ast.Call(func=ast.Name(id="CeilToInt"), args=[first, second]):
            a, b = _rfc(first, sizes), _rfc(second, sizes)
            return -(-_nonnegative(a) // b)
        case ast.BinOp(left=left, op=op, right=right):
            return _RFC_OPERATORS[type(op)](_rfc(left, sizes), _rfc(right, sizes))
    raise AssertionError(f"not in the grammar: {ast.dump(node)}")


def _nonnegative(number: int) -> int:
    if number < 0:
        raise _Undefined
    return number


def _exact(a: int, b: int) -> int:
    if a % b:
        raise _Undefined
    return a // b


_RFC_OPERATORS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.FloorDiv: lambda a, b: _nonnegative(a) // b,
    ast.Mod: lambda a, b: _nonnegative(a) % b,
    ast.MatMult: _exact,
    ast.BitXor: max,
    ast.BitAnd: min,
}


def rfc0009() -> Iterator[Entry]:
    for text in RFC:
        functions = {"CeilToInt", "Max"}
        names = tuple(dict.fromkeys(n for n in re.findall(r"[A-Za-z_]\w*", text) if n not in functions))
        yield names, text, lambda sizes, text=text: rfc_value(text, sizes)  # type: ignore[misc]


# torch: sympy expressions of its symbolic shapes, and dims of exported programs


def torch() -> Iterator[Entry]:
    import sympy
    from torch.utils._sympy import functions as f
    from torch.utils._sympy.printers import PythonPrinter

    s, t, u = sympy.symbols("s0 s1 s2", integer=True, nonnegative=True)
    div, mod, pmod = f.FloorDiv, f.Mod, f.PythonMod
    expressions = [
        s * t, 2 * s + 1, s * t * u, s**2 * t, s - t + u, div(s, 2), div(s - 1, 2) + 1, div(s * t, 4), div(s, t + 1),
        div(div(s + 1, 2) + 1, 2) * t, div(s, 2) * div(t, 3), pmod(s, 4), pmod(s - t, 3), pmod(s * t, u + 1),
        mod(s, 5), mod(s + t, u + 2), s - pmod(s, 8), f.Max(1, s), f.Max(0, s - 3), f.Min(s, t), f.Max(s, t, u),
        f.Min(s + 1, 2 * t) * 3, f.Max(1, f.Min(s, 16)), f.CeilToInt(f.IntTrueDiv(s, 2)),
        f.CeilToInt(f.IntTrueDiv(s, 3)) * t, f.FloorToInt(f.IntTrueDiv(s, 7)), f.TruncToInt(f.IntTrueDiv(s - t, 3)),
        f.FloorToInt(1.5 * f.ToFloat(s)), f.TruncToInt(2.0 * f.ToFloat(s)), f.RoundToInt(f.IntTrueDiv(s, 2)),
        f.ModularIndexing(s, 4, 8), f.CeilDiv(s, 16) * 16, f.CleanDiv(s * t, 3),
    ]  # fmt: skip
    names = ("s0", "s1", "s2")
    for expression in expressions:
        yield names, str(expression), by_sympy(expression)
    python = PythonPrinter()
    for expression in (
        div(s + 3, 4) * t, pmod(s, 6) + 1, f.Max(s, t) + f.Min(t, u), f.CeilToInt(f.IntTrueDiv(s, 5)), s**2 * t
    ):  # fmt: skip
        yield names, python.doprint(expression), by_sympy(expression)
    yield from exported()


def exported() -> Iterator[Entry]:
    """Dims of a program that torch.export makes."""
    import torch as pytorch

    class Net(pytorch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = pytorch.nn.Conv2d(1, 1, 3, stride=2, padding=1)

        def forward(self, x: Any) -> Any:
            return pytorch.nn.functional.max_pool2d(self.conv(x), 2)

    dynamic = ({2: pytorch.export.Dim.AUTO, 3: pytorch.export.Dim.AUTO},)
    program = pytorch.export.export(Net(), (pytorch.ones(1, 1, 32, 48),), dynamic_shapes=dynamic)
    nodes = [node.meta["val"] for node in program.graph.nodes if "val" in node.meta]
    (given,) = (value for value, node in zip(nodes, program.graph.nodes, strict=False) if node.name == "x")
    names = tuple(str(given.shape[axis]) for axis in (2, 3))
    for value in nodes[-2:]:
        expression = value.shape[2].node.expr
        yield names, str(value.shape[2]), by_sympy(expression)


# onnxruntime: its symbolic_shape_infer on small models, and Paddle's models after it


def inferred(dims: list[str], nodes: list[Any], initializers: list[Any] = ()) -> tuple[str, Any]:  # type: ignore[assignment]
    """The first symbolic expression in the shape of `y`, and its sympy form, for an input `x` with the dims."""
    from onnx import TensorProto, helper
    from onnxruntime.tools.symbolic_shape_infer import SymbolicShapeInference

    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, dims)
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "g", [x], [y], list(initializers))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    inference = SymbolicShapeInference(2**31 - 1, False, False, 0)
    inference._preprocess(model)
    while inference.run_:
        inference._infer_impl()
    shape = inference.known_vi_["y"].type.tensor_type.shape.dim
    texts = [dim.dim_param for dim in shape if re.search(r"\W", dim.dim_param.replace(".", ""))]
    assert len(texts) == 1, [dim.dim_param or dim.dim_value for dim in shape]
    return texts[0], inference.symbolic_dims_[texts[0]]


def windows(name: str) -> Iterator[tuple[str, Any]]:
    """Dims of convolutions and pools, alone and in stacks, over an axis with the given name."""
    import numpy as np
    from onnx import helper, numpy_helper

    def conv(source: str, result: str, kernel: int, stride: int, pad: int, dilation: int = 1) -> tuple[Any, Any]:
        weight = numpy_helper.from_array(np.zeros((1, 1, kernel), np.float32), f"w_{result}")
        attributes: dict[str, Any] = {"kernel_shape": [kernel], "strides": [stride], "dilations": [dilation]}
        node = helper.make_node("Conv", [source, weight.name], [result], pads=[pad, pad], **attributes)
        return node, weight

    shape = [1, 1, name]
    for kernel, stride, pad, dilation in (
        (3, 2, 1, 1), (7, 2, 3, 1), (2, 2, 0, 1), (3, 1, 0, 1), (5, 3, 2, 1), (3, 2, 2, 2), (1, 2, 0, 1), (16, 16, 0, 1)
    ):  # fmt: skip
        node, weight = conv("x", "y", kernel, stride, pad, dilation)
        yield inferred(shape, [node], [weight])  # type: ignore[arg-type]
    for settings in ([(3, 2, 1), (3, 2, 1)], [(7, 2, 3), (3, 2, 1), (3, 2, 1)], [(3, 2, 1), (2, 2, 0)]):
        names = ["x", *(f"h{i}" for i in range(len(settings) - 1)), "y"]
        made = [conv(a, b, *how) for a, b, how in zip(names, names[1:], settings, strict=False)]
        yield inferred(shape, [node for node, _ in made], [weight for _, weight in made])  # type: ignore[arg-type]
    for kernel, stride, ceil_mode in ((2, 2, 1), (3, 2, 1), (3, 3, 0)):
        pool = {"kernel_shape": [kernel], "strides": [stride], "ceil_mode": ceil_mode}
        yield inferred(shape, [helper.make_node("MaxPool", ["x"], ["y"], **pool)])  # type: ignore[arg-type]


def onnxruntime() -> Iterator[Entry]:
    import numpy as np
    import sympy
    from onnx import helper, numpy_helper

    for text, expression in windows("W"):
        yield ("W",), text, by_sympy(expression)

    def constant(name: str, numbers: list[int]) -> Any:
        return numpy_helper.from_array(np.array(numbers, np.int64), name)

    concat = helper.make_node("Concat", ["x", "x", "x"], ["y"], axis=0)
    pad = helper.make_node("Pad", ["x", "p"], ["y"])
    tile = helper.make_node("Tile", ["x", "r"], ["y"])
    for dims, nodes, held in (
        (["N", 4], [concat], []),
        (["N", 4], [pad], [constant("p", [1, 0, 2, 0])]),
        (["N", 4], [tile], [constant("r", [3, 1])]),
    ):
        text, expression = inferred(dims, nodes, held)  # type: ignore[arg-type]
        yield ("N", "M"), text, by_sympy(expression)
    # what the script computes with sympy: Div, Floor, Min, Max, Mod and ceil of the values of shapes
    n, m, k = (sympy.Symbol(name, integer=True, nonnegative=True) for name in ("N", "M", "K"))
    half = sympy.Rational(1, 2)
    for expression in (
        n // 2, (n * m) // 4, n // (m + 1), sympy.floor(n * half + m * half), sympy.ceiling(n / 3),
        sympy.ceiling((n - 2) / 4) + 1, sympy.Max(0, n - 3), sympy.Min(n, m), sympy.Max(1, sympy.Min(n, 2 * m)),
        sympy.Mod(n, 4), sympy.Mod(n + m, k + 1), n**2 * m, sympy.floor(sympy.floor(n / 2) / 3) * m,
        sympy.floor(sympy.Max(n / 2, half)), sympy.Abs(n - m), sympy.floor(n * (m + 1) / 6) - k,
        sympy.floor(n / 2 - m / 3), 3 * n - 2 * m + k, (n + 2 * m) // 5 * k, sympy.Max(n, m, k) - sympy.Min(n, m, k),
        sympy.Mod(n * m, 7) + 1, sympy.ceiling(n * m / 8) * 8, sympy.floor((n - 1) / 2) * sympy.floor((m - 1) / 2),
        n // (m * k + 1), sympy.Min(n, m) // 2 + k,
        sympy.sign(n - m) * sympy.floor(sympy.Abs(n - m) / 2), sympy.Max(0, sympy.Min(n, m - 2)),
    ):  # fmt: skip
        yield ("N", "M", "K"), str(expression), by_sympy(expression)


# onnx-ir: arithmetic of its SymbolicDim


def onnx_ir() -> Iterator[Entry]:
    import math

    import onnx_ir as ir

    h, w, b = (ir.SymbolicDim(name) for name in ("H", "W", "B"))
    texts = [
        "floor(H/4)", "H*W", "2*H + 1", "max(H, W)", "Min(H, W, 8)", "(H - 1)//2 + 1", "H % 3", "mod(H + W, 4)",
        "H**2", "H**2*W", "sqrt(H**2)", "floor(H/2 - 1/2) + 1", "H//2//3", "H - W + B", "-H + 2*H*W",
        "floor(H*W/6)*B", "(H + W)//(B + 1)", "H*W*B - H", "2*(H//2) + H % 2", "max(0, H - W)", "min(H, 7)*B",
        "floor(H/3 + W/2)", "max(1, H//16)", "H*(H + 1)/2", "max(H, W)//2", "Mod(H, 2) + floor(W/3)",
    ]  # fmt: skip
    for text in texts:
        dim = ir.SymbolicDim(text)
        yield ("H", "W", "B"), text, by_onnx_ir(dim)
    for dim in (
        h // 4, h * w, h + w + b, h - 1, (h - 1) // 2 + 1, (h * w) // 8, h % 5, (h + w) % 3, math.ceil(h / 3),
        math.floor(h / 7), math.ceil((h + 1) / 2) * b, math.floor((h - 3) / 2), -h + 3 * h + w, (h * 6) / 3,
        math.trunc(h / 2), h * h * w, (h + 2) // 3 // 2, math.ceil(h * w / 4), 2 * h - h % 2, (h // 2 + 1) * (w // 2),
    ):  # fmt: skip
        assert dim.value is not None
        yield ("H", "W", "B"), dim.value, by_onnx_ir(dim)


def by_onnx_ir(dim: Any) -> Callable[[Sizes], int | None]:
    """The value by onnx-ir; None where it contradicts its own expression, since it takes every size to be positive.

    `SymbolicDim("max(H, W)").evaluate({"H": 1, "W": 0})` is 0: max(1, W) is W before W is 0.
    """
    at_once = by_sympy(dim._expr)

    def value(sizes: Sizes) -> int | None:
        found = dim.evaluate(sizes)
        return found if isinstance(found, int) and found == at_once(sizes) else None

    return value


# Paddle: the shapes of its PIR with values by runs, and onnxruntime's texts for the names of its ONNX files


def paddle() -> Iterator[Entry]:
    for text, expression in windows("DynamicDimension.1"):
        yield ("DynamicDimension.1",), text, by_sympy(expression)
    import paddle as pd

    functional = pd.nn.functional
    pd.seed(0)

    def conv(x: Any, kernel: int, stride: int, padding: int, dilation: int = 1) -> Any:
        weight = pd.ones([1, 1, kernel, 1])
        how = {"stride": [stride, 1], "padding": [padding, 0], "dilation": [dilation, 1]}
        return functional.conv2d(x, weight, **how)

    def pool(x: Any, kernel: int, stride: int, ceil_mode: bool = False) -> Any:
        return functional.max_pool2d(x, [kernel, 1], [stride, 1], ceil_mode=ceil_mode)

    def of_image(x: Any, y: Any, z: Any) -> tuple[Any, Any, Any]:
        """Images of 1 channel and 1 column."""
        return tuple(t.reshape([1, 1, -1, 1]) for t in (x, y, z))  # type: ignore[return-value]

    programs: list[Callable[[Any, Any, Any], Any]] = [
        lambda x, y, z: conv(x, 3, 2, 1), lambda x, y, z: conv(x, 7, 2, 3), lambda x, y, z: conv(x, 2, 2, 0),
        lambda x, y, z: conv(x, 5, 3, 2), lambda x, y, z: conv(x, 3, 1, 0), lambda x, y, z: conv(x, 3, 2, 2, 2),
        lambda x, y, z: conv(conv(x, 3, 2, 1), 3, 2, 1), lambda x, y, z: pool(x, 2, 2), lambda x, y, z: pool(x, 3, 2),
        lambda x, y, z: pool(conv(x, 3, 2, 1), 2, 2), lambda x, y, z: pool(x, 2, 2, ceil_mode=True),
        lambda x, y, z: pd.concat([x, y], 2), lambda x, y, z: pd.concat([x, y, z, x], 2),
        lambda x, y, z: pd.concat([conv(x, 3, 2, 1), y], 2), lambda x, y, z: functional.pad(x, [0, 0, 1, 2]),
        lambda x, y, z: pd.tile(x, [1, 1, 3, 1]), lambda x, y, z: pd.concat([x, x], 2),
        lambda x, y, z: x + y, lambda x, y, z: conv(pd.concat([x, y], 2), 3, 2, 1),
        lambda x, y, z: functional.pixel_shuffle(pd.tile(x, [1, 4, 1, 1]), 2),
        lambda x, y, z: functional.pad(conv(x, 3, 2, 1), [0, 0, 3, 4]), lambda x, y, z: x[:, :, 1:],
        lambda x, y, z: pd.tile(pd.concat([x, y], 2), [1, 1, 2, 1]), lambda x, y, z: pool(pool(x, 2, 2), 2, 2),
        lambda x, y, z: conv(x, 4, 4, 0), lambda x, y, z: pool(x, 3, 3), lambda x, y, z: conv(x, 9, 1, 4),
        lambda x, y, z: pool(conv(x, 7, 2, 3), 3, 2), lambda x, y, z: pd.concat([conv(x, 5, 2, 2), pool(y, 2, 2)], 2),
        lambda x, y, z: conv(pd.tile(x, [1, 1, 4, 1]), 3, 2, 1), lambda x, y, z: conv(x, 6, 2, 2),
        lambda x, y, z: pd.concat([pd.tile(y, [1, 1, 2, 1]), z], 2), lambda x, y, z: conv(x + y, 3, 2, 1),
        lambda x, y, z: conv(x, 3, 2, 0, 3), lambda x, y, z: pool(functional.pad(x, [0, 0, 2, 3]), 4, 3),
        lambda x, y, z: pd.concat([x + y, z], 2), lambda x, y, z: pd.concat([x + 1, y, y], 2),
        lambda x, y, z: conv(x, 1, 3, 0),
        lambda x, y, z: pd.concat([pool(x, 2, 2), pool(y, 2, 2)], 2), lambda x, y, z: conv(pool(x, 2, 1), 3, 1, 0),
    ]  # fmt: skip
    seen: set[str] = set()
    for program in programs:
        text = paddle_text(program)
        if text not in seen and re.search(r"\W", text):
            seen.add(text)
            names = ("S0", "S1", "S2")
            yield names, text, lambda sizes, program=program: paddle_run(program, sizes)  # type: ignore[misc]


def paddle_text(program: Callable[..., Any]) -> str:
    """The size of axis 2 of the result as PIR prints it, for three images of heights S0, S1 and S2."""
    import paddle as pd
    from paddle.base import libpaddle

    pd.enable_static()
    try:
        with pd.pir_utils.IrGuard():
            main = pd.static.Program()
            with pd.static.program_guard(main):
                inputs = [pd.static.data(name, [1, 1, -1, 1], "float32") for name in "xyz"]
                program(*inputs)
            passes = libpaddle.pir.PassManager()
            libpaddle.pir.infer_symbolic_shape_pass(passes, main)
            passes.run(main)
            shown = main.global_block().ops[-1].attrs()["sym_shape_str"]
    finally:
        pd.disable_static()
    shape = re.search(r"shape\[(.*?)\], data", shown)
    assert shape is not None, shown
    return split(shape[1])[2]


def split(text: str) -> list[str]:
    """The parts of a list, whose commas are outside parentheses."""
    parts, depth = [""], 0
    for character in text:
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "," and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]


def paddle_run(program: Callable[..., Any], sizes: Sizes) -> int | None:
    """The size of axis 2 of the result of a run; None where Paddle refuses the sizes."""
    import paddle as pd

    try:
        result = program(*(pd.zeros([1, 1, sizes[name], 1]) for name in ("S0", "S1", "S2")))
    except (ValueError, RuntimeError, IndexError, OSError):
        return None
    return int(result.shape[2])


DIALECTS: dict[str, tuple[Callable[[], Iterator[Entry]], tuple[str, ...]]] = {
    # dialect: its expressions, and the packages that they come from
    "rfc0009": (rfc0009, ()),
    "torch": (torch, ("torch", "sympy")),
    "onnxruntime": (onnxruntime, ("onnxruntime", "sympy")),
    "onnx-ir": (onnx_ir, ("onnx-ir", "sympy")),
    "paddle": (paddle, ("paddlepaddle", "onnxruntime", "sympy")),
}


def main(dialects: list[str]) -> None:
    held: dict[str, Any] = json.loads(FILE.read_text()) if FILE.exists() else {}
    found = {d: [e for e in held.get("expressions", ()) if e["dialect"] == d] for d in DIALECTS}
    tools = held.get("tools", {})
    for dialect in dialects:
        entries, packages = DIALECTS[dialect]
        tools[dialect] = " ".join(f"{name} {version(name)}" for name in packages) or "the text of RFC 0009"
        unique: dict[str, dict[str, Any]] = {}
        for names, text, value in entries():
            used = tuple(n for n in names if re.search(rf"(?<![\w.]){re.escape(n)}(?![\w.])", text))
            # sizes go by the position among the names that occur
            entry = {
                "dialect": dialect,
                "text": text,
                "names": list(used),
                "values": values(names_of(names, used), value),
            }
            unique.setdefault(text, entry)
        found[dialect] = list(unique.values())[:PER_DIALECT]
        print(dialect, len(unique), sum(v is None for e in found[dialect] for v in e["values"]), "without a value")
    lines = ",\n".join("    " + json.dumps(entry) for entries in found.values() for entry in entries)
    head = json.dumps({"schema": 1, "tools": {d: tools[d] for d in DIALECTS if d in tools}, "sizes": SIZES})
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(f'{head[:-1]},\n"expressions": [\n{lines}\n]}}\n')


def names_of(names: tuple[str, ...], used: tuple[str, ...]) -> tuple[str, ...]:
    """The names in the order in which they take sizes: those that occur, then the others."""
    return (*used, *(name for name in names if name not in used))


if __name__ == "__main__":
    main(sys.argv[1:])
