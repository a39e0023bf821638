"""Rules of operators of OpenVINO, whose opsets share the domain `openvino`."""
