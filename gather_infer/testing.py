"""Assertions for the test suites of models.

>>> from gather_infer.testing import assert_model_ok
>>> assert_model_ok("model.onnx", dims=["seq=1..512"])
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from gather_infer.checks.result import CheckResult
from gather_infer.diagnostic import Severity

if TYPE_CHECKING:
    from gather_infer.model.model_loading import ModelLike
    from gather_infer.rules import RuleSet


def assert_model_ok(
    model: ModelLike,
    *,
    dims: Mapping[str, object] | Iterable[str] = (),
    inputs: Mapping[str, str] | Iterable[str] = (),
    ranges: Mapping[str, object] | Iterable[str] = (),
    rules: Sequence[RuleSet] = (),
    initializers_as_constants: bool = False,
    fail_on: Severity | str = Severity.ERROR,
    select: Iterable[str] = (),
    ignore: Iterable[str] = (),
    baseline: str | os.PathLike[str] | None = None,
) -> CheckResult:
    """Check a model, assert that no finding has severity `fail_on` or more, and return the result of the check.

    `model` to `initializers_as_constants` are arguments of `check`; the others are options of `gather-infer check`.

    Raises AssertionError with the text of the findings; ModelReadError and UsageError as `check`.
    """
    from gather_infer.checks.baseline import Baseline
    from gather_infer.checks.check_model import check
    from gather_infer.checks.selection import Selection, read_codes

    selection = Selection(read_codes(select, "select"), read_codes(ignore, "ignore"))
    found_all = check(
        model,
        dims=dims,
        inputs=inputs,
        ranges=ranges,
        rules=rules,
        initializers_as_constants=initializers_as_constants,
    )
    result = selection.of(found_all)
    if baseline is not None:
        result = Baseline.read(baseline).without_accepted(result)
    found = result.at_least(Severity(fail_on))
    if found:
        raise AssertionError("\n".join(finding.text(result.model) for finding in found))
    return result
