"""The command line of gather-infer, installed as `gather_infer_cli`."""
