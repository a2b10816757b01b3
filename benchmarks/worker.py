"""A process of its own for every peer, so that one can be stopped at its time limit, may crash, and
brings its own OpenMP and its own packages without disturbing the others."""

from __future__ import annotations

import multiprocessing
import time
import traceback
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.peers import Peer, Setting

REST = 0.05  # seconds before a run, for idle OpenMP threads of the one before to stop spinning

WARM_UP_C = 1e-4  # a new process runs this first: imports and first pages are on nobody's clock


class Failed(Exception):
    """The peer raised, died or took too long; the message says which."""


class TooSlow(Failed):
    pass


@dataclass
class Answer:
    seconds: float  # of `run` alone
    w: np.ndarray
    notes: dict[str, Any] = field(default_factory=dict)


def serve(connection: Any, peer_type: type[Peer]) -> None:
    """The process's main: prepares once, then runs as often as asked."""
    peer = peer_type()
    while True:
        try:
            task, *arguments = connection.recv()
        except EOFError:  # the harness is gone
            return
        if task == "end":
            return
        try:
            if task == "prepare":
                peer.prepare(*arguments)
                connection.send(("ok", None))
                continue
            start = time.perf_counter()
            result = peer.run(*arguments)
            seconds = time.perf_counter() - start
            answer = Answer(seconds, peer.weights(result), peer.notes(result))
            del result
            connection.send(("ok", answer))
        except Exception:
            connection.send(("failed", traceback.format_exc(limit=-1)))


class Worker:
    """The harness's end: starts the process when first needed, and again after it was killed."""

    def __init__(self, peer: type[Peer], X: sp.csr_matrix, y: np.ndarray, threads: int) -> None:
        self.peer, self.data, self.threads = peer, (X, y), threads
        self.process: Any = None

    def run(self, C: float, setting: Setting, time_limit: float) -> Answer:
        """The answer, or `TooSlow` / `Failed`. Preparing the data is not limited nor timed."""
        if self.process is None:
            self._start()
            self._ask(time_limit, "run", WARM_UP_C, self.peer().ladder()[0])
        time.sleep(REST)
        return self._ask(time_limit, "run", C, setting)

    def close(self) -> None:
        if self.process is not None:
            self.connection.send(("end",))
            self.process.join(5)
            self._kill()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=serve, args=(theirs, self.peer), daemon=True)
        self.process.start()
        theirs.close()
        self._ask(600.0, "prepare", *self.data, self.threads)

    def _ask(self, time_limit: float, *message: Any) -> Any:
        try:
            self.connection.send(message)
            if not self.connection.poll(time_limit):
                self._kill()
                raise TooSlow(f"{self.peer.name} was stopped after {time_limit:.0f} s")
            status, answer = self.connection.recv()
        except (EOFError, BrokenPipeError, ConnectionResetError) as error:
            self._kill()
            raise Failed(f"{self.peer.name}: its process died") from error
        if status == "failed":
            raise Failed(f"{self.peer.name}: {answer}")
        return answer

    def _kill(self) -> None:
        self.process.kill()
        self.process.join()
        self.connection.close()
        self.process = None
