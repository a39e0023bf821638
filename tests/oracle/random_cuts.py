"""Random cuts: `extract` the parts before and behind some tensors, `compose` them, and compare with the original.

python -m tests.oracle.random_cuts --cuts 1000
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Iterator
from typing import Final

from onnx import ModelProto

from gather_infer import DiffVerdict, compose, diff, extract, open_model, outputs
from gather_infer.ir import Model
from tests.documents import REPO

FIXTURES: Final = (
    "dlrm-torchscript", "convnet-dynamo", "embedding-bag-torchscript", "gnn-torchscript", "bert-torchscript",
    "vit-torchscript", "swin-torchscript", "lstm-tagger-torchscript", "moe-torchscript", "gpt2-kv-torchscript",
)  # fmt: skip


def cut_of(model: ModelProto, rng: random.Random) -> list[str]:
    """The values that cross a random position in the order of the nodes: each is read behind it or is an output."""
    main = Model(model).main
    nodes = list(main.nodes)
    at = rng.randrange(1, len(nodes))
    before = set(nodes[:at])
    made = [name for node in nodes[:at] for name in node.outputs if name]
    return [name for name in made if main.users(name) - before or name in main.output_set]


def cut_and_join(name: str, *, seed: int, cuts: int) -> Iterator[DiffVerdict]:
    """The verdicts on random cuts of a fixture; cuts that leave nothing to join are drawn again and do not count."""
    file = open_model(REPO / "fixtures" / f"{name}.onnx")
    rng = random.Random(seed)
    names = [value.name for value in file.proto.graph.output]
    done = 0
    while done < cuts:
        crossing = cut_of(file.proto, rng)
        inner = [value for value in crossing if value not in names]
        first = extract(file, outputs=[*crossing]).proto
        fed = [value.name for value in file.proto.graph.input]
        rest = [value for value in names if value not in crossing]
        if not inner or not rest:
            continue
        done += 1
        whole = extract(file, outputs=rest)
        needed = [value.name for value in whole.proto.graph.input]
        second = extract(file, inputs=[*inner, *(value for value in crossing if value in names), *needed], outputs=rest)
        shared = {value.name for value in first.graph.input} & set(needed) & set(fed)
        sources = {value.name: value.name for value in second.proto.graph.input if value.name in {*crossing, *shared}}
        joined = compose(first, second.proto, mapping=sources, allow_failures=True)
        kept = [value.name for value in joined.proto.graph.output]
        # the first part computes its outputs though the second may not read them, and fails where the original does
        original = outputs(file, keep=kept, keep_nodes=True).proto if set(kept) != set(names) else file.proto
        yield diff(original, joined.proto, outputs={n: n for n in kept}, details=False, runs=4).verdict


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cuts", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    for name in FIXTURES:
        found = Counter(map(str, cut_and_join(name, seed=options.seed, cuts=options.cuts // len(FIXTURES))))
        print(name, dict(found), flush=True)


if __name__ == "__main__":
    main()
