"""Windows, strides, paddings and coordinates of images, and windows of lengths."""
