"""`gather-infer convert`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from gather_infer.report.output_formats import CONVERSION, MODELS

from .console import Console
from .facts import Facts, facts_options
from .options import Command, common_options, model_argument, option
from .parallel import Parallel, parallel_options, run_alone, run_many
from .saving import DRY_RUN_OF_EDITS, Target, are_several, dry_run_option, missing_output, output_options, strict_option
from .verification import verify_options

if TYPE_CHECKING:
    from gather_infer.verification.options import VerifyOptions


@click.command(
    "convert",
    cls=Command,
    example="gather-infer convert fixtures/openvino-gather.onnx -o plain.onnx",
)
@model_argument("models", nargs=-1, required=True)
@facts_options
@output_options("Write the ONNX model to OUT.", several=True)
@dry_run_option(DRY_RUN_OF_EDITS)
@verify_options
@option("--in-place-weights", section="Output", is_flag=True,
        help="Leave the weights of an IR in its .bin, which must be in or below the folder of OUT.")  # fmt: skip
@option("--opset", section="Conversion", type=int, metavar="N",
        help="Set the ai.onnx opset of a converted IR, 21 by default; an ONNX file keeps its own.")  # fmt: skip
@option("--gather-oob", section="Conversion", type=click.Choice(["guard", "assume-valid", "refuse"]), default="guard",
        show_default=True, help="Choose the treatment of a Gather whose indices are not proved in bounds. OpenVINO "
        "returns zeros for an index out of bounds, ONNX fails; a guard returns zeros, too.")  # fmt: skip
@option("--weights", section="Conversion", type=click.Choice(["dequantize", "contrib", "float"]), default="dequantize",
        show_default=True, help="Choose the operators of compressed weights: DequantizeLinear, "
        "com.microsoft.MatMulNBits if possible, or float operators.")  # fmt: skip
@option("--beam-idx", section="Conversion", type=click.Choice(["keep", "drop"]), default="keep", show_default=True,
        help="Keep the input that only reorders rows of the state, or drop it with its Gathers.")  # fmt: skip
@option("--random", section="Conversion", type=click.Choice(["refuse", "onnx"]), default="refuse", show_default=True,
        help="Refuse RandomUniform and Multinomial, or use ONNX's generators, whose numbers differ from OpenVINO's "
        "but have the same distribution.")  # fmt: skip
@option("--keep-unsupported", section="Conversion", is_flag=True,
        help="Keep nodes without an ONNX counterpart in OpenVINO's domain instead of refusing.")  # fmt: skip
@strict_option("Write nothing and exit with 1 if other errors or warnings remain.")
@parallel_options("Convert")
@common_options(CONVERSION, MODELS, verbose="Print each converted node.")
def command(
    models: tuple[str, ...],
    facts: Facts,
    target: Target | None,
    dry_run: bool,
    verifying: VerifyOptions | None,
    in_place_weights: bool,
    opset: int | None,
    gather_oob: Any,
    weights: Any,
    beam_idx: Any,
    random: Any,
    keep_unsupported: bool,
    strict: bool,
    parallel: Parallel,
    console: Console,
) -> int:
    """Convert an OpenVINO IR, or OpenVINO nodes in ONNX, to ONNX.

    MODELS are ONNX files (- is standard input), the .xml of OpenVINO IRs, with the .bin in the same folder, or folders.
    """
    if target is None and not dry_run:
        raise missing_output(models)
    if in_place_weights and target is not None and target.external_data is not None:
        raise click.UsageError("--in-place-weights and --external-data exclude each other")

    if verifying is not None and beam_idx == "drop":
        raise click.UsageError("--verify and --beam-idx drop exclude each other: the IR runs with that input")

    from gather_infer.many.convert import ConvertJob

    target = None if dry_run else target
    job = ConvertJob(
        **facts.job_options(target, console),
        gather_oob=gather_oob,
        weights=weights,
        beam_idx=beam_idx,
        random=random,
        opset=opset,
        keep_unsupported=keep_unsupported,
        in_place_weights=in_place_weights,
        edits=dry_run,
        verify=verifying,
        strict=strict,
    )
    if are_several(models):
        return run_many(job, models, target, parallel, console, doing="converting", suffix=".onnx")
    return run_alone(job, models[0], target, parallel, console, timed=True)
