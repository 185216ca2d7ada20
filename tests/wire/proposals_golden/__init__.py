"""The proposals' formats byte by byte, written from their texts: no stranger speaks them.

Each line is bytes and what they are. STRING: int16 length and UTF-8; NULLABLE_STRING: length -1 for null; arrays: int32
count; a compact string or array (KIP-482): one more than its length as a varint, 0 for null; a flexible structure ends
with the count of its tagged fields.
"""

from __future__ import annotations

from typing import Any

Bytes = list[tuple[str, str]]
"""Bytes as hexadecimal digits, and what they are."""
Cases = list[tuple[Any, Bytes]]
"""Messages and how they are written."""
