"""A flight record in memory of about the last half hour. It deletes older answers, but keeps the last answer to each
question.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from console.flight.answer import Answer, Asked, Header
from console.flight.record_file import MOST_REPEATS, Changed, Repeats, crc_of, unsqueezed
from console.flight.store import Known, Store, as_os_errors, create, key_of
from console.model.foreign_json import json_as
from console.safe_files import PRIVATE, write_whole

KEPT_MS = 30 * 60_000
MOST_BYTES = 20 << 20
"""Maximum size in bytes of the database. Together with the decompressed answers and the queue before the database it
stays below 64 MiB.
"""
MOST_HELD = 28 << 20
"""Maximum size in bytes of the answers that are kept decompressed. In a cluster with 40,000 partitions, answers of 6 MB
change at each poll.
"""
PART_MS = 5 * 60_000
"""Milliseconds between deletions of the oldest answers: the record may cover this much more than half an hour. Also the
milliseconds for which answers to a question are not stored after one was too large.
"""

_FULL = MOST_BYTES * 3 // 4
"""The size in bytes below which a deletion reduces the database after it exceeded `MOST_BYTES`."""
_DELETE_OLDER = (
    "DELETE FROM answers WHERE at_ms < ? AND id NOT IN (SELECT max(id) FROM answers WHERE at_ms < ? GROUP BY question)"
)
_DELETE_UNUSED = (
    "DELETE FROM questions WHERE id NOT IN (SELECT question FROM answers)",
    "DELETE FROM payloads WHERE id NOT IN (WITH RECURSIVE used(id) AS (SELECT payload FROM answers UNION"
    " SELECT request FROM questions UNION SELECT base FROM payloads JOIN used USING (id)) SELECT id FROM used"
    " WHERE id IS NOT NULL)",
)
_SIZES = (
    "WITH RECURSIVE used(question, id) AS (SELECT question, payload FROM answers"
    " UNION SELECT id, request FROM questions UNION SELECT question, base FROM payloads JOIN used USING (id))"
    " SELECT question, sum(length(zstd)) FROM used JOIN payloads USING (id) GROUP BY question"
)


class Memory(Store):
    """A flight record of the last half hour (`KEPT_MS`), in at most 64 MiB of memory. Not thread-safe."""

    def __init__(self, header: Header) -> None:
        """Create an empty record. header: the header of the files that `write` creates; `write` sets its times."""
        database = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        create(database)
        super().__init__(database, header, MOST_HELD)
        self.began_ms: int | None = None
        """The time in milliseconds from which on all answers are kept; None before the first answer."""
        self.left_off = 0
        """The number of answers that were dropped because even the last answer to each question takes more than
        `MOST_BYTES`."""
        self._too_large: dict[Asked, int] = {}

    @property
    def size(self) -> int:
        """The bytes of the database that are in use."""
        whole, free = self.sizes()
        return whole - free

    def add(self, answer: Answer) -> None:
        """Add an answer; then delete the oldest ones, if they are older than KEPT_MS or the database exceeds
        MOST_BYTES. An answer to a question whose answers are too large is only counted in `left_off`. Raises
        OSError.
        """
        if self._too_large and self._is_left_off(answer):
            return
        if self.began_ms is None:
            self.began_ms = answer.at_ms
        written = self.database.total_changes
        super().add(answer)
        if answer.at_ms - self.began_ms >= KEPT_MS + PART_MS:
            self.flush()
            self._delete_before(answer.at_ms - KEPT_MS)
        # Most answers repeat the previous one and write nothing, so check the size only after a write.
        if self.database.total_changes > written and self.size > MOST_BYTES:
            self.flush()
            self._make_room(answer.at_ms)

    def close(self) -> None:
        """Free the memory. No other method may be called afterwards."""
        self.database.close()

    def write(self, path: Path, cluster_id: str, kac: str = "") -> int:
        """Write all kept answers to a file of mode 0600, either completely or not at all.

        Args:
            path: the path of the file, which is replaced if it exists.
            cluster_id: the cluster's id, for the header.
            kac: the version of kac, for the header; ``""`` if unknown.

        Returns:
            The size of the file in bytes.

        Raises:
            OSError: the file can't be written.
        """
        import tempfile

        self.flush()
        # SQLite writes a file in steps and makes it readable by other users, so create it in a private folder first.
        with tempfile.TemporaryDirectory(prefix="kac-record-") as folder, as_os_errors():
            whole = Path(folder) / "record"
            said = cluster_id, kac, self.began_ms or 0, self.left_off
            self.database.execute("UPDATE parts SET cluster_id = ?, kac = ?, began_ms = ?, left_off = ?", said)
            self.database.execute("VACUUM INTO ?", (str(whole),))
            data = whole.read_bytes()
        write_whole(path, data, PRIVATE)
        return len(data)

    # -- deletion ------------------------------------------------------------------------------------------------------

    def _delete_before(self, at_ms: int) -> None:
        """Delete the answers before a time (ms since 1970), but keep the last answer to each question, which is the
        state at that time. A row of ``repeats`` that ends at or after the time is not split: it stays, with all
        answers since its beginning.
        """
        database = self.database
        with as_os_errors():
            straddling = "SELECT min(at_ms) FROM repeats WHERE at_ms < ? AND last_ms >= ?"
            (begins_ms,) = database.execute(straddling, (at_ms, at_ms)).fetchone()
            at_ms = at_ms if begins_ms is None else begins_ms
            # When repeats are deleted, the answer that is kept for a question gets the time of its last repeat.
            last = self._last_repeats(at_ms)
            database.execute("BEGIN")
            database.execute("DELETE FROM repeats WHERE last_ms < ?", (at_ms,))
            database.execute(_DELETE_OLDER, (at_ms, at_ms))
            for found in database.execute("SELECT * FROM answers WHERE at_ms < ?", (at_ms,)).fetchall():
                row = Changed(*found[:-1])
                said_ms, took_ms = last.get(row.question, (0, 0))
                if said_ms > row.at_ms:
                    row = row._replace(at_ms=said_ms, took_ms=took_ms)
                    changes = row.at_ms, row.took_ms, crc_of(row), row.id
                    database.execute("UPDATE answers SET at_ms = ?, took_ms = ?, crc = ? WHERE id = ?", changes)
            self._delete_unused()
            database.execute("COMMIT")
        self.began_ms = at_ms

    def _last_repeats(self, before_ms: int) -> dict[int, tuple[int, int]]:
        """Return question id -> (arrival in ms since 1970, milliseconds that the answer took) of the question's last
        answer in the rows of ``repeats`` that end before this time.
        """
        last: dict[int, tuple[int, int]] = {}
        found = self.database.execute("SELECT at_ms, zstd FROM repeats WHERE last_ms < ? ORDER BY id", (before_ms,))
        for at_ms, cell in found:
            said = json_as(unsqueezed(cell, most=MOST_REPEATS), Repeats)
            for question, after, took in zip(said.questions, said.after, said.took, strict=True):
                at_ms += after
                last[question] = at_ms, took
        return last

    def _delete_unused(self) -> None:
        for statement in _DELETE_UNUSED:
            self.database.execute(statement)
        self.forget_missing()

    def _make_room(self, now_ms: int) -> None:
        """Delete the oldest answers until the database has at most `_FULL` bytes. If one answer for each question is
        still too much, delete the largest of these, first those to questions that the client no longer asks. If
        the question of a deleted answer is still asked, store no answer to it for the next five minutes
        (`PART_MS`).
        """
        began = self.began_ms or now_ms
        # Delete the older half first, then more: if the cluster became busy, most bytes are from the last minutes.
        for part in (2, 4, 8, 16):
            self._delete_before(now_ms - (now_ms - began) // part)
            if self.size <= _FULL:
                return
        self._delete_before(now_ms + 1)
        self._too_large = {asked: at for asked, at in self._too_large.items() if now_ms - at < PART_MS}
        # Only one answer to each question is left, and the database is still too large.
        by_id = {known.id: (asked, known) for asked, known in self.known.items()}
        sizes = dict(self.database.execute(_SIZES).fetchall())
        order = sorted(sizes, key=lambda each: (_is_asked(by_id.get(each), now_ms), -sizes[each]), reverse=True)
        # A payload is deleted only with the last answer that is based on it, so compute the size again after each
        # round.
        while order and (excess := self.size - _FULL) > 0:
            while order and excess > 0:
                number = order.pop()
                excess -= sizes[number]
                with as_os_errors():
                    gone = self.database.execute("DELETE FROM answers WHERE question = ?", (number,)).rowcount
                if _is_asked(by_id.get(number), now_ms):
                    self.left_off += gone
                    self._too_large[by_id[number][0]] = now_ms
            with as_os_errors():
                self._delete_unused()

    def _is_left_off(self, answer: Answer) -> bool:
        """Return whether an answer must not be stored, because an answer to the same question was deleted as too large
        within the last five minutes (`PART_MS`). If so, count it in `left_off`.
        """
        asked = key_of(answer.asked)
        since = self._too_large.get(asked)
        if since is None:
            return False
        if answer.at_ms - since >= PART_MS:
            del self._too_large[asked]  # the answer may be smaller now
            return False
        self.left_off += 1
        return True


def _is_asked(known: tuple[Asked, Known] | None, now_ms: int) -> bool:
    return known is not None and known[1].at_ms >= now_ms - KEPT_MS
