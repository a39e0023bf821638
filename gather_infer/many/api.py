"""Functions for many models: `infer_many`, `optimize_many`, `convert_many`, `contract_many` and `cost_many`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from typing import Literal, TypeAlias

from gather_infer.errors import UsageError
from gather_infer.many.contract import ContractJob
from gather_infer.many.convert import ConvertJob
from gather_infer.many.cost import CostJob
from gather_infer.many.infer import InferJob
from gather_infer.many.job import Item, Job
from gather_infer.many.model_run import ModelRun
from gather_infer.many.rewrite import RewriteJob
from gather_infer.many.run import run_job
from gather_infer.passes import RewriteSet
from gather_infer.pool.folders import expanded
from gather_infer.pool.outputs import output_paths
from gather_infer.rules import RuleSet
from gather_infer.user_code.user_code import UserCode

Path: TypeAlias = "str | os.PathLike[str]"


def infer_many(
    paths: Iterable[Path],
    *,
    output: Path | None = None,
    dims: Iterable[str] = (),
    inputs: Iterable[str] = (),
    rules: Sequence[RuleSet] = (),
    extensions: Iterable[str] = (),
    assume: bool = True,
    initializers_as_constants: bool = False,
    jobs: int | None = None,
    executor: Executor | None = None,
    cache: Path | None = None,
) -> Iterator[ModelRun]:
    """Infer many models; yield a `ModelRun` for each as soon as it is complete, in any order.

    paths      files, and folders, which stand for all models below them
    output     folder for the models with a value_info for every tensor; None writes nothing. The relative path below
               the common folder of `paths` stays. A model with errors is not written
    dims, inputs   as for `infer`, as strings; each model uses those that name one of its inputs or input dims
    rules      rule sets that worker processes can import, because a module defines them
    extensions names of installed extensions, see `load_extension`
    assume, initializers_as_constants   as for `infer`
    jobs       number of worker processes, None for one per core. A model that fails does not stop the others; one that
               crashes its process twice has exit code 4
    executor   runs the models instead of worker processes, as for `check_many`
    cache      a folder with results of earlier calls. A result is reused only if the bytes of the model and of its
               external data, its name, all arguments and all versions are equal, and the files that it wrote are
               unchanged. With `rules` or `extensions` none is

    Raises UsageError for arguments of the wrong kind, for extensions that cannot be loaded and, before anything is
    written, if two models would write the same file; ModelWriteError if `cache` cannot be written.

        >>> for run in gather_infer.infer_many(["fixtures/bert-torchscript.onnx"], jobs=1):
        ...     print(run.model, run.exit_code, run.report["coverage"]["exact"])
        fixtures/bert-torchscript.onnx 0 377
    """
    job = InferJob(
        dims=_texts("dims", dims),
        inputs=_texts("inputs", inputs),
        code=UserCode(extensions=_texts("extensions", extensions), rules=tuple(rules)),
        constants=initializers_as_constants,
        assume=assume,
        annotate=output is not None,
    )
    return _run(job, paths, output, "", jobs, executor, cache)


def optimize_many(
    paths: Iterable[Path],
    *,
    output: Path | None = None,
    max_growth: int | None = None,
    passes: Iterable[str] = (),
    skip: Iterable[str] = (),
    rewrites: Sequence[RewriteSet] = (),
    fold_floats: bool = False,
    dims: Iterable[str] = (),
    inputs: Iterable[str] = (),
    rules: Sequence[RuleSet] = (),
    extensions: Iterable[str] = (),
    initializers_as_constants: bool = False,
    jobs: int | None = None,
    executor: Executor | None = None,
    cache: Path | None = None,
) -> Iterator[ModelRun]:
    """Optimize many models; yield a `ModelRun` for each as soon as it is complete, in any order.

    max_growth, passes, skip, rewrites, fold_floats   as for `optimize`
    output     folder for the optimized models; None writes nothing

    The other arguments and the errors are those of `infer_many`.

        >>> for run in gather_infer.optimize_many(["fixtures/gpt2-kv-torchscript.onnx"], output="small", jobs=1):
        ...     print(run.paths, run.report["after"]["nodes"])
        ('small/gpt2-kv-torchscript.onnx',) 139
    """
    job = RewriteJob(
        dims=_texts("dims", dims),
        inputs=_texts("inputs", inputs),
        code=UserCode(extensions=_texts("extensions", extensions), rules=tuple(rules), rewrites=tuple(rewrites)),
        constants=initializers_as_constants,
        passes=_texts("passes", passes),
        skip=_texts("skip", skip),
        fold_floats=fold_floats,
        max_growth=max_growth,
    )
    return _run(job, paths, output, "", jobs, executor, cache)


def convert_many(
    paths: Iterable[Path],
    *,
    output: Path | None = None,
    gather_oob: Literal["guard", "assume-valid", "refuse"] = "guard",
    weights: Literal["dequantize", "contrib", "float"] = "dequantize",
    beam_idx: Literal["keep", "drop"] = "keep",
    random: Literal["refuse", "onnx"] = "refuse",
    opset: int | None = None,
    keep_unsupported: bool = False,
    dims: Iterable[str] = (),
    inputs: Iterable[str] = (),
    rules: Sequence[RuleSet] = (),
    extensions: Iterable[str] = (),
    initializers_as_constants: bool = False,
    jobs: int | None = None,
    executor: Executor | None = None,
    cache: Path | None = None,
) -> Iterator[ModelRun]:
    """Convert many models to ONNX; yield a `ModelRun` for each as soon as it is complete, in any order.

    gather_oob to keep_unsupported   as for `convert`
    output     folder for the ONNX models, where `a.xml` becomes `a.onnx`; None writes nothing

    The other arguments and the errors are those of `infer_many`.

        >>> for run in gather_infer.convert_many(["fixtures/openvino/cnn.xml"], output="plain", jobs=1):
        ...     print(run.paths, run.exit_code)
        ('plain/cnn.onnx',) 0
    """
    job = ConvertJob(
        dims=_texts("dims", dims),
        inputs=_texts("inputs", inputs),
        code=UserCode(extensions=_texts("extensions", extensions), rules=tuple(rules)),
        constants=initializers_as_constants,
        gather_oob=gather_oob,
        weights=weights,
        beam_idx=beam_idx,
        random=random,
        opset=opset,
        keep_unsupported=keep_unsupported,
    )
    return _run(job, paths, output, ".onnx", jobs, executor, cache)


def contract_many(
    paths: Iterable[Path],
    *,
    output: Path | None = None,
    dims: Iterable[str] = (),
    inputs: Iterable[str] = (),
    ranges: Iterable[str] = (),
    rules: Sequence[RuleSet] = (),
    extensions: Iterable[str] = (),
    initializers_as_constants: bool = False,
    jobs: int | None = None,
    executor: Executor | None = None,
    cache: Path | None = None,
) -> Iterator[ModelRun]:
    """Derive the contracts of many models; yield a `ModelRun` for each as soon as it is complete, in any order.

    ranges     as for `contract_of`, as strings
    output     folder for the models with the contract in their metadata; None writes nothing

    The other arguments and the errors are those of `infer_many`. `Contract.load` reads the text of `run.report`.

        >>> for run in gather_infer.contract_many(["fixtures/bert-torchscript.onnx"], jobs=1):
        ...     print(len(run.report["lines"]))
        3
    """
    job = ContractJob(
        dims=_texts("dims", dims),
        inputs=_texts("inputs", inputs),
        ranges=_texts("ranges", ranges),
        code=UserCode(extensions=_texts("extensions", extensions), rules=tuple(rules)),
        constants=initializers_as_constants,
    )
    return _run(job, paths, output, "", jobs, executor, cache)


def cost_many(
    paths: Iterable[Path],
    *,
    sizes: Mapping[str, int] | None = None,
    dims: Iterable[str] = (),
    inputs: Iterable[str] = (),
    rules: Sequence[RuleSet] = (),
    extensions: Iterable[str] = (),
    assume: bool = True,
    initializers_as_constants: bool = False,
    jobs: int | None = None,
    executor: Executor | None = None,
    cache: Path | None = None,
) -> Iterator[ModelRun]:
    """Estimate the costs of many models; yield a `ModelRun` for each as soon as it is complete, in any order.

    sizes      sizes of symbols, as for `Cost.at`; each model uses those of its own symbols

    The other arguments and the errors are those of `infer_many`.

        >>> sizes = {"batch": 1, "seq": 64}
        >>> for run in gather_infer.cost_many(["fixtures/bert-torchscript.onnx"], sizes=sizes, jobs=1):
        ...     print(run.report["macs"])
        1442816
    """
    job = CostJob(
        dims=_texts("dims", dims),
        inputs=_texts("inputs", inputs),
        code=UserCode(extensions=_texts("extensions", extensions), rules=tuple(rules)),
        constants=initializers_as_constants,
        assume=assume,
        sizes=dict(sizes or {}),
        is_shared=True,
    )
    return _run(job, paths, None, "", jobs, executor, cache)


def _run(
    job: Job,
    paths: Iterable[Path],
    output: Path | None,
    suffix: str,
    jobs: int | None,
    executor: Executor | None,
    cache: Path | None,
) -> Iterator[ModelRun]:
    if isinstance(paths, (str, os.PathLike)):
        raise UsageError(f"paths must be a list, is the path {os.fspath(paths)!r}")
    named = [os.fspath(path) for path in paths]
    models = list(dict.fromkeys(expanded(named)))
    outputs = {} if output is None else output_paths(named, models, os.fspath(output), suffix=suffix)
    job.code.load()
    folder = None if cache is None or not job.code.is_plain else os.fspath(cache)
    items = [Item(model, outputs.get(model)) for model in models]
    return run_job(job, items, jobs=jobs, executor=executor, cache=folder)


def _texts(name: str, texts: Iterable[str]) -> tuple[str, ...]:
    if isinstance(texts, str):
        raise UsageError(f"{name} must be a list of strings, is the string {texts!r}")
    return tuple(texts)
