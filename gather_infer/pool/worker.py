"""Main loop of a worker process, which isolates the parent from crashes that a file may cause.

The worker reads pickles from standard input: first the task, then its items. It writes the result of the task for each
item as a pickle to standard output. All other output of the process is redirected to standard error.
"""

from __future__ import annotations

import pickle

from gather_infer.errors import GatherInferError
from gather_infer.processes import request_streams

READY = "ready"


def main() -> None:
    requests, replies = request_streams()
    task = pickle.load(requests)
    pickle.dump(READY, replies)
    replies.flush()
    while True:
        try:
            item = pickle.load(requests)
        except EOFError:  # the parent has closed the pipe or has ended
            return
        try:
            reply: object = task(item)
        except GatherInferError as error:
            reply = error
        pickle.dump(reply, replies)
        replies.flush()
