"""The row store: an Arrow IPC file with a checksum a block, written once, read at disk speed."""
