"""Contracts in the forms that servers, builders and exporters take; `emit` writes them.

Each format expresses a part of a contract. An emission never widens what the contract allows without a note: it lists
each relation that its format cannot express, and each size that was chosen.
"""

from gather_infer.serving.boxes import inner_boxes, is_inside
from gather_infer.serving.emission import Emission
from gather_infer.serving.profiles import OptimizationProfile, ShapeRange
from gather_infer.serving.targets import TARGETS, emit

__all__ = ["TARGETS", "Emission", "OptimizationProfile", "ShapeRange", "emit", "inner_boxes", "is_inside"]
