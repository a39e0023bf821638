"""`gather_infer.Certificate`: its JSON form, the hashes of files, and that nothing in it is believed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

import gather_infer
from fixtures.feeds import model_path
from gather_infer import Certificate, CertificateRefused, ModelReadError, RuleSet, UsageError, diff
from gather_infer.equality.certificate import certificate_file
from gather_infer.model.hashes import hashed
from tests.verification.models import model

FIRST = "(float[N, 4] x) => (float[A, B] y, float[N, 4] z) { i = Identity(x) y = Transpose(i) z = Neg(i) }"
SECOND = "(float[N, 4] x) => (float[A, B] y, float[N, 4] z) { y = Transpose(x) z = Neg(x) }"
OTHER = "(float[N, 4] x) => (float[A, B] y, float[N, 4] z) { y = Transpose(x) z = Abs(x) }"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in (("a.onnx", FIRST), ("b.onnx", SECOND), ("other.onnx", OTHER)):
        onnx.save(model(text), name)
    return tmp_path


def certificate_of(first: str = "a.onnx", second: str = "b.onnx", **options: Any) -> Certificate:
    return Certificate.of(diff(first, second, runs=0, **options), first, second)


def with_external_data(path: str, data: str, value: float = 1.0) -> None:
    proto = model("(float[N, 512] x) => (float[N, 512] y) { y = Add(x, w) }")
    proto.graph.initializer.append(numpy_helper.from_array(np.full(512, value, np.float32), "w"))
    onnx.save(proto, path, save_as_external_data=True, location=data, size_threshold=0)


def test_the_json_form_round_trips(folder: Path) -> None:
    given: dict[str, Any] = {"dims": {"N": (1, 8)}, "inputs": {"x": "float32[N, 4]"}, "outputs": {"y": "y"}}
    certificate = certificate_of(initializers_as_constants=True, **given)
    assert certificate.given.dims == ("N=1..8",) and certificate.given.inputs == ("x=float32[N, 4]",)
    assert certificate.given.options == ["--dim N=1..8", "--input 'x=float32[N, 4]'", "--map y=y",
                                         "--initializers-as-constants"]  # fmt: skip
    certificate.save("c.json")
    again = Certificate.load("c.json")
    assert again == certificate and again.is_proved and again.notes == ()
    assert again.check("a.onnx", "b.onnx").is_proved
    assert Certificate.from_json(json.loads(json.dumps(certificate.to_json()))) == certificate


def test_a_bound_of_zero_is_stored() -> None:
    """Without it, a range would allow negative numbers."""
    text = model("(int64[N] i) => (y) { y = Neg(i) }")
    found = diff(text, text, ranges={"i": (0, 5)}, dims={"N": (0, None)}, runs=0)
    assert (found.given.ranges, found.given.dims) == (("i=0..5",), ("N=0..",))


def test_the_hashes_are_those_of_the_bytes(folder: Path) -> None:
    certificate = certificate_of()
    assert certificate.first.sha256 == hashlib.sha256(Path("a.onnx").read_bytes()).hexdigest()
    assert (certificate.second.name, certificate.second.data) == ("b.onnx", ())


def test_external_data_is_hashed_in_the_order_of_its_names(folder: Path) -> None:
    proto = model("(float[N, 4] x) => (float[N, 4] y) { y = Sum(x, v, w) }")
    for name, location in (("v", "z.bin"), ("w", "m.bin")):
        (folder / location).write_bytes(np.ones(4, np.float32).tobytes() + location.encode())
        tensor = proto.graph.initializer.add(name=name, data_type=1, dims=[4], data_location=1)
        tensor.external_data.add(key="location", value=location)
    onnx.save(proto, "e.onnx")
    hashes = certificate_of("e.onnx", "e.onnx").first
    assert [each.name for each in hashes.data] == ["m.bin", "z.bin"]
    assert hashes.data[0].sha256 == hashlib.sha256(Path("m.bin").read_bytes()).hexdigest()


def test_an_ir_is_hashed_with_its_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = Path(model_path("bert-torchscript")).parent / "openvino"
    for name in ("cnn.xml", "cnn.bin"):
        (tmp_path / name).write_bytes((source / name).read_bytes())
    monkeypatch.chdir(tmp_path)
    certificate = certificate_of("cnn.xml", "cnn.xml")
    assert [each.name for each in certificate.first.data] == ["cnn.bin"]
    assert certificate.check("cnn.xml", "cnn.xml").is_proved
    content = bytearray(Path("cnn.bin").read_bytes())
    content[-1] ^= 1
    Path("cnn.bin").write_bytes(content)
    with pytest.raises(CertificateRefused, match=r"its external data cnn\.bin: not the file of the certificate"):
        certificate.check("cnn.xml", "cnn.xml")


@pytest.mark.parametrize("changed", ["a.onnx", "b.onnx"])
def test_one_changed_byte_is_refused(folder: Path, changed: str) -> None:
    certificate = certificate_of()
    content = Path(changed).read_bytes()
    Path(changed).write_bytes(content.replace(b"x", b"X", 1))
    with pytest.raises(CertificateRefused) as caught:
        certificate.check("a.onnx", "b.onnx")
    old, new = (hashlib.sha256(each).hexdigest() for each in (content, Path(changed).read_bytes()))
    assert caught.value.reasons == [f"{changed}: not the file of the certificate: expected sha256 {old}, found {new}"]


def test_changed_external_data_is_refused(folder: Path) -> None:
    with_external_data("e.onnx", "e.bin")
    certificate = certificate_of("e.onnx", "e.onnx")
    assert certificate.check("e.onnx", "e.onnx").is_proved
    content = bytearray(Path("e.bin").read_bytes())
    content[7] ^= 1
    Path("e.bin").write_bytes(content)
    with pytest.raises(CertificateRefused, match=r"e\.onnx: its external data e\.bin: not the file of the certificate"):
        certificate.check("e.onnx", "e.onnx")
    Path("e.bin").unlink()
    with pytest.raises(ModelReadError, match=r"e\.bin"):
        certificate.check("e.onnx", "e.onnx")


def test_models_in_the_other_order_are_refused(folder: Path) -> None:
    with pytest.raises(CertificateRefused, match=r"b\.onnx: not the file .*; a\.onnx: not the file"):
        certificate_of().check("b.onnx", "a.onnx")


def test_a_forged_proof_of_models_that_differ_fails(folder: Path) -> None:
    """Hashes, verdicts and classes of a forged certificate are all as they should be."""
    honest = certificate_of("a.onnx", "other.onnx")
    assert not honest.is_proved
    with pytest.raises(CertificateRefused, match="the certificate claims no proof of z"):
        honest.check("a.onnx", "other.onnx")
    data = honest.to_json()
    data["is_proved"] = True
    for each in data["outputs"]:
        each.update({"verdict": "proved", "class": "pointwise"})
    with pytest.raises(CertificateRefused, match="output 'z' is not proved: the terms differ"):
        Certificate.from_json(data).check("a.onnx", "other.onnx")


def raise_class(data: dict[str, Any]) -> None:
    assert data["outputs"][0]["class"] == "pointwise"
    data["outputs"][0]["class"] = "same calls"


def add_output(data: dict[str, Any]) -> None:
    data["outputs"].append({"name": "v", "other": "v", "verdict": "proved", "class": "pointwise"})


def remove_output(data: dict[str, Any]) -> None:
    del data["outputs"][0]


def remove_all_outputs(data: dict[str, Any]) -> None:
    data["outputs"] = []


def pair_outputs_differently(data: dict[str, Any]) -> None:
    data["outputs"][0]["other"], data["outputs"][1]["other"] = "z", "y"


def map_outputs_differently(data: dict[str, Any]) -> None:
    data["given"]["outputs"] = {"y": "z", "z": "y"}


def lower_verdicts(data: dict[str, Any]) -> None:
    data["is_proved"] = False
    for each in data["outputs"]:
        each["verdict"] = "unknown"


def swap_hashes(data: dict[str, Any]) -> None:
    data["first"]["sha256"], data["second"]["sha256"] = data["second"]["sha256"], data["first"]["sha256"]


def add_data(data: dict[str, Any]) -> None:
    data["second"]["data"] = [{"name": "w.bin", "sha256": "0" * 64}]


def drop_dims(data: dict[str, Any]) -> None:
    data["given"]["dims"] = []


TAMPERED: dict[Callable[[dict[str, Any]], None], str] = {
    # change: what the refusal says
    raise_class: "output 'y' is proved by class pointwise, the certificate claims same calls",
    add_output: "there is no output 'v'",
    remove_output: "the certificate lacks output 'y'",
    remove_all_outputs: "the certificate lacks output 'y'",
    pair_outputs_differently: "there is no output 'y' as 'z'",
    map_outputs_differently: "output 'y' is not proved|there is no output",
    lower_verdicts: "the certificate claims no proof of y, z",
    swap_hashes: "a.onnx: not the file of the certificate",
    add_data: r"b.onnx: has no external data w\.bin, which the certificate lists",
    drop_dims: "is not proved",
}
POINTWISE = "(float[N, 4] x) => (y, z) { e = Exp(x) y = Transpose(e) z = Neg(x) }"
MOVED = "(float[3, 4] x) => (y, z) { t = Transpose(x) y = Exp(t) z = Neg(x) }"


@pytest.mark.parametrize("change", TAMPERED, ids=lambda change: change.__name__)
def test_a_tampered_certificate_is_refused(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    onnx.save(model(POINTWISE), "a.onnx")
    onnx.save(model(MOVED), "b.onnx")
    certificate = certificate_of(dims=["N=3"])
    assert certificate.check("a.onnx", "b.onnx").is_proved
    data = certificate.to_json()
    change(data)
    with pytest.raises(CertificateRefused, match=TAMPERED[change]):
        Certificate.from_json(data).check("a.onnx", "b.onnx")


def test_a_weaker_claim_holds(folder: Path) -> None:
    data = certificate_of().to_json()
    data["outputs"][0]["class"] = "pointwise"
    assert Certificate.from_json(data).check("a.onnx", "b.onnx").is_proved


def test_what_was_given_has_to_fit(folder: Path) -> None:
    data = certificate_of().to_json()
    data["given"]["dims"] = ["K=3"]
    with pytest.raises(UsageError, match="no input dim 'K'"):
        Certificate.from_json(data).check("a.onnx", "b.onnx")


def test_contradictory_facts_prove_nothing(folder: Path) -> None:
    """Under a contradiction, all models would be equal."""
    onnx.save(model("(float[N, 4] x, float[M, 4] w) => (y) { y = Add(x, w) }"), "a.onnx")
    onnx.save(model("(float[N, 4] x, float[M, 4] w) => (y) { y = Sub(x, w) }"), "b.onnx")
    data = certificate_of(dims=["N=3", "M=5"]).to_json()
    data["is_proved"] = True
    data["outputs"][0].update({"verdict": "proved", "class": "same calls"})
    with pytest.raises(CertificateRefused, match="output 'y' is not proved"):
        Certificate.from_json(data).check("a.onnx", "b.onnx")


MALFORMED: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    # what is wrong: (change, message)
    "no schema": (lambda d: d.pop("schema"), "it has no member 'schema'"),
    "other schema": (lambda d: d.update(schema=3), "its schema is 3"),
    "schema true": (lambda d: d.update(schema=True), "its schema is True"),
    "no hashes": (lambda d: d.pop("first"), "there is no member 'first'"),
    "short hash": (lambda d: d["first"].update(sha256="12"), "first.sha256 must be 64 hexadecimal digits, is '12'"),
    "long hash": (lambda d: d["first"].update(sha256="0" * 65), "first.sha256 must be 64 hexadecimal digits"),
    "hash is a number": (lambda d: d["second"].update(sha256=1), "second.sha256 must be a text, is 1"),
    "data is an object": (lambda d: d["first"].update(data={}), "first.data must be a list"),
    "no location": (lambda d: d["first"].update(data=[{"sha256": "0" * 64}]), "there is no member 'name'"),
    "a text for dims": (lambda d: d["given"].update(dims="N=3"), "given.dims must be a list, is 'N=3'"),
    "a number for a dim": (lambda d: d["given"].update(dims=[3]), "given.dims must be a text, is 3"),
    "given is a list": (lambda d: d.update(given=[]), r"given must be an object, is \[\]"),
    "a map of numbers": (lambda d: d["given"].update(outputs={"y": 1}), "given.outputs must be a text, is 1"),
    "a text for a flag": (lambda d: d["given"].update(initializers_as_constants="no"), "is 'no'"),
    "unknown verdict": (lambda d: d["outputs"][0].update(verdict="sure"), "there is no verdict 'sure'"),
    "unknown class": (lambda d: d["outputs"][0].update({"class": "best"}), "there is no class 'best'"),
    "proved without a class": (lambda d: d["outputs"][0].update({"class": None}), "proved without a class"),
    "flipped verdict": (lambda d: d["outputs"][0].update(verdict="unknown"), "but the outputs say False"),
    "flipped sum": (lambda d: d.update(is_proved=False), "is_proved is False, but the outputs say True"),
    "an output twice": (lambda d: d["outputs"].append(d["outputs"][0]), "an output is listed twice"),
    "a list for versions": (lambda d: d.update(versions=[]), "versions must be an object"),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_malformed_data(folder: Path, case: str) -> None:
    change, message = MALFORMED[case]
    data = json.loads(certificate_of().content())
    change(data)
    with pytest.raises(UsageError, match=f"not a certificate of schema 2: .*{message}"):
        Certificate.from_json(data)


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"null", b"\xff\xfe\0", b"[" * 200_000, b'"' + b"1" * 9999])
def test_files_that_are_no_certificates(folder: Path, content: bytes) -> None:
    Path("c.json").write_bytes(content)
    with pytest.raises(UsageError, match=r"^c\.json: not a certificate"):
        Certificate.load("c.json")


@pytest.mark.parametrize("path", ["missing.json", "a\0b", ""])
def test_files_that_cannot_be_read(folder: Path, path: str) -> None:
    with pytest.raises(UsageError):
        Certificate.load(path)


def test_another_version_is_checked(folder: Path) -> None:
    data = certificate_of().to_json()
    data["versions"]["gather-infer"] = "0.0.7"
    certificate = Certificate.from_json(data)
    assert certificate.notes == (f"the certificate is from gather-infer 0.0.7, this is {gather_infer.__version__}",)
    assert certificate.check("a.onnx", "b.onnx").is_proved


def test_models_in_memory_have_no_certificate(folder: Path) -> None:
    file = gather_infer.ModelFile.from_proto(model(FIRST))
    with pytest.raises(UsageError, match="a model in memory has no file to hash"):
        hashed(file)
    with pytest.raises(UsageError, match="a model in memory"):
        certificate_of().check(file, "b.onnx")


def test_a_model_that_was_edited_in_memory_is_refused(folder: Path) -> None:
    """The hashes of its file do not speak for it."""
    file = gather_infer.open_model("b.onnx")
    file.proto.graph.node[1].op_type = "Abs"
    with pytest.raises(UsageError, match=r"b\.onnx: the model was edited, or the file replaced, after it was read"):
        certificate_of().check("a.onnx", file)


def test_a_file_that_is_written_during_the_check(folder: Path) -> None:
    certificate = certificate_of()
    content = Path("b.onnx").read_bytes()

    def progress(text: Callable[[], str]) -> None:
        if text() == "proving":
            Path("b.onnx").unlink()
            Path("b.onnx").write_bytes(content)

    with pytest.raises(CertificateRefused, match=r"b\.onnx: the file was written during the check"):
        certificate.check("a.onnx", "b.onnx", progress=progress)


def test_rules_are_code_and_not_stored(folder: Path) -> None:
    rules = RuleSet("acme")

    @rules.rule("Twice")
    def twice(op: gather_infer.OpCall) -> list[Any]:
        return [op.inputs[0]]

    certificate = certificate_of(rules=[rules])
    assert certificate.given.rules == ("acme",)
    assert certificate.check("a.onnx", "b.onnx").is_proved
    data = certificate_of("a.onnx", "other.onnx", rules=[rules]).to_json()
    data["is_proved"] = True
    for each in data["outputs"]:
        each.update({"verdict": "proved", "class": "pointwise"})
    with pytest.raises(CertificateRefused, match="made with rules for acme, which are not given"):
        Certificate.from_json(data).check("a.onnx", "other.onnx")


def test_the_certificate_of_a_model_from_a_stream(folder: Path) -> None:
    file = gather_infer.ModelFile.from_bytes(Path("a.onnx").read_bytes())
    assert hashed(file).hashes.sha256 == certificate_of().first.sha256
    assert certificate_of().check(file, "b.onnx").is_proved


def test_it_is_written_with_the_model_or_not_at_all(folder: Path) -> None:
    result = gather_infer.optimize("a.onnx")
    found = diff(result.source, result.model, runs=0)
    for path in ("missing/c.json", "a.onnx", "."):
        with pytest.raises((UsageError, gather_infer.ModelWriteError)):
            result.save("out.onnx", companions=certificate_file(path, found, result.source))
        assert not Path("out.onnx").exists()
    saved = result.save("out.onnx", companions=certificate_file("c.json", found, result.source))
    assert saved.companions == (Path("c.json"),)
    assert Certificate.load("c.json").check("a.onnx", "out.onnx").is_proved
    assert not list(folder.glob(".gather-infer-*"))
