"""The Gathers that every run of the tests has."""

from tests.openvino.cases_gather import FEW as CASES

__all__ = ["CASES"]
