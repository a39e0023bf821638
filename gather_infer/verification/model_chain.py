"""Two models that run one after the other, as one side of a comparison."""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gather_infer.model import ModelFile
from gather_infer.runtimes.process import Failure, RuntimeProcess


@dataclass(frozen=True, slots=True)
class ModelChain:
    """Two models that run one after the other; its inputs are those of the model that it is compared with.

    first     the first model, whose inputs have the names of those of the chain; None if the second one runs alone
    second    the second model
    feeds     input of the second model -> the output of the first, or the input of the chain, that feeds it
    outputs   output of the chain -> its name in the second model, or in the first if that is in `of_first`
    of_first  outputs of the chain that the first model has
    """

    first: ModelFile | None
    second: ModelFile
    feeds: Mapping[str, str]
    outputs: Mapping[str, str]
    of_first: frozenset[str] = frozenset()

    @property
    def files(self) -> tuple[ModelFile, ...]:
        return (self.second,) if self.first is None else (self.first, self.second)


class ChainProcess:
    """A child process for each model of a chain, used as one RuntimeProcess.

    folder  contains the folders of the processes
    """

    def __init__(self, chain: ModelChain, runtime: str, folder: Path, timeout: float, stack: ExitStack) -> None:
        self._chain = chain
        self._processes = []
        for number, _ in enumerate(chain.files):
            own = folder / f"process{number}"
            own.mkdir()
            self._processes.append(stack.enter_context(RuntimeProcess(runtime, own, timeout)))
        self._feeds = folder / "chain.pickle"

    def load(self, paths: Sequence[Path]) -> Failure | None:
        """Load the files of the models; returns None on success."""
        for process, file, path in zip(self._processes, self._chain.files, paths, strict=True):
            failure = process.load(path)
            if failure is not None:
                return failure._replace(reason=f"{file.name}: {failure}")
        return None

    def run(self, feeds: Path) -> list[Any] | Failure:
        """The outputs of the chain, in order, for the inputs in the file `feeds`, a pickled dict by name."""
        chain = self._chain
        with open(feeds, "rb") as file:
            values: dict[str, Any] = pickle.load(file)
        known = dict(values)
        made: list[dict[str, Any]] = []
        for process, model in zip(self._processes, chain.files, strict=True):
            sources = {value.name: value.name for value in model.proto.graph.input}
            if model is chain.second:
                sources = dict(chain.feeds)
            given = {name: known[source] for name, source in sources.items() if source in known}
            self._feeds.write_bytes(pickle.dumps(given, protocol=pickle.HIGHEST_PROTOCOL))
            found = process.run(self._feeds)
            if isinstance(found, Failure):
                return found._replace(reason=f"{model.name}: {found}")
            made.append(dict(zip((value.name for value in model.proto.graph.output), found, strict=True)))
            known = {**values, **made[-1]}
        return [made[0 if name in chain.of_first else -1][own] for name, own in chain.outputs.items()]
