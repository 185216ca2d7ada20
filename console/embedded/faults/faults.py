"""Which faults there are, and which of them meet a request."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from console.embedded.faults.effects import Effect


@dataclass(frozen=True, slots=True)
class Fault:
    """An effect on some requests.

    api: kio's name; broker, client: id and client id; None is any. nth: only the n-th of the requests that match, from
    1 on. times: how often at most. probability: of each one, from 0 to 1.
    """

    effect: Effect
    api: str | None = None
    broker: int | None = None
    client: str | None = None
    nth: int | None = None
    times: int | None = None
    probability: float = 1.0

    def matches(self, api: str, broker: int, client: str) -> bool:
        """Whether a request is one of those it is for."""
        return self.api in (None, api) and self.broker in (None, broker) and self.client in (None, client)


@dataclass(slots=True)
class _Declared:
    fault: Fault
    seen: int = 0
    done: int = 0


@dataclass(slots=True)
class Faults:
    """The faults that are declared now. With the same seed and the same requests the same ones happen."""

    seed: int = 0
    _declared: list[_Declared] = field(default_factory=list)
    _random: Random = field(init=False)

    def __post_init__(self) -> None:
        self._random = Random(self.seed)  # noqa: S311 - to be repeated, not to be secret

    def add(self, fault: Fault) -> None:
        """Declare a fault, from the next request on."""
        self._declared.append(_Declared(fault))

    def remove(self, fault: Fault) -> None:
        """Take a fault back; nothing happens where it is not declared."""
        self._declared = [declared for declared in self._declared if declared.fault != fault]

    def clear(self) -> None:
        """Take all faults back."""
        self._declared.clear()

    def happened(self, fault: Fault) -> int:
        """How often a fault has happened."""
        return sum(declared.done for declared in self._declared if declared.fault == fault)

    def meet(self, api: str, broker: int, client: str) -> tuple[Effect, ...]:
        """What happens to this request, in the order in which the faults were declared; it counts as seen."""
        if not self._declared:
            return ()
        effects: list[Effect] = []
        for declared in self._declared:
            fault = declared.fault
            if not fault.matches(api, broker, client):
                continue
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
