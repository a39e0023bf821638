"""The sizes that each axis is a product of, in the order of the elements, and where a Reshape puts them."""
