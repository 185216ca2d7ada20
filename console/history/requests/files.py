"""Files of request logs as blocks of whole lines: plain or gzip, at a local path or a URI that PyArrow knows."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, cast

from pyarrow import fs

BLOCK_BYTES = 2 << 20
LONGEST_LINE = 64 << 20
"""Of a request with tens of thousands of partitions some megabytes; what is longer is no log."""
_SCHEMES = {"s3a": "s3", "s3n": "s3", "abfss": "abfs", "wasbs": "abfs"}
"""Hadoop's names of what PyArrow calls otherwise."""


def is_packed(path: str) -> bool:
    """Whether it is read through gzip."""
    return path.endswith(".gz")


def name_of(path: str) -> str:
    """A file's name alone."""
    return path.replace("\\", "/").rstrip("/").rpartition("/")[2]


@contextmanager
def opened(path: str) -> Iterator[IO[bytes]]:
    """The file's bytes as they were written, unpacked. Raises, while it is read too, OSError, EOFError (gzip, cut); the
    path is in the text."""
    with _raw(path) as raw:
        if not is_packed(path):
            yield raw
            return
        try:
            with gzip.GzipFile(fileobj=raw) as unpacked:
                yield cast(IO[bytes], unpacked)
        except EOFError as cut:
            raise EOFError(f"{path}: {cut}") from cut
        except (gzip.BadGzipFile, zlib.error) as wrong:
            raise OSError(f"{path}: damaged, or not gzip: {wrong}") from wrong


def size_of(path: str) -> int:
    """Bytes of the file as it lies there, packed or not. Raises OSError."""
    system, inner = _system(path)
    info = system.get_file_info(inner)
    if not info.is_file:
        raise FileNotFoundError(f"{path}: no such file")
    return int(info.size)


def whole_end(path: str) -> int:
    """Where the last whole line ends, in bytes as they were written. Of gzip all is read; a last line without an end
    counts there, since nobody will write on. Raises OSError, EOFError (gzip, cut)."""
    if is_packed(path):
        with opened(path) as file:
            return sum(len(read) for read in iter(lambda: file.read(BLOCK_BYTES), b""))
    end = size_of(path)
    with opened(path) as file:
        while end:
            start = max(0, end - BLOCK_BYTES)
            file.seek(start)
            if found := file.read(end - start).rfind(b"\n") + 1:
                return start + found
            end = start
    return 0


def blocks(path: str, start: int, end: int) -> Iterator[tuple[int, bytes]]:
    """(byte, whole lines that begin there): all lines whose first byte is in start … end - 1, in their order. Raises
    OSError, EOFError (gzip, cut)."""
    with opened(path) as file:
        at = 0
        if start:
            # A range may begin inside a line, which then is the one before's.
            file.seek(start - 1)
            at = start - 1 + len(file.readline())
        rest = b""
        while at < end:
            read = file.read(BLOCK_BYTES)
            text = rest + read if rest else read
            if not text:
                return
            cut = text.rfind(b"\n") + 1 if read else len(text)
            if at + cut > end:
                # The line that holds the last byte is the last; with it ends what is read.
                cut = text.find(b"\n", end - at - 1) + 1 or cut
            rest = text[cut:]
            if len(rest) > LONGEST_LINE:
                raise OSError(f"{path}: no end of a line in {LONGEST_LINE >> 20} MiB from byte {at + cut} on: no log")
            if cut:
                yield at, text[:cut]
                at += cut


@contextmanager
def _raw(path: str) -> Iterator[IO[bytes]]:
    system, inner = _system(path)
    if isinstance(system, fs.LocalFileSystem):
        with open(inner, "rb", buffering=0) as raw:  # noqa: PTH123 - a name of PyArrow's, not a Path
            yield cast(IO[bytes], raw)
    else:
        with system.open_input_file(inner) as remote:
            yield cast(IO[bytes], remote)


def _system(path: str) -> tuple[Any, str]:
    scheme, separator, rest = path.partition("://")
    if not separator:
        return fs.LocalFileSystem(), path
    found: tuple[Any, str] = fs.FileSystem.from_uri(f"{_SCHEMES.get(scheme, scheme)}://{rest}")
    return found
