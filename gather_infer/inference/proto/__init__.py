"""Conversion between protobuf and facts: schemas, attributes, types and constants."""
