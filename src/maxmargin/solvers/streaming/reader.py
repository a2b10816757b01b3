"""The reader of the cached loops: a thread that goes over a source again and again.

It is a few packed blocks ahead of the trainer, and no more. Either side can end the other: the
trainer closes the reader and waits for its thread; an error of the reader reaches the trainer with
the next block it asks for.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

from maxmargin import _core
from maxmargin.data.errors import DataError
from maxmargin.data.stream.blocks import Block, BlockSource

AHEAD = 2  # blocks ready before the trainer asks for them
PATIENCE = 0.05  # seconds between two looks at the stop flag


class Reader:
    """Passes over `source`, each block made ready by `pack`, in a thread of its own.

    Used as a context: leaving it ends the thread and waits for it.
    """

    def __init__(
        self, source: BlockSource, pack: Callable[[Block], _core.PackedBlock], ahead: int = AHEAD
    ) -> None:
        self._source, self._pack, self._ahead = source, pack, ahead
        self._blocks: deque[_core.PackedBlock | None] = deque()  # None: a pass has ended
        self._change = threading.Condition()
        self._closed = False
        self._error: BaseException | None = None
        self.ready = _core.Flag()  # whether `take` would return (or raise) at once
        self._thread = threading.Thread(target=self._read, name="maxmargin reader", daemon=True)

    def __enter__(self) -> Reader:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def take(self, stop: _core.Stop | None) -> _core.PackedBlock | None:
        """The next block, None at the end of a pass. Raises the reader's error, and `Stopped`."""
        with self._change:
            while not self._blocks:
                if self._error is not None:
                    raise self._error
                if stop is not None and stop.poll():
                    raise _core.Stopped("stopped before the end")
                self._change.wait(PATIENCE)
            block = self._blocks.popleft()
            self._notify()
        return block

    def close(self) -> None:
        """Ends the thread; to call it twice is no error."""
        with self._change:
            self._closed = True
            self._blocks.clear()
            self._notify()
        if self._thread.is_alive():
            self._thread.join()

    def _notify(self) -> None:
        """After each change, its lock held: tells whoever waits, and whoever looks at the flag."""
        self.ready.set(bool(self._blocks) or self._error is not None)
        self._change.notify_all()

    def _put(self, block: _core.PackedBlock | None) -> bool:
        """Hands a block over when there is room for it; False if nobody wants it any more."""
        with self._change:
            while len(self._blocks) >= self._ahead and not self._closed:
                self._change.wait()
            if self._closed:
                return False
            self._blocks.append(block)
            self._notify()
        return True

    def _read(self) -> None:
        try:
            while self._one_pass():
                pass
        except BaseException as error:
            with self._change:
                self._error = error
                self._notify()

    def _one_pass(self) -> bool:
        self._source.check_unchanged()
        blocks, expected = self._source.blocks(), 0
        try:
            for block in blocks:
                if block.first != expected:
                    raise DataError(
                        f"{self._source.name}: a block of rows begins with row {block.first}; "
                        f"expected {expected}: the rows changed while they were read; start again"
                    )
                expected += block.n
                if expected > self._source.n:
                    raise self._other_number(f"{expected} rows or more")
                if not self._put(self._pack(block)):
                    return False
        finally:
            if hasattr(blocks, "close"):
                blocks.close()
        if expected != self._source.n:
            raise self._other_number(f"{expected} rows")
        return self._put(None)

    def _other_number(self, found: str) -> DataError:
        return DataError(
            f"{self._source.name}: a pass found {found}; expected {self._source.n}: the data "
            "changed while it was read, or says falsely how many rows it holds; open it again, or "
            "convert it again"
        )
