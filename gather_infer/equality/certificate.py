"""The `Certificate`: a record of a proof that two files are equal, which anybody can check again from the files."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import numpy as np
import onnx

from gather_infer.equality.comparison import diff
from gather_infer.equality.given import Given, domains_of
from gather_infer.equality.result import Difference, DiffVerdict, OutputComparison, ProofClass
from gather_infer.errors import CertificateRefused, UsageError
from gather_infer.model import ModelFile
from gather_infer.model.hashes import FileHash, HashedFiles, ModelHashes, hashed, require_stored
from gather_infer.model.model_loading import to_model_file
from gather_infer.model.staging import Staging
from gather_infer.progress import Progress, no_progress
from gather_infer.rules import RuleSet

SCHEMA: Final = 2
"""Version of the JSON form, its member `schema`."""

TOOL: Final = "gather-infer"
_MAX_BYTES: Final = 64 << 20
_SHA256: Final = re.compile(r"[0-9a-f]{64}")
_STRENGTH: Final = (None, ProofClass.LAWS, ProofClass.POINTWISE, ProofClass.SAME_CALLS)
"""The classes of proofs, the weakest first."""


def installed_versions() -> dict[str, str]:
    """The versions of this tool, and of the packages that a proof depends on."""
    tool = import_module("gather_infer").__version__  # the package itself imports the names of this module
    return {TOOL: tool, "onnx": onnx.__version__, "numpy": np.__version__}


@dataclass(frozen=True, slots=True)
class CertifiedOutput:
    """The verdict on one output of the first model.

    other         its name in the second model; "" if there is none
    proof_class   None unless the terms are equal
    """

    name: str
    other: str
    verdict: DiffVerdict
    proof_class: ProofClass | None = None


@dataclass(frozen=True)
class Certificate:
    """A record that two models were compared, with the hashes of their files.

    A certificate is no evidence by itself: `check` proves equality again, and takes only the hashes and what was given
    from it.

    first, second   names and SHA-256 hashes of the models and of their external data
    given           the facts under which the models were compared
    outputs         the verdict on each output
    versions        versions of this tool, onnx and numpy that made the proof

        >>> optimized = gather_infer.optimize("fixtures/bert-torchscript.onnx")
        >>> print(optimized.save("small.onnx").path)
        small.onnx
        >>> found = gather_infer.diff("fixtures/bert-torchscript.onnx", "small.onnx")
        >>> certificate = gather_infer.Certificate.of(found, "fixtures/bert-torchscript.onnx", "small.onnx")
        >>> certificate.save("small.json")
        >>> again = gather_infer.Certificate.load("small.json")
        >>> print(again.check("fixtures/bert-torchscript.onnx", "small.onnx").verdict)
        proved
    """

    first: ModelHashes
    second: ModelHashes
    given: Given
    outputs: tuple[CertifiedOutput, ...]
    versions: Mapping[str, str] = field(default_factory=installed_versions)

    @property
    def is_proved(self) -> bool:
        """Whether the certificate claims that every output is proved equal."""
        return all(each.verdict is DiffVerdict.PROVED for each in self.outputs)

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks that do not matter for `check`: the certificate is from another version of this tool."""
        theirs, mine = self.versions.get(TOOL, "of an unknown version"), installed_versions()[TOOL]
        return () if theirs == mine else (f"the certificate is from {TOOL} {theirs}, this is {mine}",)

    @classmethod
    def of(cls, found: Difference, first: str | os.PathLike[str], second: str | os.PathLike[str]) -> Certificate:
        """The certificate of a comparison, with the hashes of the two files that were compared.

        Raises ModelReadError when a file cannot be read.
        """
        return of_hashes(found, hashed(to_model_file(first)).hashes, hashed(to_model_file(second)).hashes)

    def check(
        self,
        first: str | os.PathLike[str] | ModelFile,
        second: str | os.PathLike[str] | ModelFile,
        *,
        rules: Sequence[RuleSet] = (),
        progress: Progress = no_progress,
    ) -> Difference:
        """Compare the hashes of two files, and prove again that they are equal with what was given.

        rules   as for `diff`; a certificate holds no code

        Raises CertificateRefused when a file is not the one of the certificate, when the certificate does not claim a
        proof, or when an output is not proved again by the same class or a stronger one; ModelReadError when a file
        cannot be read, and UsageError when what was given does not fit the models.
        """
        found, reasons = self.compare(first, second, rules=rules, progress=progress)
        if reasons:
            raise CertificateRefused(reasons)
        return found

    def compare(
        self,
        first: str | os.PathLike[str] | ModelFile,
        second: str | os.PathLike[str] | ModelFile,
        *,
        rules: Sequence[RuleSet] = (),
        progress: Progress = no_progress,
    ) -> tuple[Difference, list[str]]:
        """The comparison that `check` makes, and the reasons why the certificate does not hold; [] if it does.

        Raises CertificateRefused when a file is not the one of the certificate, and other errors as `check`.
        """
        files = [to_model_file(each) for each in (first, second)]
        progress(lambda: "hashing")
        held = [hashed(file) for file in files]
        changes = self._changes(held, files)
        if changes:
            raise CertificateRefused(changes)
        for file in files:
            require_stored(file)
        found = diff(
            *files,
            dims=self.given.dims,
            inputs=self.given.inputs,
            ranges=self.given.ranges,
            rules=rules,
            initializers_as_constants=self.given.initializers_as_constants,
            outputs=self.given.outputs,
            laws=self.given.laws,
            details=False,
            runs=0,
            progress=progress,
        )
        moved = [file.name for file, each in zip(files, held, strict=True) if not each.is_current]
        if moved:
            raise CertificateRefused([f"{name}: the file was written during the check" for name in moved])
        return found, [*self._shortfalls(found), *self._lacking(rules, found)]

    def _changes(self, held: Sequence[HashedFiles], files: Sequence[ModelFile]) -> list[str]:
        """The first difference between the hashes of each model and those of the certificate."""
        pairs = [
            (file.name, its.hashes, wanted)
            for file, its, wanted in zip(files, held, (self.first, self.second), strict=True)
        ]
        return [change for name, its, wanted in pairs if (change := _change(name, its, wanted))]

    def _shortfalls(self, found: Difference) -> list[str]:
        """The claims of the certificate that a new comparison does not show."""
        if not self.is_proved:
            unproved = [each.name for each in self.outputs if each.verdict is not DiffVerdict.PROVED]
            return [f"the certificate claims no proof of {', '.join(unproved)}"]
        claimed = {(each.name, each.other): each for each in self.outputs}
        shown = {(each.name, each.other): each for each in found.outputs}
        reasons = [f"there is no output {_pair(*pair)}" for pair in claimed if pair not in shown]
        reasons += [f"the certificate lacks output {_pair(*pair)}" for pair in shown if pair not in claimed]
        both = [(claimed[pair], shown[pair]) for pair in claimed if pair in shown]
        reasons += [text for claim, again in both if (text := _shortfall(claim, again))]
        if not reasons and not found.is_proved:
            reasons.append("equality is not proved")
        return reasons

    def _lacking(self, rules: Sequence[RuleSet], found: Difference) -> list[str]:
        """A hint about rules that the proof had, if it fails without them."""
        lacking = sorted({*self.given.rules} - {*domains_of(rules)})
        if found.is_proved or not lacking:
            return []
        return [f"the certificate was made with rules for {', '.join(lacking)}, which are not given"]

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Certificate:
        """Load a certificate from a JSON file. Raises UsageError when it cannot be read or holds no certificate."""
        try:
            with open(path, "rb") as file:
                content = file.read(_MAX_BYTES + 1)
        except OSError as error:
            raise UsageError(f"{path}: {error.strerror}") from error
        except ValueError as error:  # a NUL in the path
            raise UsageError(f"{path!r}: {error}") from error
        if len(content) > _MAX_BYTES:
            raise UsageError(f"{path}: not a certificate: more than {_MAX_BYTES} bytes")
        try:
            data = json.loads(content)
        except (ValueError, RecursionError) as error:
            raise UsageError(f"{path}: not a certificate: {error}") from error
        try:
            return cls.from_json(data)
        except UsageError as error:
            raise UsageError(f"{path}: {error}") from error

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the certificate as JSON, whole or not at all. Raises ModelWriteError if that fails."""
        with Staging() as staging:
            with staging.create(Path(path)) as file:
                file.write(self.content())
            staging.commit()

    def content(self) -> bytes:
        """The bytes of the JSON file."""
        return (json.dumps(self.to_json(), indent=1) + "\n").encode()

    @classmethod
    def from_json(cls, data: object) -> Certificate:
        """The certificate from an object that `to_json` returned. Raises UsageError for any other data."""
        members = _object(data, "a certificate")
        schema = members.get("schema")
        if type(schema) is not int or schema != SCHEMA:
            text = "it has no member 'schema'" if schema is None else f"its schema is {_shown(schema)}"
            raise UsageError(f"not a certificate of schema {SCHEMA}: {text}")
        try:
            found = cls(
                _hashes(members["first"], "first"),
                _hashes(members["second"], "second"),
                _given(members["given"]),
                tuple(_output(each) for each in _list(members["outputs"], "outputs")),
                _texts(members["versions"], "versions"),
            )
            claim = members["is_proved"]
        except KeyError as error:
            raise UsageError(f"not a certificate of schema {SCHEMA}: there is no member {error}") from error
        if claim is not found.is_proved:
            raise _malformed(f"is_proved is {_shown(claim)}, but the outputs say {found.is_proved}")
        if len({each.name for each in found.outputs}) < len(found.outputs):
            raise _malformed("an output is listed twice")
        return found

    def to_json(self) -> dict[str, Any]:
        """The certificate as a JSON object; docs/json.md describes it."""
        return {
            "schema": SCHEMA,
            "first": _hashes_json(self.first),
            "second": _hashes_json(self.second),
            "versions": dict(self.versions),
            "given": {
                "dims": list(self.given.dims),
                "inputs": list(self.given.inputs),
                "ranges": list(self.given.ranges),
                "initializers_as_constants": self.given.initializers_as_constants,
                "outputs": dict(self.given.outputs),
                "rules": list(self.given.rules),
                "laws": list(self.given.laws),
            },
            "is_proved": self.is_proved,
            "outputs": [
                {
                    "name": each.name,
                    "other": each.other,
                    "verdict": str(each.verdict),
                    "class": None if each.proof_class is None else str(each.proof_class),
                }
                for each in self.outputs
            ],
        }


def of_hashes(found: Difference, first: ModelHashes, second: ModelHashes) -> Certificate:
    """The certificate of a comparison of the models with these hashes."""
    outputs = (CertifiedOutput(each.name, each.other, each.verdict, each.proof_class) for each in found.outputs)
    return Certificate(first, second, found.given, tuple(outputs))


def certificate_file(path: str, found: Difference, source: ModelFile) -> Callable[[ModelHashes], dict[Path, bytes]]:
    """The `companions` of `gather_infer.model.save` that write the certificate of a rewritten model.

    found    the comparison of `source`, the original, with the model that is written
    """

    def files(written: ModelHashes) -> dict[Path, bytes]:
        return {Path(path): of_hashes(found, hashed(source).hashes, written).content()}

    return files


# comparison with the files


def _change(name: str, its: ModelHashes, wanted: ModelHashes) -> str:
    """The first difference of hashes as a sentence; "" if there is none."""
    if its.sha256 != wanted.sha256:
        return f"{name}: {_other_hash(its.sha256, wanted.sha256)}"
    mine = {each.name: each.sha256 for each in wanted.data}
    for data in its.data:
        if data.name not in mine:
            return f"{name}: the certificate has no hash of its external data {data.name}"
        if data.sha256 != mine[data.name]:
            return f"{name}: its external data {data.name}: {_other_hash(data.sha256, mine[data.name])}"
    lacking = sorted(mine.keys() - {data.name for data in its.data})
    return f"{name}: has no external data {', '.join(lacking)}, which the certificate lists" if lacking else ""


def _other_hash(found: str, expected: str) -> str:
    return f"not the file of the certificate: expected sha256 {expected}, found {found}"


def _shortfall(claim: CertifiedOutput, again: OutputComparison) -> str:
    """Why an output is not proved as the certificate claims; "" if it is."""
    pair = _pair(claim.name, claim.other)
    if again.verdict is not DiffVerdict.PROVED:
        return f"output {pair} is not proved" + (f": {again.reason}" if again.reason else "")
    if _STRENGTH.index(again.proof_class) < _STRENGTH.index(claim.proof_class):
        return f"output {pair} is proved by class {again.proof_class}, the certificate claims {claim.proof_class}"
    return ""


def _pair(name: str, other: str) -> str:
    return repr(name) if name == other else f"{name!r} as {other!r}"


# the JSON form


def _hashes_json(hashes: ModelHashes) -> dict[str, Any]:
    data = [{"name": each.name, "sha256": each.sha256} for each in hashes.data]
    return {"name": hashes.name, "sha256": hashes.sha256, "data": data}


def _hashes(data: object, what: str) -> ModelHashes:
    members = _object(data, what)
    files = [_object(each, f"{what}.data") for each in _list(members["data"], f"{what}.data")]
    return ModelHashes(
        _string(members["name"], f"{what}.name"),
        _hash(members["sha256"], f"{what}.sha256"),
        tuple(FileHash(_string(f["name"], f"{what}.data"), _hash(f["sha256"], f"{what}.data")) for f in files),
    )


def _given(data: object) -> Given:
    members = _object(data, "given")
    constants = members["initializers_as_constants"]
    if not isinstance(constants, bool):
        raise _malformed(f"given.initializers_as_constants is {_shown(constants)}")
    dims, inputs, ranges, rules, laws = (
        tuple(_string(each, f"given.{key}") for each in _list(members[key], f"given.{key}"))
        for key in ("dims", "inputs", "ranges", "rules", "laws")
    )
    return Given(dims, inputs, ranges, constants, _texts(members["outputs"], "given.outputs"), rules, laws)


def _output(data: object) -> CertifiedOutput:
    members = _object(data, "outputs")
    verdicts = {str(each): each for each in DiffVerdict}
    classes = {str(each): each for each in ProofClass}
    verdict = verdicts.get(_string(members["verdict"], "outputs.verdict"))
    if verdict is None:
        raise _malformed(f"there is no verdict {_shown(members['verdict'])}")
    kind = members["class"]
    if kind is not None and _string(kind, "outputs.class") not in classes:
        raise _malformed(f"there is no class {_shown(kind)}")
    if kind is None and verdict is DiffVerdict.PROVED:
        raise _malformed("an output is proved without a class")
    proof_class = None if kind is None else classes[kind]
    name, other = (_string(members[key], f"outputs.{key}") for key in ("name", "other"))
    return CertifiedOutput(name, other, verdict, proof_class)


def _object(data: object, what: str) -> Mapping[str, Any]:
    if not isinstance(data, Mapping):
        raise _malformed(f"{what} must be an object, is {_shown(data)}")
    return data


def _list(data: object, what: str) -> list[Any]:
    if not isinstance(data, list):
        raise _malformed(f"{what} must be a list, is {_shown(data)}")
    return data


def _string(data: object, what: str) -> str:
    if not isinstance(data, str):
        raise _malformed(f"{what} must be a text, is {_shown(data)}")
    return data


def _texts(data: object, what: str) -> dict[str, str]:
    return {name: _string(text, what) for name, text in _object(data, what).items()}


def _hash(data: object, what: str) -> str:
    if not _SHA256.fullmatch(_string(data, what)):
        raise _malformed(f"{what} must be 64 hexadecimal digits, is {_shown(data)}")
    return str(data)


def _shown(data: object) -> str:
    text = repr(data)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _malformed(text: str) -> UsageError:
    return UsageError(f"not a certificate of schema {SCHEMA}: {text}")
