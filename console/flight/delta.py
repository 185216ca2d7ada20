"""The difference of two answers to the same question: which bytes are copied from the former one, and which are new.

Answers change in few places, mostly without moving what follows; so equal runs are compared as whole slices, and after
a difference the place to go on from is looked for nearby. Not minimal: what is found badly is only longer.
"""

from __future__ import annotations

from bisect import bisect_right

_STRIDE = 256
"""Bytes of the first slices that are compared; each that is equal is followed by one twice as long."""
_LONGEST = 1 << 16
_SAME_PLACE = 6
"""Equal bytes at the same distance after which both go on together."""
_NEAR = 24
"""Bytes after a difference in which that is looked for first."""
_ANCHOR = 16
"""Bytes that are looked for where something was put in or taken out."""
_WINDOW = 4 << 10
_WIDEST = 8
"""Bytes of a number, as offsets and sizes are."""
_EFFORT = 64 << 20
"""Bytes that are searched at most for one difference; two answers that have nothing in common are given up then."""


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


def difference(old: bytes, new: bytes, former: bytes = b"") -> bytes | None:
    """What `applied` makes `new` of `old` with; None if they have too little in common to look further.

    A count of runs, then for each run how many bytes are copied, how many are new, and how far the place to copy from
    moves besides; after them all new bytes. Of up to eight bytes that take the place of as many, it is the difference
    of the two as numbers.

    former: the delta that made `old`. What it replaced is replaced as a whole again where something in it differs: the
    numbers that grow are the same ones each time, and equal runs of numbers compress to next to nothing.
    """
    runs, fresh = bytearray(), bytearray()
    count = at = place = 0  # in new, in old
    effort = _EFFORT
    starts, lengths = _replaced(former)
    while at < len(new):
        same = _equal(old, place, new, at)
        at, place = at + same, place + same
        inserted = moved = 0
        if at < len(new):
            known = bisect_right(starts, place) - 1
            back = place - starts[known] if known >= 0 else same + 1
            if back <= same and back < lengths[known] and _goes_on(old, place - back, new, at - back, lengths[known]):
                inserted, same, at, place = lengths[known], same - back, at - back, place - back
            else:
                inserted, moved, effort = _resync(old, place, new, at, effort)
            if effort < 0 and len(fresh) + inserted > len(new) // 2:
                return None
        put_number(runs, same)
        put_number(runs, inserted)
        put_signed(runs, moved)
        if _is_number(inserted, moved, place, len(old)):
            grown = int.from_bytes(new[at : at + inserted]) - int.from_bytes(old[place : place + inserted])
            fresh += (grown % (1 << 8 * inserted)).to_bytes(inserted)
        else:
            fresh += new[at : at + inserted]
        at, place = at + inserted, place + inserted + moved
        count += 1
    made = bytearray()
    put_number(made, count)
    return bytes(made + runs + fresh)


def applied(old: bytes, delta: bytes, limit: int) -> bytes:
    """The answer that `delta` makes of `old`, at most `limit` bytes. Raises DamagedDelta."""
    try:
        count, at = number_at(delta, 0)
        runs: list[tuple[int, int, int, int]] = []
        total = place = 0
        for _ in range(count):
            same, at = number_at(delta, at)
            inserted, at = number_at(delta, at)
            moved, at = signed_at(delta, at)
            if place < 0 or (same and place + same > len(old)):
                raise DamagedDelta("it copies what is not there")
            runs.append((place, same, inserted, moved))
            place += same + inserted + moved
            total += same + inserted
            if total > limit:
                raise DamagedDelta(f"it makes more than {limit:,} bytes")
    except (IndexError, ValueError) as error:
        raise DamagedDelta(str(error)) from error
    made: list[bytes] = []
    for start, same, inserted, moved in runs:
        end = start + same
        made.append(old[start:end])
        fresh = delta[at : at + inserted]
        if _is_number(inserted, moved, end, len(old)):
            number = int.from_bytes(old[end : end + inserted]) + int.from_bytes(fresh)
            fresh = (number % (1 << 8 * inserted)).to_bytes(inserted)
        made.append(fresh)
        at += inserted
    if at != len(delta):
        raise DamagedDelta("its new bytes have another length than announced")
    return b"".join(made)


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


def _replaced(delta: bytes) -> tuple[list[int], list[int]]:
    """Where a delta replaced bytes by as many others, in what it made, and how many."""
    starts: list[int] = []
    lengths: list[int] = []
    if delta:
        count, at = number_at(delta, 0)
        made = 0
        for _ in range(count):
            same, at = number_at(delta, at)
            inserted, at = number_at(delta, at)
            moved, at = signed_at(delta, at)
            if inserted and not moved:
                starts.append(made + same)
                lengths.append(inserted)
            made += same + inserted
    return starts, lengths


def _is_number(inserted: int, moved: int, place: int, size: int) -> bool:
    """Whether new bytes are kept as the difference to those whose place they take."""
    return 0 < inserted <= _WIDEST and not moved and place + inserted <= size


def _goes_on(old: bytes, place: int, new: bytes, at: int, step: int) -> bool:
    """Whether both go on alike after so many bytes."""
    tail = new[at + step : at + step + _SAME_PLACE]
    return len(tail) == _SAME_PLACE and tail == old[place + step : place + step + _SAME_PLACE]


def _resync(old: bytes, place: int, new: bytes, at: int, effort: int) -> tuple[int, int, int]:
    """After a difference: how many bytes are new, how far the place to copy from moves besides, and the effort left."""
    for step in range(1, _NEAR):
        if at + step >= len(new):
            break
        if _goes_on(old, place, new, at, step):
            return step, 0, effort
    step = 0
    while at + step + _ANCHOR <= len(new) and effort >= 0:
        anchor = new[at + step : at + step + _ANCHOR]
        found = old.find(anchor, place, place + _WINDOW + step)
        effort -= _WINDOW + step
        if found < 0 and step & (step - 1) == 0:  # now and then everywhere
            found = old.find(anchor)
            effort -= len(old)
        if found >= 0:
            return step, found - place - step, effort
        step += 1 if step < _WINDOW else _ANCHOR
    return len(new) - at, 0, effort
