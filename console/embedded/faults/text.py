"""Faults as text, for command lines: ``api=create_topics,nth=2,cut=after``."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from kio.schema.errors import ErrorCode
from kio.schema.index import api_key_map

from console.embedded.faults.effects import (
    BrokerDown,
    Cut,
    Delay,
    Effect,
    Fail,
    FailSome,
    Garbage,
    HalfFrame,
    Meanwhile,
    Moment,
    MoveController,
    Throttle,
)
from console.embedded.faults.faults import Fault
from console.embedded.state.cluster_state import ClusterState
from console.model.codes import ResourceType
from console.model.config import ConfigResource

HELP = """A fault is parts with commas between: which requests, and what happens to them.
  api=create_topics    broker=2    client=kac    nth=3    times=2    p=0.5
  error=NOT_CONTROLLER | error=87    fail-some=INVALID_CONFIG    not-controller
  delay=2s    throttle=500ms    cut=before | cut=after    half-frame    garbage | garbage=frame
  move-controller | move-controller=3    down | down=2    for=5s (with down)
  meanwhile=topic/orders/retention.ms=1000"""

_TIME = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|)")
_UNITS = {"": 1.0, "s": 1.0, "ms": 0.001, "m": 60.0}


class FaultSyntax(ValueError):
    """A text that is no fault; it says why."""


def parse_fault(text: str) -> Fault:
    """The fault that a text declares; see HELP. Raises FaultSyntax."""
    parts: dict[str, str] = {}
    for part in text.split(","):
        name, _, value = part.strip().partition("=")
        if name in parts:
            raise FaultSyntax(f"{name} is there twice")
        if name not in _WHICH and name not in _EFFECTS and name != _FOR:
            raise FaultSyntax(f"{name!r} is no part of a fault.\n{HELP}")
        parts[name] = value
    effects = [name for name in parts if name in _EFFECTS]
    if len(effects) != 1:
        raise FaultSyntax(f"a fault has one effect, this one has {len(effects)}.\n{HELP}")
    try:
        which = {_WHICH[name][0]: _WHICH[name][1](value) for name, value in parts.items() if name in _WHICH}
        effect = _EFFECTS[effects[0]](parts[effects[0]], parts)
    except (ValueError, KeyError) as error:
        raise FaultSyntax(f"{text!r}: {error.args[0] if error.args else error}") from error
    if _FOR in parts and not isinstance(effect, BrokerDown):
        raise FaultSyntax("for= goes with down")
    return Fault(effect, **which)


def _api(text: str) -> str:
    """``CreateTopics``, ``create-topics`` and ``create_topics`` are one; ``kip4_alter_acls`` is a proposal's."""
    from console.wire.proposals.table import PROPOSED

    wanted = text.replace("_", "").replace("-", "").lower()
    for name in (*api_key_map.values(), *(found.api for found in PROPOSED.values())):
        if name.replace("_", "") == wanted:
            return name
    raise ValueError(f"there is no API {text}")


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError(f"{text} is not at least 1")
    return number


def _probability(text: str) -> float:
    number = float(text)
    if not 0 <= number <= 1:
        raise ValueError(f"a probability of {text} is not between 0 and 1")
    return number


def _seconds(text: str) -> float:
    match = _TIME.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is no time like 500ms, 2s or 1m")
    return float(match[1]) * _UNITS[match[2]]


def _code(text: str) -> int:
    """An error by Kafka's name or as a number."""
    if re.fullmatch(r"-?\d{1,5}", text):
        return int(text)
    name = text.lower()
    for known in (name, f"{name}_exception"):
        if known in ErrorCode.__members__:
            return int(ErrorCode[known])
    raise ValueError(f"Kafka has no error {text}")


def _meanwhile(text: str) -> Meanwhile:
    resource, _, value = text.partition("=")
    kind, name, key = ([*resource.split("/", 2), "", ""])[:3]
    if not key:
        raise ValueError(f"{text!r} is not like topic/orders/retention.ms=1000")
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
