"""Whether a resource's configs are as a change wanted them, seen from what a broker describes. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from console.model.changes import ConfigOp, Status
from console.model.codes import APPEND, BROKER_LOGGER, DELETE, SET, ConfigType
from console.model.config import ConfigEntry, ConfigResource, ConfigSet, own_value
from console.model.secret import Secret


def configs_verdict(resource: ConfigResource, ops: Iterable[ConfigOp], known: ConfigSet | None) -> Status:
    """All keys of a resource are applied or none, so one that can be seen speaks for those that can't (a secret).

    A plan holds no edit that changes nothing, so a value that is as wanted was not so before. Where some are and others
    are not, somebody else has been there: UNKNOWN.
    """
    if known is None:
        return Status.UNKNOWN
    seen = {op_verdict(resource, op, known.get(op.key)) for op in ops} - {Status.UNKNOWN}
    return seen.pop() if len(seen) == 1 else Status.UNKNOWN


def op_verdict(resource: ConfigResource, op: ConfigOp, entry: ConfigEntry | None) -> Status:
    """The same for one key. entry: how it is described now, None where it is not listed."""
    own = own_value(entry, resource)
    if op.op == DELETE:
        if resource.type == BROKER_LOGGER:  # every logger is described as if it were set
            return Status.UNKNOWN
        return _applied(own is None)
    if entry is None or own is None:
        return Status.NOT_APPLIED
    if own.value is None:
        return Status.UNKNOWN
    wanted = op.value.reveal() if isinstance(op.value, Secret) else op.value or ""
    if op.op == SET:
        return _applied(same_value(entry.type, wanted, own.value, ignore_case=resource.type == BROKER_LOGGER))
    now, items = set(listed(own.value)), set(listed(wanted))
    return _applied(items <= now if op.op == APPEND else not items & now)


def same_value(type_: ConfigType, one: str, other: str, *, ignore_case: bool = False) -> bool:
    """Whether two texts are the same value of this type: brokers describe what they parsed, ``1`` for ``01``."""
    if one == other or (ignore_case and one.lower() == other.lower()):
        return True
    parse = _PARSERS.get(type_.name)
    if parse is None:
        return one.strip() == other.strip()
    try:
        return parse(one) == parse(other)
    except ValueError:
        return False


def listed(value: str | None) -> list[str]:
    """The items of a LIST value; none where it is empty or absent."""
    return [item.strip() for item in value.split(",")] if value else []


def _casefolded(text: str) -> str:
    return text.strip().lower()


_PARSERS: Mapping[str, Callable[[str], object]] = {
    "BOOLEAN": _casefolded,
    "INT": int,
    "SHORT": int,
    "LONG": int,
    "DOUBLE": float,
    "LIST": listed,
}


def _applied(is_so: bool) -> Status:
    return Status.APPLIED if is_so else Status.NOT_APPLIED
