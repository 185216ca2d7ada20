"""Varints, and tagged fields (KIP-482), which are skipped, or removed from a message if kio's class lacks them.

A newer broker may add tagged fields to an existing version, which is the purpose of KIP-482, and receivers must skip
unknown ones. kio raises KeyError instead. After such a KeyError, and only then, this module copies the message, field
by field, without its unknown tagged fields.
"""

from __future__ import annotations

import struct
from dataclasses import Field, fields
from typing import Any

from console.wire.fields import LENGTHS, SIZES, shape_of


def encode_varint(value: int) -> bytes:
    """Encode a number of at most 32 bits, not negative, as Kafka's UNSIGNED_VARINT, the type of lengths in flexible
    versions.
    """
    parts = bytearray()
    while value >= 0x80:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)


def read_varint(data: bytes | memoryview, at: int) -> tuple[int, int]:
    """Decode the varint at this offset; return the number and the offset after it. Raises IndexError at the end of the
    data, ValueError for more than five bytes.
    """
    byte = data[at]
    value = byte & 0x7F
    for shift in (7, 14, 21, 28):
        at += 1
        if byte < 0x80:
            return value, at
        byte = data[at]
        value |= (byte & 0x7F) << shift
    if byte < 0x80:
        return value, at + 1
    raise ValueError("a varint of more than five bytes")


def read_count(data: bytes, at: int) -> tuple[int, int]:
    """Decode the length of the array at this offset; return the number of its elements and the offset of the first one.
    Raises IndexError at the end of the data, ValueError for a null array.
    """
    count, at = data[at], at + 1
    if count >= 0x80:
        count, at = read_varint(data, at - 1)
    if not count:
        raise ValueError("an array is null")
    return count - 1, at


def skip_tags(data: bytes | memoryview, at: int) -> int:
    """Return the offset after the section of tagged fields that begins at this offset. Raises IndexError at the end of
    the data, and ValueError.
    """
    count, at = read_varint(data, at)
    for _ in range(count):
        _, at = read_varint(data, at)
        size, at = read_varint(data, at)
        at += size
    if at > len(data):
        raise ValueError("a tagged field ends behind the message")
    return at


def without_unknown_tags(entity: type, data: bytes | memoryview, *, mend_text: bool = False) -> tuple[bytes, int]:
    """Copy the encoded entity at the start of the data, without the tagged fields that its class lacks. Return the
    copy, and the size in bytes of the original. Raises ValueError, IndexError or struct.error for bytes that are no
    such entity.

    Args:
        mend_text: whether to replace bytes of a text that are not UTF-8 by U+FFFD, as Java does.
    """
    walk = _Walk(memoryview(data), mend_text)
    walk.entity(entity)
    return b"".join(walk.kept), walk.at


class _Walk:
    """The state of the copy: the current offset in the data, and the pieces of the copy."""

    def __init__(self, data: memoryview, mend_text: bool) -> None:
        self.data = data
        self.mend_text = mend_text
        self.at = 0
        self.kept: list[bytes | memoryview] = []

    def entity(self, entity: type) -> None:
        flexible: bool = entity.__flexible__  # type: ignore[attr-defined]
        tagged: dict[int, Field[Any]] = {}
        for field in fields(entity):
            if "tag" in field.metadata:
                tagged[field.metadata["tag"]] = field
            else:
                self.field(field, flexible)
        if flexible:
            self.tags(tagged)

    def field(self, field: Field[Any], flexible: bool) -> None:
        shape = shape_of(field)
        count = 1
        if shape.is_array:
            count = self.compact_length() if flexible else self.length(">i")
        elif shape.is_nullable and shape.entity is not None:  # KIP-893: a byte marks whether the entity is present
            count = self.data[self.at] == 1
            self.keep(1)
        for _ in range(count):
            if shape.entity is not None:
                self.entity(shape.entity)
            else:
                self.primitive(shape.kind, flexible)

    def primitive(self, kind: str, flexible: bool) -> None:
        size = SIZES.get(kind)
        if kind == "string" and self.mend_text:
            self.text(flexible)
            return
        if size is None:
            size = self.compact_length() if flexible else self.length(LENGTHS[kind])
        self.keep(size)

    def text(self, flexible: bool) -> None:
        """Copy a string, which may be null, with U+FFFD in place of bytes that are not UTF-8."""
        mark = len(self.kept)
        size = self.compact_length() if flexible else self.length(LENGTHS["string"])
        self.keep(size)
        content = bytes(self.kept[-1])
        mended = content.decode("utf-8", "replace").encode()
        if mended != content:
            self.kept[mark:] = [encode_varint(len(mended) + 1) if flexible else struct.pack(">h", len(mended)), mended]

    def tags(self, known: dict[int, Field[Any]]) -> None:
        kept: list[bytes] = []
        for _ in range(self.varint()):
            tag, size = self.varint(), self.varint()
            value, self.at = self.data[self.at : self.at + size], self.at + size
            if len(value) != size:
                raise ValueError("a tagged field ends behind the message")
            if tag in known:
                inner = _Walk(value, self.mend_text)
                inner.field(known[tag], flexible=True)
                content = b"".join(inner.kept)
                kept.append(encode_varint(tag) + encode_varint(len(content)) + content)
        self.kept += [encode_varint(len(kept)), *kept]

    def keep(self, size: int) -> None:
        piece = self.data[self.at : self.at + size]
        if len(piece) != size:
            raise ValueError("the message ends too early")
        self.kept.append(piece)
        self.at += size

    def length(self, form: str) -> int:
        """Copy a length of the non-flexible formats and return it; return 0 for null. form: the struct format of the
        length.
        """
        size = struct.calcsize(form)
        (length,) = struct.unpack_from(form, self.data, self.at)
        self.keep(size)
        return max(int(length), 0)

    def compact_length(self) -> int:
        """Copy a length of the flexible formats, whose encoding adds one, and return it; return 0 for null."""
        start = self.at
        length = self.varint()
        self.kept.append(self.data[start : self.at])
        return max(length - 1, 0)

    def varint(self) -> int:
        value, self.at = read_varint(self.data, self.at)
        return value
