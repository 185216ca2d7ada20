"""Faults of the embedded cluster: which requests they affect, their effects, and their text form for command lines."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from random import Random
from typing import Any

from kio.schema.errors import ErrorCode
from kio.schema.index import api_key_map
from msgspec import Struct

from console.embedded.state import ClusterState
from console.model.codes import ResourceType
from console.model.config import ConfigResource


class Fail(Struct, frozen=True):
    """Answer each item of the request with an error, without any effect on the state."""

    code: int
    """The error code, which may be one that Kafka does not define."""
    message: str | None = None


class FailSome(Struct, frozen=True):
    """Answer some items of a request with an error, and handle the others."""

    code: int
    message: str | None = None
    every: int = 2
    """Every n-th item fails, counted from 1."""
    names: frozenset[str] = frozenset()
    """The names of the items that fail; if empty, `every` decides."""


class FailFor(Struct, frozen=True):
    """Answer each item of the request with an error if one of the fault's names occurs anywhere in the request. A
    server that fails internally because of one item answers in this way.
    """

    code: int
    names: frozenset[str]
    message: str | None = None


class Delay(Struct, frozen=True):
    """Wait for some seconds before the request is handled."""

    seconds: float


class Moment(Enum):
    """When a connection is cut: before or after the request has taken effect."""

    BEFORE = "before"
    AFTER = "after"


class Cut(Struct, frozen=True):
    """Close the connection instead of sending the response."""

    moment: Moment


class HalfFrame(Struct, frozen=True):
    """Handle the request, send only the first half of the response, and close the connection."""


class Garbage(Struct, frozen=True):
    """Handle the request, but send random bytes instead of the response's body, or instead of the whole frame with its
    length.
    """

    whole_frame: bool = False


class Throttle(Struct, frozen=True):
    """Handle the request, report a throttle time in the response if the version has the field, and read no further
    request on this connection until that time is over (KIP-219).
    """

    seconds: float


class MoveController(Struct, frozen=True):
    """Make another broker the controller before the request is handled."""

    to: int | None = None
    """The id of the new controller; None for the next live broker."""


class BrokerDown(Struct, frozen=True):
    """Crash a broker before the request is handled, and restart it some seconds later. It is fenced when its session
    ends.
    """

    broker: int | None = None
    """The id of the broker; None for the broker that received the request."""
    seconds: float = 5.0


class Meanwhile(Struct, frozen=True):
    """Change the state right before the request is handled, as if another client did it."""

    change: Callable[[ClusterState], object]


Effect = (
    Fail | FailSome | FailFor | Delay | Cut | HalfFrame | Garbage | Throttle | MoveController | BrokerDown | Meanwhile
)


class Fault(Struct, frozen=True):
    """An effect, and conditions on the requests that it affects. A condition of None is always met."""

    effect: Effect
    api: str | None = None
    """kio's name of the only API that is affected; None for all."""
    broker: int | None = None
    """The id of the only broker whose requests are affected; None for all."""
    client: str | None = None
    """The only client id that is affected; None for all."""
    nth: int | None = None
    """The number, from 1, of the only request that is affected, among those that match the fault; None for all of
    these.
    """
    times: int | None = None
    """The maximum number of requests that are affected; None for no limit."""
    probability: float = 1.0
    """The probability, from 0 to 1, with which a matching request is affected."""

    def matches(self, api: str, broker: int, client: str) -> bool:
        """Return whether a request meets the conditions on API, broker and client; the numbers and the probability are
        not tested.
        """
        return self.api in (None, api) and self.broker in (None, broker) and self.client in (None, client)


@dataclass(slots=True)
class _Declared:
    fault: Fault
    seen: int = 0
    done: int = 0


@dataclass(slots=True)
class Faults:
    """The declared faults. With the same seed, the same sequence of requests has the same effects."""

    seed: int = 0
    _declared: list[_Declared] = field(default_factory=list)
    _random: Random = field(init=False)

    def __post_init__(self) -> None:
        self._random = Random(self.seed)  # noqa: S311 - must be repeatable, not secret

    def add(self, fault: Fault) -> None:
        """Declare a fault, which may affect all later requests."""
        self._declared.append(_Declared(fault))

    def remove(self, fault: Fault) -> None:
        """Remove a fault. Do nothing if it is not declared."""
        self._declared = [declared for declared in self._declared if declared.fault != fault]

    def clear(self) -> None:
        """Remove all faults."""
        self._declared.clear()

    def happened(self, fault: Fault) -> int:
        """Return the number of requests that a fault has affected."""
        return sum(declared.done for declared in self._declared if declared.fault == fault)

    def meet(self, api: str, broker: int, client: str) -> tuple[Effect, ...]:
        """Return the effects that this request gets, in the order in which their faults were declared. Count the
        request for each fault that it matches, even if `nth`, `times` or the probability prevent the effect.
        """
        if not self._declared:
            return ()
        effects: list[Effect] = []
        for declared in self._declared:
            fault = declared.fault
            if not fault.matches(api, broker, client):
                continue
            # Count the request even if another condition fails, so that `nth` counts requests instead of effects.
            declared.seen += 1
            if fault.nth not in (None, declared.seen):
                continue
            if fault.times is not None and declared.done >= fault.times:
                continue
            if fault.probability < 1.0 and self._random.random() >= fault.probability:
                continue
            declared.done += 1
            effects.append(fault.effect)
        return tuple(effects)


