"""Inputs of the exports as the manifest describes them. This module needs no torch."""

from __future__ import annotations

from typing import Any, TypeAlias

from fixtures.feeds import Input, Spec

Entry: TypeAlias = dict[str, Any]


def described(given: Input) -> Entry:
    """How an input is drawn: normally distributed floats, or integers from `low` to below `high`, filled as `fill`."""
    entry: Entry = {"dtype": given.dtype, "dims": list(given.shape)}
    if given.legal is None:
        return {**entry, "draw": "normal"}
    return {**entry, "draw": "integers", "low": given.legal[0], "high": given.legal[1], "fill": given.fill}


def spec_of(entry: Entry) -> Spec:
    """The spec of a file's entry in the manifest, for `fixtures.feeds.draw_feeds`."""
    inputs = {name: _input(given) for name, given in entry["inputs"].items()}
    return Spec(inputs, tuple(entry["constraints"]), tuple(entry["bindings"]))


def _input(given: Entry) -> Input:
    if given["draw"] == "normal":
        return Input(given["dtype"], tuple(given["dims"]))
    return Input(given["dtype"], tuple(given["dims"]), (given["low"], given["high"]), given["fill"])
