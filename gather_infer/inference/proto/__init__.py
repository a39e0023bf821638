"""Protobuf as facts, and back: schemas, attributes, types and constants."""
