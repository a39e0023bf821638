"""Converted IRs as files: where their weights are, what is never written over, and that checkers take them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest

from gather_infer import convert, infer
from gather_infer.errors import ConversionRefused, UsageError
from gather_infer.validate import VerdictKind, verdicts
from tests.cli.conftest import Run, run
from tests.openvino.ir_made import Layer, const, net, parameter, result, save

__all__ = ["run"]

TABLE = np.arange(4000, dtype=np.float32).reshape(1000, 4)
IDS = np.array([[0, 999, 1000], [-1, -1000, -1001]])
EXPECTED = np.where(((IDS >= -1000) & (IDS < 1000))[..., None], TABLE[np.where(IDS < 1000, IDS % 1000, 0)], 0)


def embedding(*more: Layer, edges: str = "") -> str:
    """Rows of a table by the ids that are the input, in between 1 and 8 batches; the table begins at byte 3."""
    layers = [
        parameter("0", "1..8,?", "i64", name="ids", outs=("0:I64:-1,-1:ids",)),
        const("1", "1000,4", 3, TABLE.nbytes, outs=("0:FP32:1000,4",)),
        const("2", "", 16003, 8, "i64", outs=("0:I64:",)),
        Layer("3", "Gather", ("0:FP32:1000,4", "1:I64:-1,-1", "2:I64:"), ("3:FP32:-1,-1,4",), "embed", "opset8",
              'batch_dims="0"'),
        result("4", ins=("0:FP32:-1,-1,4",), name="rows"),
    ]  # fmt: skip
    return net([*layers, *more], f"1.0>3.0 0.0>3.1 2.0>3.2 3.3>4.0 {edges}")


@pytest.fixture
def ir(tmp_path: Path) -> Path:
    folder = tmp_path / "deep"
    folder.mkdir()
    return save(folder, embedding(), b"xyz" + TABLE.tobytes() + np.array(0, np.int64).tobytes())


def rows(path: Path) -> np.ndarray:
    found: np.ndarray = ort.InferenceSession(path, providers=["CPUExecutionProvider"]).run(None, {"ids": IDS})[0]
    return found


def external(path: Path) -> list[tuple[str, int]]:
    model = onnx.load(path, load_external_data=False)
    held = [{e.key: e.value for e in t.external_data} for t in model.graph.initializer if t.external_data]
    return [(entries["location"], int(entries["offset"])) for entries in held]


def test_weights_inline(ir: Path, tmp_path: Path) -> None:
    for out in (ir.parent / "beside.onnx", tmp_path / "above.onnx"):
        written = convert(ir).save(out)
        assert (written.path, written.external_data, written.copied, external(out)) == (out, None, (), [])
        assert (rows(out) == EXPECTED).all()


def test_weights_in_a_file_of_their_own(ir: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.onnx"
    convert(ir).save(out, external_data="rows.data")
    assert external(out) == [("rows.data", 0)]
    assert (rows(out) == EXPECTED).all()


@pytest.mark.parametrize("place", ["deep/out.onnx", "out.onnx"])
def test_weights_in_place(place: str, ir: Path, tmp_path: Path) -> None:
    out = tmp_path / place
    before = ir.with_suffix(".bin").read_bytes()
    convert(ir).save(out, in_place_weights=True)
    assert external(out) == [(ir.with_suffix(".bin").relative_to(out.parent).as_posix(), 3)]
    assert out.stat().st_size < 4000
    assert (rows(out) == EXPECTED).all()
    assert ir.with_suffix(".bin").read_bytes() == before


def test_weights_that_runtimes_would_not_find(ir: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    with pytest.raises(UsageError, match=r"m\.bin: not in .*other or below it"):
        convert(ir).save(other / "out.onnx", in_place_weights=True)
    (tmp_path / "link").symlink_to(ir.parent, target_is_directory=True)
    with pytest.raises(UsageError, match="link: a link, which runtimes do not follow"):
        convert(tmp_path / "link" / "m.xml").save(tmp_path / "out.onnx", in_place_weights=True)
    with pytest.raises(UsageError, match="a stream has no directory"):
        convert(ir).save("-", in_place_weights=True)
    with pytest.raises(UsageError, match="exclude each other"):
        convert(ir).save(tmp_path / "out.onnx", in_place_weights=True, external_data="w")
    assert not list(tmp_path.glob("**/*.onnx"))


def test_the_ir_is_never_written_over(ir: Path) -> None:
    before = ir.read_bytes(), ir.with_suffix(".bin").read_bytes()
    for out, in_place in ((ir, False), (ir, True), (ir.with_suffix(".bin"), False)):
        with pytest.raises(UsageError, match=r"m\.xml: an IR, which is not overwritten|m\.bin: is a data file of"):
            convert(ir).save(out, in_place=in_place)
    with pytest.raises(UsageError, match=r"m\.bin: is a data file of"):
        convert(ir).save(ir.parent / "out.onnx", external_data="m.bin")
    assert before == (ir.read_bytes(), ir.with_suffix(".bin").read_bytes())


@pytest.mark.parametrize("opset", [18, 21, 23, 24])
def test_checkers_take_the_result(opset: int, ir: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.onnx"
    convert(ir, opset=opset).save(out)
    if onnx.load(out).ir_version <= onnx.IR_VERSION:
        onnx.checker.check_model(out, full_check=True)
    assert [o.version for o in onnx.load(out).opset_import] == [opset]
    assert (rows(out) == EXPECTED).all()
    known = infer(out)
    assert not known.errors
    assert {verdict.kind for verdict in verdicts(known)} == {VerdictKind.PROVED}
    assert str(known["rows"]) == "float32[ids.0, ids.1, 4]"
    assert [str(statement) for statement in known.persisted_constraints] == ["ids.0=1..8"]


@pytest.mark.parametrize("opset", [17, 27])
def test_opsets_that_a_result_cannot_have(opset: int, ir: Path) -> None:
    with pytest.raises(UsageError, match=rf"opset must be in \[18, 26\], is {opset}"):
        convert(ir, opset=opset)


def test_the_command(ir: Path, run: Run) -> None:
    done = run("convert", str(ir), "-o", "out.onnx", "--external-data", "w.data")
    assert (done.exit_code, done.stderr[:15]) == (0, "wrote out.onnx ")
    assert "OpenVINO IR v11, 1 layer -> " in done.stdout
    assert "  guards, which give zeros for an index out of bounds: 1 (embed)\n" in done.stdout
    assert "  bounds kept: ids.0=1..8\n" in done.stdout
    assert (rows(Path("out.onnx")) == EXPECTED).all()
    assert run("check", "out.onnx").exit_code == 0


def test_what_cannot_be_converted(tmp_path: Path, run: Run) -> None:
    strange = [Layer(str(k), "Strange", ("0:FP32:",), ("1:FP32:",), f"odd{k}", "opset8") for k in (7, 8)]
    weights = b"xyz" + TABLE.tobytes() + np.array(0, np.int64).tobytes()
    ir = save(tmp_path, embedding(*strange, edges="3.3>7.0 7.1>8.0"), weights)
    with pytest.raises(
        ConversionRefused, match="2 nodes cannot be converted\n  Strange-8, 2 nodes, first odd7: it has no"
    ):
        convert(ir)
    done = run("convert", str(ir), "-o", "out.onnx", "--keep-unsupported")
    assert "  not converted: 2 nodes\n    Strange-8: it has no lowering (odd7, odd8)\n" in done.stdout
    kept = onnx.load("out.onnx")
    assert {n.domain for n in kept.graph.node} == {"", "openvino.opset8"}
    assert {o.domain for o in kept.opset_import} == {"", "openvino.opset8"}


def test_constraints_are_recorded_if_the_result_relies_on_them() -> None:
    text = """<ir_version: 10, opset_import: ["": 21, "openvino.opset6": 6]> g (float[N,3] x) => (float[M,3] y) {{
        r = openvino.opset6.{0}(x) y = Neg(r) }}"""
    read = 'ReadValue<variable_id = "v", variable_type = "f32", variable_shape = "?,3">'
    for operator, expected in (("Unknown", []), (read, ["N=2..9"])):
        made = onnx.parser.parse_model(text.format(operator))
        result = convert(made, dims={"N": "2..9"}, keep_unsupported=True)
        assert [str(statement) for statement in infer(result.proto).persisted_constraints] == expected
        assert (result.proto == made) == (not expected)


def weight_layers(zero_type: str = "f32", names: tuple[str, str] = ("w", "mm")) -> tuple[list[Layer], str]:
    """x -> MatMul of a weight in u8 with a zero point in u8 -> Result; the weight's Multiply and the MatMul by name."""
    both, full, column = "0:FP32:2,32", "32,32", "32,1"
    layers = [
        parameter("0", "2,32"), const("1", full, 0, 1024, "u8"), const("2", column, 1024, 32, "u8"),
        const("3", column, 1056, 128),
        Layer("4", "Convert", (f"0:U8:{full}",), (f"1:FP32:{full}",), data='destination_type="f32"'),
        Layer("5", "Convert", (f"0:U8:{column}",), (f"1:FP32:{column}",), data=f'destination_type="{zero_type}"'),
        Layer("6", "Subtract", (f"0:FP32:{full}", f"1:FP32:{column}"), (f"2:FP32:{full}",)),
        Layer("7", "Multiply", (f"0:FP32:{full}", f"1:FP32:{column}"), (f"2:FP32:{full}",), names[0]),
        Layer("8", "MatMul", (both, f"1:FP32:{full}"), ("2:FP32:2,32",), names[1], data='transpose_b="true"'),
        result("9", ins=(both,)),
    ]  # fmt: skip
    return layers, "0.0>8.0 1.0>4.0 2.0>5.0 4.1>6.0 5.1>6.1 6.2>7.0 3.0>7.1 7.2>8.1 8.2>9.0"


def weight_bytes() -> bytes:
    return bytes(1056) + np.ones(32, np.float32).tobytes()


def test_weights_of_wrong_types_are_refused(tmp_path: Path) -> None:
    """OpenVINO refuses a Subtract of f32 and i32; the declared port of the weight is no evidence of its type."""
    convert(save(tmp_path, net(*weight_layers()), weight_bytes()), weights="float")
    with pytest.raises(ConversionRefused, match="cannot be converted"):
        convert(save(tmp_path, net(*weight_layers("i32")), weight_bytes()), weights="float")


def test_results_name_the_layers_of_the_file(tmp_path: Path) -> None:
    """Layers of the same name have their position in the label, also where a weight has been lowered before."""
    layers, edges = weight_layers(names=("m", "m"))
    converted = convert(save(tmp_path, net(layers, edges), weight_bytes()))
    assert [str(each.node).partition("#")[0] for each in converted.converted] == ["m"]
    names = [node.name for node in converted.proto.graph.node]
    assert len(set(names)) == len(names)
