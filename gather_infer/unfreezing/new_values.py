"""New names and constants of a walk, and the elements of the constants that it reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from onnx import NodeProto, TensorProto, numpy_helper

from gather_infer.inference.environment import Environment
from gather_infer.inference.interpreter import Interpreter
from gather_infer.inference.proto.tensors import from_tensor
from gather_infer.tensor import SymbolicTensor
from gather_infer.unfreezing.visible_values import VisibleValues

Array = np.ndarray[Any, Any]


class NewValues(Interpreter):
    """An interpreter that adds values to the graphs that it visits.

    main         the environment of the main graph, which holds the new constants
    graph        that of the present graph
    environment  the values that the present graph can read
    added        constants of the result
    """

    main: Environment
    graph: Environment
    environment: VisibleValues

    def use_names(self, names: Iterable[str]) -> None:
        """Begin a result, with `names` already in use in the model."""
        self.added: dict[str, TensorProto] = {}
        self._names = set(names)
        self._numbers: dict[str, int] = {}
        self._constants: dict[tuple[str, tuple[int, ...], bytes], str] = {}

    def enter_graph(self, environment: Environment) -> None:
        """Make a graph the present one."""
        self.graph, self.environment = environment, VisibleValues(environment)

    def constant(self, array: Array, hint: str = "size") -> str:
        """The name of a constant of the result; equal ones are shared."""
        key = (array.dtype.str, array.shape, np.ascontiguousarray(array).tobytes())
        name = self._constants.get(key)
        if name is None:
            name = self._constants[key] = self.fresh(hint)
            tensor = numpy_helper.from_array(np.ascontiguousarray(array), name)
            self.added[name] = tensor
            self.main.constants[name] = tensor  # a constant of the main graph, which bodies read, too
            self.main.values[name] = from_tensor(tensor, self.model)
        return name

    def fresh_output(self, name: str) -> str:
        """A new name for a copy of a value."""
        return self.fresh(name.rsplit("/", 1)[-1])

    def fresh(self, hint: str) -> str:
        """A name that no value of the model has."""
        number = self._numbers.get(hint, 0)
        while (name := f"unfreeze_{hint}_{number}") in self._names:
            number += 1
        self._numbers[hint] = number + 1
        self._names.add(name)
        return name

    @staticmethod
    def with_inputs(node: NodeProto, inputs: Mapping[int, str]) -> NodeProto:
        changed = NodeProto()
        changed.CopyFrom(node)
        for position, name in inputs.items():
            changed.input[position] = name
        return changed

    def is_constant(self, name: str) -> bool:
        return self.environment.constant(name) is not None

    def array(self, name: str) -> Array | None:
        """All elements of a constant, also of one that nodes compute from constants."""
        found = self.load_constant(name, self.graph)
        if found is not None:
            return found
        fact = self.environment.values.get(name)
        if isinstance(fact, SymbolicTensor) and fact.values is not None and fact.dtype is not None:
            flat = fact.values.ravel().tolist()
            if all(isinstance(each, (bool, int, float)) for each in flat):
                return np.array(flat, fact.dtype.dtype).reshape(fact.values.shape)
        return None
