"""Text cut into pieces of whole rows, as it is read and unpacked."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from maxmargin.data.formats.compression import Unpacked
from maxmargin.data.formats.detect import BYTE_ORDER_MARK
from maxmargin.data.limits import line_too_long, longest_line
from maxmargin.data.stream.blocks import BLOCK_BYTES
from maxmargin.data.stream.fingerprints import as_bytes

LINE_END, ENTRY_END = b"\n", b"\n>"


def pieces(path: str, ends: bytes, size: int = BLOCK_BYTES) -> Iterator[np.ndarray]:
    """The unpacked bytes of a file in pieces of about `size`, each ending with a whole row.

    `ends` stands where a row ends; its first byte belongs to the row. A byte order mark at the
    beginning is left out.
    """
    limit = longest_line()
    text = bytearray()
    handed_out = 0
    with Unpacked(path) as stream:
        while chunk := stream.read(size):
            seen = len(text)  # no row ends in these
            text += chunk if handed_out or seen else chunk.removeprefix(BYTE_ORDER_MARK)
            if len(chunk) < size:
                break
            end = text.rfind(ends, max(seen - len(ends), 0)) + 1  # 0: a row longer than a piece
            if end:
                rest = text[end:]
                handed_out += end
                yield as_bytes(text)[:end]
                text = rest
            if len(text) > limit:
                raise line_too_long(f"{path}: after {handed_out} bytes", limit)
    if text:
        yield as_bytes(text)
