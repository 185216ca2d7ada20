"""Files of offsets, read and written as Kafka's tool does: CSV without a header, ``topic,partition,offset`` or
``group,topic,partition,offset`` (ConsumerGroupCommand, CsvUtils).
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

from msgspec.structs import replace

from console.language.arguments import NUMBER_MAX, whole_number
from console.language.errors import CommandError
from console.language.statements import OffsetRow
from console.language.tokenizer import Span
from console.language.verbs.reset import ResetOffsets
from console.model.java_logs import without_log_lines
from console.plan.edits import CommitOffset
from console.present.text import clean

LIMIT = 8 << 20
"""Maximum size of a file in bytes."""
ROWS = 100_000


def with_rows(statement: ResetOffsets) -> ResetOffsets:
    """Return a statement together with the offsets in the file that it names; unchanged if it names none. Raises
    CommandError: the file can't be read or parsed.
    """
    if statement.to.how != "file":
        return statement
    text = read_text(statement.to.path, statement.to.span)
    rows = offset_rows(text, statement.group.text or "", statement.to.span)
    return replace(statement, to=replace(statement.to, rows=rows))


def read_text(path: str, span: Span | None = None, what: str = "the offsets") -> str:
    """Return the text of a file. Raises CommandError: it can't be read or has more than `LIMIT` bytes.

    Args:
        span: the place of the path in the script, for the error; None if the path is not from a script.
        what: the noun for its contents, for messages.
    """
    shown = f"'{clean(path, 200)}'"
    try:
        with Path(path).expanduser().open("rb") as file:
            content = file.read(LIMIT + 1)
        # Remove a byte order mark, which spreadsheets write: it would become part of the first topic's name.
        text = content.decode("utf-8-sig")
    except (OSError, ValueError, RuntimeError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else "it is no text in UTF-8"
        raise CommandError(f"{what} in {shown} can't be read: {why}", "", span) from None
    if len(content) > LIMIT:
        raise CommandError(f"{shown} is too long: more than {LIMIT:,} bytes", "", span)
    return without_log_lines(text)


def offset_rows(text: str, group: str, span: Span | None = None) -> tuple[OffsetRow, ...]:
    """Return the offsets of a group in the text of a file; rows of other groups are skipped. Raises CommandError: a row
    is invalid; the message has its line number.
    """
    found: dict[tuple[str, int], OffsetRow] = {}
    others: set[str] = set()
    reader = csv.reader(text.splitlines())
    try:
        # Read one row more than allowed, which shows that the file is too long.
        for cells in islice(reader, ROWS + 1):
            if not cells:
                continue
            row, owner = _row(cells, reader.line_num, span)
            # Skip rows of other groups: a file of several groups is read once for each.
            if owner is not None and owner != group:
                others.add(owner)
                continue
            # Refuse a second offset for a partition: either of the two could lose or repeat records.
            if (row.topic, row.partition) in found:
                raise CommandError(_at(reader.line_num, f"{row.topic}/{row.partition} stands there twice"), "", span)
            found[row.topic, row.partition] = row
    except csv.Error as error:
        raise CommandError(_at(reader.line_num, f"no CSV: {error}"), "", span) from None
    if reader.line_num > ROWS:
        raise CommandError(f"the file has more than {ROWS:,} lines", "Split it.", span)
    if not found:
        names = _some(others)
        raise CommandError(f"the file has no offset of group '{clean(group, 80)}'", names and f"it has {names}", span)
    return tuple(found.values())


def offset_lines(commits: Iterable[CommitOffset], *, with_group: bool) -> list[str]:
    """Return the lines of a file of offsets that `offset_rows` can parse. with_group: whether the first column is the
    group.
    """
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(
        [*([each.group] if with_group else []), each.topic, each.partition, each.offset] for each in commits
    )
    return out.getvalue().split("\n")[:-1]


def _row(cells: list[str], line: int, span: Span | None) -> tuple[OffsetRow, str | None]:
    if len(cells) not in (3, 4):
        form = "topic,partition,offset or group,topic,partition,offset"
        raise CommandError(_at(line, f"{len(cells)} columns"), f"a line is {form}", span)
    *owner, topic, number, text = (cell.strip() for cell in cells)
    partition, offset = whole_number(number), whole_number(text, 0, NUMBER_MAX)
    if not topic or partition is None or offset is None:
        wrong = number if partition is None else text
        raise CommandError(_at(line, f"'{clean(wrong, 40)}' is no number"), "no header stands above the lines", span)
    return OffsetRow(topic, partition, offset), owner[0] if owner else None


def _at(line: int, what: str) -> str:
    return f"line {line} of the file: {clean(what, 200)}"


def _some(names: Iterable[str]) -> str:
    shown = sorted(names)
    return ", ".join(clean(name, 80) for name in shown[:3]) + (f" and {len(shown) - 3} more" if len(shown) > 3 else "")