FAULT_HELP = """A fault has parts with commas between them: which requests it is for, and one effect.
  api=create_topics    broker=2    client=kac    nth=3    times=2    p=0.5
  error=NOT_CONTROLLER | error=87    fail-some=INVALID_CONFIG    not-controller
  delay=2s    throttle=500ms    cut=before | cut=after    half-frame    garbage | garbage=frame
  move-controller | move-controller=3    down | down=2    for=5s (with down)
  meanwhile=topic/orders/retention.ms=1000"""

_TIME = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|)")
_UNITS = {"": 1.0, "s": 1.0, "ms": 0.001, "m": 60.0}


class FaultSyntax(ValueError):
    """The text form of a fault is invalid. The exception's text says why."""


def parse_fault(text: str) -> Fault:
    """Parse the text form of a fault, which FAULT_HELP describes. Raises FaultSyntax."""
    parts: dict[str, str] = {}
    for part in text.split(","):
        name, _, value = part.strip().partition("=")
        if name in parts:
            raise FaultSyntax(f"{name} is repeated")
        if name not in _WHICH and name not in _EFFECTS and name != _FOR:
            raise FaultSyntax(f"unknown part of a fault: {name!r}.\n{FAULT_HELP}")
        parts[name] = value
    effects = [name for name in parts if name in _EFFECTS]
    if len(effects) != 1:
        raise FaultSyntax(f"a fault needs exactly one effect, this one has {len(effects)}.\n{FAULT_HELP}")
    try:
        which = {_WHICH[name][0]: _WHICH[name][1](value) for name, value in parts.items() if name in _WHICH}
        effect = _EFFECTS[effects[0]](parts[effects[0]], parts)
    except (ValueError, KeyError) as error:
        raise FaultSyntax(f"{text!r}: {error.args[0] if error.args else error}") from error
    if _FOR in parts and not isinstance(effect, BrokerDown):
        raise FaultSyntax("for= is valid with down only")
    return Fault(effect, **which)


def _api(text: str) -> str:
    """Return kio's name of an API. text: the name in any form, such as ``CreateTopics`` or ``create-topics``; a
    proposal's own API has a name such as ``kip4_alter_acls``. Raises ValueError for an unknown API.
    """
    from console.wire.proposals.table import PROPOSED

    wanted = text.replace("_", "").replace("-", "").lower()
    for name in (*api_key_map.values(), *(found.api for found in PROPOSED.values())):
        if name.replace("_", "") == wanted:
            return name
    raise ValueError(f"unknown API {text}")


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError(f"{text} is below 1")
    return number


def _probability(text: str) -> float:
    number = float(text)
    if not 0 <= number <= 1:
        raise ValueError(f"a probability of {text} is not between 0 and 1")
    return number


def _seconds(text: str) -> float:
    match = _TIME.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a time such as 500ms, 2s or 1m")
    return float(match[1]) * _UNITS[match[2]]


def _code(text: str) -> int:
    """Return the error code for Kafka's name of an error, or for the code as digits. Raises ValueError for an unknown
    name.
    """
    if re.fullmatch(r"-?\d{1,5}", text):
        return int(text)
    name = text.lower()
    for known in (name, f"{name}_exception"):
        if known in ErrorCode.__members__:
            return int(ErrorCode[known])
    raise ValueError(f"unknown error {text}")


def _meanwhile(text: str) -> Meanwhile:
    resource, _, value = text.partition("=")
    kind, name, key = ([*resource.split("/", 2), "", ""])[:3]
    if not key:
        raise ValueError(f"{text!r} is not of the form topic/orders/retention.ms=1000")
    target = ConfigResource(ResourceType.parse(kind), name)

    def change(state: ClusterState) -> int:
        return state.alter_config(target, {key: value or None})

    return Meanwhile(change)


def _down(text: str, parts: Mapping[str, str]) -> BrokerDown:
    return BrokerDown(int(text) if text else None, _seconds(parts.get(_FOR, "5s")))


_FOR = "for"
_WHICH: Mapping[str, tuple[str, Callable[[str], Any]]] = {
    "api": ("api", _api),
    "broker": ("broker", int),
    "client": ("client", str),
    "nth": ("nth", _count),
    "times": ("times", _count),
    "p": ("probability", _probability),
}
_EFFECTS: Mapping[str, Callable[[str, Mapping[str, str]], Effect]] = {
    "error": lambda text, _: Fail(_code(text)),
    "not-controller": lambda _text, _: Fail(ErrorCode.not_controller),
    "fail-some": lambda text, _: FailSome(_code(text)),
    "delay": lambda text, _: Delay(_seconds(text)),
    "throttle": lambda text, _: Throttle(_seconds(text)),
    "cut": lambda text, _: Cut(Moment(text)),
    "half-frame": lambda _text, _: HalfFrame(),
    "garbage": lambda text, _: Garbage(whole_frame=text == "frame"),
    "move-controller": lambda text, _: MoveController(int(text) if text else None),
    "down": _down,
    "meanwhile": lambda text, _: _meanwhile(text),
}
