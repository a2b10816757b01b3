"""A thread that makes the next items while the caller works on this one, and always ends."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Generator, Iterable
from typing import Generic, TypeVar

T = TypeVar("T")


class Closed(Exception):
    """The other end of a channel is gone."""


class Channel(Generic[T]):
    """A bounded queue between two threads that either end can close."""

    def __init__(self, depth: int) -> None:
        self._depth = depth
        self._items: deque[T] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self._error: BaseException | None = None

    def put(self, item: T) -> None:
        """Waits while the queue is full; raises `Closed` if nobody will take the item."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or len(self._items) < self._depth)
            if self._closed:
                raise Closed
            self._items.append(item)
            self._changed.notify_all()

    def get(self) -> T:
        """The next item. After the last: the error the other end closed with, or `Closed`."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._items)
            if self._items:
                item = self._items.popleft()
                self._changed.notify_all()
                return item
            if self._error is not None:
                raise self._error
            raise Closed

    def close(self, error: BaseException | None = None) -> None:
        """No more items; those in the queue can still be taken."""
        with self._changed:
            self._closed = True
            self._error = self._error or error
            self._changed.notify_all()


def read_ahead(items: Iterable[T], depth: int = 1) -> Generator[T, None, None]:
    """The same items, up to `depth` of them made ahead in a thread of its own.

    An error in the thread is raised here, after the items before it. The thread has ended when the
    iterator has, also if it is closed early.

    Examples
    --------
    >>> list(read_ahead(k * k for k in range(5)))
    [0, 1, 4, 9, 16]
    """
    channel: Channel[T] = Channel(depth)

    def produce() -> None:
        try:
            for item in items:
                channel.put(item)
                del item  # a block that is waited for is not held here as well
        except Closed:
            pass
        except BaseException as error:
            channel.close(error)
        finally:
            channel.close()
            close = getattr(items, "close", None)
            if close is not None:
                close()

    thread = threading.Thread(target=produce, name="maxmargin reader", daemon=True)
    thread.start()
    try:
        while True:
            try:
                item = channel.get()
            except Closed:
                return
            yield item
            del item
    finally:
        channel.close()
        thread.join()
