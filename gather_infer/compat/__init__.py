"""Drop-ins for other tools: the interfaces of their scripts and passes, on top of this package.

Each module has the name of what it replaces. See docs/drop-ins.md for the commands and the differences.

    symbolic_shape_infer       `python -m onnxruntime.tools.symbolic_shape_infer`
    make_dynamic_shape_fixed   `python -m onnxruntime.tools.make_dynamic_shape_fixed`
    quant_pre_process          `python -m onnxruntime.quantization.preprocess`
    onnx_ir                    passes for onnx-ir, on `onnx_ir.Model`
    olive                      passes for Olive

Optional packages are imported by the modules that need them, so importing this package needs none.
"""
