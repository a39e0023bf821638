"""The job of `gather-infer cost`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gather_infer.inference.constraints.shared import SharedConstraints
from gather_infer.many.job import Job, Outcome
from gather_infer.model import ModelFile
from gather_infer.progress import Progress
from gather_infer.report.output_formats import COST, CostReport


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CostJob(Job):
    """Estimate of the cost.

    assume      as for `gather_infer.infer`
    sizes       sizes at which to evaluate the formulas
    is_shared   the sizes are for several models, of which each uses those of its own symbols
    by_node, everything   as in `CostReport`
    """

    assume: bool = True
    sizes: Mapping[str, int] = field(default_factory=dict)
    is_shared: bool = False
    by_node: bool = False
    everything: bool = False

    def outcome(self, model: ModelFile, given: SharedConstraints, progress: Progress) -> Outcome[CostReport]:
        from gather_infer.cost import cost_of
        from gather_infer.inference import infer

        progress(lambda: "inferring")
        inference = infer(model, dims=given.dims, inputs=given.inputs, rules=given.rules, assume=self.assume)
        progress(lambda: "counting")
        cost = cost_of(inference)
        unused = tuple(name for name in self.sizes if self.is_shared and name not in cost.symbols)
        sizes = {name: size for name, size in self.sizes.items() if name not in unused}
        if sizes:
            cost = cost.at(sizes)
        report = CostReport(cost, self.by_node, self.everything)
        return Outcome(COST, report, inference.errors, unused=unused)
