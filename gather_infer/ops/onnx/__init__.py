"""The rules of ai.onnx, ai.onnx.ml and ai.onnx.preview.training, a module per operator family."""
