"""Rows block by block, for data larger than memory."""
