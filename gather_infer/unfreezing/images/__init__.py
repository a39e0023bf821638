"""Sizes of images: windows, strides, paddings and coordinates of pixels."""
