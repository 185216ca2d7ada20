"""The writer of a flight record into a file. It commits a transaction about each second, so that the file stays
readable if the process is killed.
"""

from __future__ import annotations

import os
import sqlite3
import stat
from contextlib import suppress
from pathlib import Path

from console.flight.answer import Header
from console.flight.flight_reader import FlightReader
from console.flight.record_file import MOST_FILE
from console.flight.store import Store, as_os_errors, create
from console.safe_files import UntrustedPath, open_private, resolved

SIDE_FILES = ("-wal", "-shm", "-journal")
"""Suffixes of the files that SQLite keeps next to a database while it writes."""
_CHECKPOINT = 64
"""Number of pages in the write-ahead log next to the record after which SQLite moves them into the record: 256 KiB."""
_BUSY_SECONDS = 10.0


class FlightWriter(Store):
    """An open record file, readable by its owner only. Committed answers survive a kill of the process; a power loss
    may lose those of the last seconds. Not thread-safe.

    size: the size in bytes that the file will have when it is closed. It may be read from any thread.
    """

    def __init__(self, path: Path, header: Header, append: bool = False) -> None:
        """Create a record file, or begin a new part of an existing one.

        Args:
            path: the path of the file, whose folder must exist.
            header: the header of the new part.
            append: whether to begin a new part if the file exists.

        Raises:
            FileExistsError: the file exists, and `append` is False.
            UntrustedPath: the file, a link to it, or a file of SQLite's next to it belongs to another user.
            RecordError: the existing file is not a flight record, or is damaged.
            OSError: the file can't be opened or written.
        """
        self.size = 0
        file = open_private(path, os.O_RDWR | (0 if append else os.O_EXCL), in_own_folder=False)
        is_new = not os.fstat(file).st_size
        os.close(file)  # before SQLite opens the file: closing any descriptor of a file frees the process's locks
        target = resolved(path)
        _require_own_side_files(target)
        if not is_new:
            FlightReader(path).require_whole()
        with as_os_errors():
            database = sqlite3.connect(target, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        try:
            if is_new:
                with as_os_errors():
                    database.execute("PRAGMA synchronous = OFF")  # nothing can be lost yet
                create(database)
            with as_os_errors():
                # Commits are appended to a file next to the record: a killed process leaves both files whole, and a
                # reader blocks no commit.
                database.execute("PRAGMA journal_mode = WAL")
                database.execute("PRAGMA synchronous = NORMAL")
                database.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT}")
                (size,) = database.execute("PRAGMA page_size").fetchone()
                database.execute(f"PRAGMA max_page_count = {MOST_FILE // size}")  # the reader's own limit
            super().__init__(database, header)
        except BaseException:
            database.close()
            raise

    def flush(self) -> None:
        """Commit the answers that are not committed yet. Raises OSError."""
        super().flush()
        self.size, _ = self.sizes()

    def close(self) -> None:
        """Commit the remaining answers, sync the file to the disk, and close it.

        Raises:
            OSError: the file can't be written or synced; it is closed nevertheless.
        """
        try:
            self.flush()
            with suppress(sqlite3.OperationalError):  # if others have the file open, the last of them merges the log
                self.database.execute("PRAGMA journal_mode = DELETE")
        finally:
            self.database.close()


def _require_own_side_files(path: Path) -> None:
    """Raise UntrustedPath if a file of SQLite's next to the record belongs to another user. SQLite would read it as
    part of the record.
    """
    for each in SIDE_FILES:
        side = path.with_name(path.name + each)
        with suppress(FileNotFoundError):
            found = side.lstat()
            if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
                raise UntrustedPath(side, "it is no regular file of this user")
