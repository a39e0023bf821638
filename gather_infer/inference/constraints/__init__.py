"""Input constraints: sizes, bounds, types and ranges that the caller gives or the file records for the model's inputs.

`parse` reads the texts of options (`seq=1..512`, `total=past+seq`, `ids=int64[batch, seq]`), `persisted` the texts that
a file records in its metadata. `given` combines both with the declared types of the inputs, and `shared` holds
constraints given for several models at once.
"""
