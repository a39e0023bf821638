"""PyTorch networks of random weights, for `benchmarks/openvino_networks.py`. Only these files import torch."""
