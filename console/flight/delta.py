"""The difference of two answers to the same question: which bytes are copied from the former one, and which are new.

Answers change in few places, mostly without moving what follows; so equal runs are compared as whole slices, and after
a difference the place to go on from is looked for nearby. Not minimal: what is found badly is only longer.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

_STRIDE = 256
"""Bytes of the first slices that are compared; each that is equal is followed by one twice as long."""
_LONGEST = 1 << 16
_NEAR = 24
"""Bytes after a difference in which that is looked for first."""
_ANCHOR = 16
"""Bytes that are looked for where something was put in or taken out."""
_WINDOW = 4 << 10
_WIDEST = 8
"""Bytes of a number, as offsets and sizes are."""
_CARRIED = 2
"""Bytes before those of a number that differ, which will once it carries over."""
MOST_RUNS = 1 << 20
"""Runs of an answer; one that takes more is kept whole."""
_FEW = 4
"""The former runs are taken again where at least one in so many replaces something."""


class _How(NamedTuple):
    """How the place to go on from is looked for. alike: equal bytes at the same distance after which both go on
    together. effort: bytes that are searched at most; answers that have nothing in common are given up then."""

    alike: int
    effort: int


_OWN, _FAR = _How(6, 64 << 20), _How(40, 64 << 20)


class DamagedDelta(ValueError):
    """A delta does not fit what it is applied to."""


def put_number(into: bytearray, number: int) -> None:
    """Append a number ≥ 0, seven bits a byte, the low ones first (as LEB128)."""
    while number > 0x7F:
        into.append(number & 0x7F | 0x80)
        number >>= 7
    into.append(number)


def put_signed(into: bytearray, number: int) -> None:
    """Append a number of either sign, small ones short (as zigzag)."""
    put_number(into, number << 1 if number >= 0 else (-number << 1) - 1)


def number_at(data: bytes, at: int) -> tuple[int, int]:
    """The number there, and where it ends. Raises IndexError, and ValueError for more than ten bytes."""
    number = shift = 0
    while True:
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, at
        shift += 7
        if shift > 63:
            raise ValueError("a number of more than ten bytes")


def signed_at(data: bytes, at: int) -> tuple[int, int]:
    """The number of either sign there, and where it ends. Raises as `number_at`."""
    number, at = number_at(data, at)
    return (number >> 1) ^ -(number & 1), at


class Runs(NamedTuple):
    """How an answer is made of a former one: for each run how many bytes are copied, how many are new, and how far the
    place to copy from moves besides. coded: the same as bytes."""

    each: tuple[tuple[int, int, int], ...]
    coded: bytes


class Changes(NamedTuple):
    """What an answer has in place of a former one's. numbers: of runs of up to eight bytes that take the place of as
    many, the differences as signed numbers; fresh: all other new bytes."""

    runs: Runs
    numbers: list[int]
    fresh: bytes


def difference(old: bytes, new: bytes, former: Runs | None = None, *, is_far: bool = False) -> Changes | None:
    """What `applied` makes `new` of `old` with; None if they have too little in common to look further.

    former: the runs that made `old`. What it replaced is replaced as a whole again where something in it differs: the
    numbers that grow are mostly the same ones each time. If nothing differs anywhere else, its runs are taken again.
    is_far: whether old bytes are of other answers, of which parts are looked for.
    """
    runs = _again(old, new, former) if former is not None else None
    if runs is None:
        each = _runs(old, new, former, _FAR if is_far else _OWN)
        if each is None:
            return None
        runs = Runs(each, runs_coded(each))
    numbers: list[int] = []
    fresh: list[bytes] = []
    at = place = 0
    for same, inserted, moved in runs.each:
        at, place = at + same, place + same
        if is_number(inserted, moved, place, len(old)):
            grown = int.from_bytes(new[at : at + inserted]) - int.from_bytes(old[place : place + inserted])
            half = 1 << 8 * inserted - 1
            numbers.append((grown + half) % (2 * half) - half)
        elif inserted:
            fresh.append(new[at : at + inserted])
        at, place = at + inserted, place + inserted + moved
    return Changes(runs, numbers, b"".join(fresh))


def applied(old: bytes, runs: Runs, numbers: Sequence[int], fresh: bytes, limit: int) -> bytes:
    """The answer that changes make of `old`, at most `limit` bytes. Raises DamagedDelta."""
    if sum(same + inserted for same, inserted, _ in runs.each) > limit:
        raise DamagedDelta(f"it makes more than {limit:,} bytes")
    made: list[bytes] = []
    at = place = count = 0
    for same, inserted, moved in runs.each:
        end = place + same
        if place < 0 or (same and end > len(old)):
            raise DamagedDelta("it copies what is not there")
        made.append(old[place:end])
        if is_number(inserted, moved, end, len(old)):
            if count == len(numbers):
                raise DamagedDelta("it has too few numbers")
            number = int.from_bytes(old[end : end + inserted]) + numbers[count]
            made.append((number % (1 << 8 * inserted)).to_bytes(inserted))
            count += 1
        elif inserted:
            made.append(fresh[at : at + inserted])
            at += inserted
        place = end + inserted + moved
    if at != len(fresh) or count != len(numbers):
        raise DamagedDelta("its new bytes have another length than announced")
    return b"".join(made)


def runs_coded(runs: Sequence[tuple[int, int, int]]) -> bytes:
    """Runs as bytes: a count, then what is copied, what is new, and where it goes on, each for all."""
    made = bytearray()
    put_number(made, len(runs))
    for same, _, _ in runs:
        put_number(made, same)
    for _, inserted, _ in runs:
        put_number(made, inserted)
    for _, _, moved in runs:
        put_signed(made, moved)
    return bytes(made)


def runs_of(coded: bytes) -> Runs:
    """The runs that were coded. Raises DamagedDelta."""
    try:
        count, at = number_at(coded, 0)
        if count > min(len(coded), MOST_RUNS):
            raise DamagedDelta("it has more runs than bytes, or than any is written with")
        columns: list[list[int]] = []
        for read in (number_at, number_at, signed_at):
            column = []
            for _ in range(count):
                number, at = read(coded, at)
                column.append(number)
            columns.append(column)
    except (IndexError, ValueError) as error:
        raise DamagedDelta(str(error)) from error
    return Runs(tuple(zip(*columns, strict=True)), coded)


def _again(old: bytes, new: bytes, former: Runs) -> Runs | None:
    """The former runs, if nothing differs but what they replaced, and that not too little of it."""
    if len(old) != len(new):
        return None
    at = changed = count = 0
    for same, inserted, moved in former.each:
        if moved or old[at : at + same] != new[at : at + same]:
            return None
        at += same
        changed += old[at : at + inserted] != new[at : at + inserted]
        count += bool(inserted)
        at += inserted
    return former if at == len(new) and changed * _FEW >= count else None


def _runs(old: bytes, new: bytes, former: Runs | None, how: _How) -> tuple[tuple[int, int, int], ...] | None:
    runs: list[tuple[int, int, int]] = []
    at = place = fresh = 0  # in new, in old
    effort = how.effort
    starts, lengths = _replaced(former)
    while at < len(new):
        same = _equal(old, place, new, at)
        at, place = at + same, place + same
        inserted = moved = 0
        if at < len(new):
            known = bisect_right(starts, place) - 1
            back = place - starts[known] if known >= 0 else same + 1
            if (
                back <= same
                and back < lengths[known]
                and _goes_on(old, place - back, new, at - back, lengths[known], how.alike)
            ):
                inserted, same, at, place = lengths[known], same - back, at - back, place - back
            else:
                inserted, moved, effort = _resync(old, place, new, at, effort, how.alike)
            if 0 < inserted < _WIDEST and not moved:  # a number: what it carries over belongs to it, now or later
                wider = min(_CARRIED, _WIDEST - inserted, same)
                inserted, same, at, place = inserted + wider, same - wider, at - wider, place - wider
            fresh += inserted
            if effort < 0 and fresh > len(new) // 2:
                return None
        runs.append((same, inserted, moved))
        at, place = at + inserted, place + inserted + moved
    return tuple(runs)


def _equal(old: bytes, place: int, new: bytes, at: int) -> int:
    """How many bytes are equal from there on."""
    begin, stride = at, _STRIDE
    longest = min(len(old) - place, len(new) - at)
    if longest <= 0:
        return 0
    shift, end = place - at, at + longest
    while at < end:
        stop = min(at + stride, end)
        if old[at + shift : stop + shift] != new[at:stop]:
            break
        at, stride = stop, min(2 * stride, _LONGEST)
    else:
        return at - begin
    low, high = at, min(at + stride, end)  # equal before low, different somewhere before high
    while high - low > 1:
        middle = (low + high) // 2
        if old[low + shift : middle + shift] == new[low:middle]:
            low = middle
        else:
            high = middle
    return low - begin


def _replaced(former: Runs | None) -> tuple[list[int], list[int]]:
    """Where runs replaced bytes by as many others, in what they made, and how many."""
    starts: list[int] = []
    lengths: list[int] = []
    made = 0
    for same, inserted, moved in former.each if former is not None else ():
        if inserted and not moved:
            starts.append(made + same)
            lengths.append(inserted)
        made += same + inserted
    return starts, lengths


def is_number(inserted: int, moved: int, place: int, size: int) -> bool:
    """Whether new bytes are kept as the difference to those whose place they take."""
    return 0 < inserted <= _WIDEST and not moved and place + inserted <= size


def _goes_on(old: bytes, place: int, new: bytes, at: int, step: int, alike: int) -> bool:
    """Whether both go on alike, for so many bytes, after a step."""
    tail = new[at + step : at + step + alike]
    return len(tail) == alike and tail == old[place + step : place + step + alike]


def _resync(old: bytes, place: int, new: bytes, at: int, effort: int, alike: int) -> tuple[int, int, int]:
    """After a difference: how many bytes are new, how far the place to copy from moves besides, and the effort left."""
    for step in range(1, _NEAR):
        if at + step >= len(new):
            break
        if _goes_on(old, place, new, at, step, alike):
            return step, 0, effort
    step = 0
    while at + step + _ANCHOR <= len(new) and effort >= 0:
        anchor = new[at + step : at + step + _ANCHOR]
        found = old.find(anchor, place, place + _WINDOW + step)
        effort -= _WINDOW + step
        if found < 0 and step & (step - 1) == 0:  # now and then everywhere, further on first
            found = old.find(anchor, place)
            effort -= (found if found >= 0 else len(old)) - place
            if found < 0:
                found = old.find(anchor, 0, place)
                effort -= found if found >= 0 else place
        if found >= 0:
            return step, found - place - step, effort
        step += 1 if step < _WINDOW else _ANCHOR
    return len(new) - at, 0, effort
