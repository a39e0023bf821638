"""The process that checks files for a parent, which survives what a file may do to it.

It reads pickles from standard input and answers with pickles on standard output: first what is done with each file,
then any number of paths. What is printed meanwhile goes to standard error.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys

from gather_infer.errors import GatherInferError

READY = "ready"


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends this process
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    requests = sys.stdin.buffer
    task = pickle.load(requests)
    pickle.dump(READY, answers)
    answers.flush()
    while True:
        try:
            path = pickle.load(requests)
        except EOFError:  # the parent is gone, or done
            return
        try:
            answer: object = task(path)
        except GatherInferError as error:
            answer = error
        pickle.dump(answer, answers)
        answers.flush()
