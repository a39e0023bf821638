"""The proof that outputs of two models are equal: both are translated into one pool of terms.

Symbolic sizes of 0 need care. A Reshape with -1 has no known size where the product of the other sizes is 0. So a proof
may be about the runs in which these sizes are not 0; in the others, the outputs have to be empty and of equal shape.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from gather_infer.equality.access_facts import access_facts
from gather_infer.equality.constants import ModelConstants
from gather_infer.equality.dims import DimTable
from gather_infer.equality.implied_relations import holds, relations_of
from gather_infer.equality.model_facts import Meanings, ModelFacts
from gather_infer.equality.named_laws import element_of_columns
from gather_infer.equality.obligations import Obligations
from gather_infer.equality.pointwise import applied_again, renamed
from gather_infer.equality.pool import TermPool
from gather_infer.equality.result import Law, ProofClass
from gather_infer.equality.signatures import NodeSignatures
from gather_infer.equality.terms import Operand
from gather_infer.equality.translation import Translation
from gather_infer.equality.transported_bounds import facts_of
from gather_infer.inference import Inference
from gather_infer.node_ids import MAIN
from gather_infer.symbolic import Dim, Fuel, Scope, free_symbols, known_le, product, substitute, symbol
from gather_infer.symbolic.normal_form import Symbol
from gather_infer.tensor import SymbolicTensor

ELIMINATIONS: Final = 2000
ELIMINATIONS_PER_NODE: Final = 20
"""The budget of a proof: Fourier-Motzkin eliminations in all, and for each node of the first model."""


@dataclass(frozen=True, slots=True, eq=False)
class Proof:
    """Both models as terms.

    kind  the class of what it proves
    """

    first: Translation
    second: Translation
    kind: ProofClass

    @property
    def has_unnamed_sizes(self) -> bool:
        """Whether a Reshape computes a size that has no name in all runs."""
        return self.first.meanings.has_unnamed_sizes

    def is_equal(self, output: str, other: str) -> bool:
        """Whether an output of the first model has the same terms as one of the second."""
        one = self.first.tensor(self.first.model.main, output)
        two = self.second.tensor(self.second.model.main, other)
        return one is two and one is not None

    def operand(self, side: Translation, name: str) -> Operand:
        return side.tensor(side.model.main, name)


class Prover:
    """Proofs about two models, each made on demand.

    inputs     input of the first model -> input of the second
    constants  those of both models
    laws       the named laws that proofs may use
    """

    def __init__(
        self,
        first: Inference,
        second: Inference,
        inputs: Mapping[str, str],
        constants: tuple[ModelConstants, ModelConstants],
        laws: Collection[Law] = (),
    ) -> None:
        self.laws = frozenset(laws)
        self.first = first
        self.second = second
        self.inputs = inputs
        self.constants = constants
        self.models = first.ir, second.ir
        self._access_facts = [*access_facts(first)]
        self.facts = self._facts()
        self.dims = DimTable(self.facts)
        _equate(self.dims, first)
        self._signatures = NodeSignatures()
        self._proofs: dict[tuple[ProofClass, bool], Proof] = {}

    def _facts(self) -> Scope:
        """The facts about the symbols of the first model, with a budget of their own."""
        facts = facts_of(self.first)
        for fact in self._access_facts:
            facts.add_fact(fact)
        nodes = len(self.first.model.proto.graph.node)
        facts.fuels = (Fuel(ELIMINATIONS + ELIMINATIONS_PER_NODE * nodes),)
        return facts

    @property
    def classes(self) -> tuple[ProofClass, ...]:
        """The classes of proofs to try, strongest first."""
        return tuple(ProofClass) if self.laws else (ProofClass.SAME_CALLS, ProofClass.POINTWISE)

    def proof(self, kind: ProofClass, *, names_sizes: bool) -> Proof:
        """Both models as terms.

        kind          the class: which operators are opened
        names_sizes   whether the size that a Reshape computes for -1 is named by the quotient of the others
        """
        key = kind, names_sizes
        found = self._proofs.get(key)
        if found is None:
            found = self._proofs[key] = self._translate(kind, names_sizes)
        return found

    def _translate(self, kind: ProofClass, names_sizes: bool) -> Proof:
        opens_inexact = kind is not ProofClass.SAME_CALLS
        laws = self.laws if kind is ProofClass.LAWS else frozenset()
        pool = TermPool(
            self._facts(),
            applied_again,
            renamed,
            columns=element_of_columns if Law.COLUMNS in laws else None,
            takes_zeros=opens_inexact,
        )
        meanings = Meanings(pool, DimTable(pool.facts), names_sizes, self._signatures)
        _equate(meanings.dims, self.first)
        names = self._names()
        facts = ModelFacts(self.first, meanings.dims, names[0], is_reference=True)
        a = Translation(facts, self.models[0], self.constants[0], meanings, opens_inexact, laws)
        facts = ModelFacts(self.second, meanings.dims, names[1], is_reference=False)
        b = Translation(facts, self.models[1], self.constants[1], meanings, opens_inexact, laws)
        for name, dim in meanings.dims.symbols.items():
            if free_symbols(dim) <= a.facts.renamed.keys():
                a.facts.renamed[name] = dim
        for name, other in self.inputs.items():
            a.declare(a.model.main, name, f"\5{name}")
            b.declare(b.model.main, other, f"\5{name}")
        a.translate(a.model.main)
        b.translate(b.model.main)
        return Proof(a, b, kind)

    def _names(self) -> tuple[dict[str, Dim], dict[str, Dim]]:
        """The symbols of the inputs of both models, in those of the first."""
        mine: dict[str, Dim] = {}
        its: dict[str, Dim] = {}
        for name, other in self.inputs.items():
            for dim in shape_of(self.first, name):
                mine.update((free, symbol(free)) for free in free_symbols(dim))
            for dim, theirs in zip(shape_of(self.first, name), shape_of(self.second, other), strict=False):
                if isinstance(theirs, Symbol):
                    its.setdefault(theirs.name, dim)
        return mine, its

    # what a proof needs besides equal terms

    def open_obligations(self, proof: Proof) -> Iterator[str]:
        """The reasons why the second model may fail where the first one succeeds."""
        for model, which in zip(self.models, ("first", "second"), strict=True):
            if model.has_duplicates or model.dangling or any(graph.cyclic for graph in model.graphs.values()):
                yield f"the {which} model defines a name twice or not at all, or its nodes form a cycle"
        found = self.first.diagnostics
        failures = [each for each in found if each.is_failure and not each.conditional_bodies]
        for finding in failures:
            yield f"the first model fails: {finding.message}"  # with contradictory facts everything is equal
        if (self.facts.is_contradictory or self.dims.is_undefined) and not failures:
            yield "the first model fails in every run: what it requires of sizes is contradictory"
        always = self.proof(proof.kind, names_sizes=False)
        yield from self._narrower_inputs(always)
        yield from Obligations(always.first, always.second, self.facts, self.dims).open()

    def _narrower_inputs(self, proof: Proof) -> Iterator[str]:
        """Sizes of inputs that the first model accepts and the second does not."""
        side = proof.second
        for name, other in self.inputs.items():
            mine, its = shape_of(self.first, name), shape_of(self.second, other)
            if len(mine) != len(its):
                yield f"input {other} has rank {len(its)} in the second model, and {len(mine)} in the first"
                continue
            for axis, (dim, theirs) in enumerate(zip(mine, its, strict=True)):
                if not side.facts.is_bound((theirs,)) or self.dims.form(side.facts.dim(theirs)) != self.dims.form(dim):
                    yield f"axis {axis} of input {other} is {theirs} in the second model, and {dim} in the first"
        yield from self._other_defaults()
        declared = self.second.declared
        shapes = [shape_of(self.second, other) for other in self.inputs.values()]
        for name in sorted({free for shape in shapes for dim in shape for free in free_symbols(dim)}):
            bounds, dim = declared.symbol_bounds(name), side.facts.renamed.get(name, 0)
            least, most = bounds.lo, bounds.hi
            if (least is not None and known_le(least, dim, self.facts) is not True) or (
                most is not None and known_le(dim, most, self.facts) is not True
            ):
                yield f"{name} is in {bounds} in the second model"
        for fact in declared.facts:
            if not side.facts.is_bound((fact,)) or known_le(0, side.facts.dim(fact), self.facts) is not True:
                yield f"the second model declares {fact} >= 0"

    def _other_defaults(self) -> Iterator[str]:
        """Inputs that a caller of the first model may leave out, with another result in the second model."""
        mine, its = (model.graphs[MAIN].initializers for model in self.models)
        for name, other in self.inputs.items():
            if name not in mine:
                continue
            if other not in its:
                yield f"input {other} has no default in the second model, as it has in the first"
                continue
            first, second = self.constants
            one, two = first.initializer(first.main, name), second.initializer(second.main, other)
            if one is None or two is None or one.data_type != two.data_type or not np.array_equal(one.plain, two.plain):
                yield f"input {other} has another default in the second model"

    def is_empty_where_unnamed(self, proof: Proof, output: str, other: str) -> bool:
        """Whether an output is empty, and of the same shape, in the runs that a proof with named sizes is not about."""
        if not proof.first.meanings.nonzero:
            return True
        mine, its = shape_of(self.first, output), shape_of(self.second, other)
        a, b = proof.first, proof.second
        if not all(a.facts.is_bound((dim,)) and free_symbols(dim).isdisjoint(a.facts.conditional) for dim in mine):
            return False
        if not all(b.facts.is_bound((dim,)) and free_symbols(dim).isdisjoint(b.facts.conditional) for dim in its):
            return False
        try:  # the forms in `proof` are about other runs
            forms = [self.dims.form(substitute(dim, a.facts.renamed)) for dim in mine]
            others = [self.dims.form(substitute(dim, b.facts.renamed)) for dim in its]
        except ZeroDivisionError:
            return False
        if forms != others:
            return False
        for size in proof.first.meanings.nonzero:
            if known_le(1, size, self.facts) is True:
                continue
            zero = self._facts_where_zero(size)
            if known_le(product(forms), 0, zero) is not True and not any(known_le(f, 0, zero) is True for f in forms):
                return False
        return True

    def _facts_where_zero(self, size: Dim) -> Scope:
        """The facts about the runs of the first model in which a size is 0, by unit propagation."""
        zero = self.facts.child()
        zero.add_fact(-size)
        for _ in range(2):
            for constraint in self.first.implied_constraints:
                left = [one for one in constraint.any_of if holds(one, zero) is not False]
                if len(left) == 1:
                    low, relation, high = left[0]
                    zero.add_fact(high - low)
                    if relation == "==":
                        zero.add_fact(low - high)
        return zero


def _equate(dims: DimTable, inference: Inference) -> None:
    """Use the equations that hold in every run in which the model succeeds; short ones first, which simplify others."""
    equations = [(left, right) for left, relation, right in relations_of(inference) if relation == "=="]
    for left, right in sorted(equations, key=lambda sides: sum(_size(side) for side in sides)):
        dims.equate(left, right)


def _size(dim: Dim) -> int:
    return 0 if isinstance(dim, int) else dim.size


def shape_of(inference: Inference, name: str) -> tuple[Dim, ...]:
    """The shape of a value of the main graph; () if its rank is unknown."""
    fact = inference[name]
    return fact.shape or () if isinstance(fact, SymbolicTensor) else ()
