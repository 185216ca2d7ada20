"""How many quotas are stronger than another and may share a client with it, counted once for all edits of a key.

The order is KIP-55's, level 1 (user and client) to 8 (default client); an address has two levels of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from enum import Enum

from console.model.quota import CLIENT_ID, IP, USER, QuotaEntity


class _Part(Enum):
    ABSENT = 0
    ANY = 1


_ABSENT, _ANY = _Part.ABSENT, _Part.ANY
_Name = str | None | _Part
_KINDS = (0, 1, 2)
"""Absent, the default, a name."""
_LEVELS = {(2, 2): 1, (2, 1): 2, (2, 0): 3, (1, 2): 4, (1, 1): 5, (1, 0): 6, (0, 2): 7, (0, 1): 8}
_WEAKEST = 9


class StrongerQuotas:
    """The entities that have one key."""

    def __init__(self, entities: Iterable[QuotaEntity]) -> None:
        self._both: set[tuple[_Name, _Name]] = set()
        self._of_user: Counter[tuple[_Name, int]] = Counter()
        self._of_client: Counter[tuple[int, _Name]] = Counter()
        self._of_kinds: Counter[tuple[int, int]] = Counter()
        self._addresses = 0
        for entity in entities:
            names = dict(entity)
            if IP in names:
                self._addresses += names[IP] is not None
                continue
            user, client = names.get(USER, _ABSENT), names.get(CLIENT_ID, _ABSENT)
            user_kind, client_kind = _kind(user), _kind(client)
            self._both.add((user, client))
            self._of_user[user, client_kind] += 1
            self._of_client[user_kind, client] += 1
            self._of_kinds[user_kind, client_kind] += 1

    def count(self, entity: QuotaEntity) -> int:
        """How many are stronger than this one and may count for a client of its."""
        names = dict(entity)
        if IP in names:
            return self._addresses if names[IP] is None else 0
        user, client = names.get(USER, _ABSENT), names.get(CLIENT_ID, _ABSENT)
        mine = _level(_kind(user), _kind(client))
        return sum(self._matching(u, c, mine) for u in _meeting(user) for c in _meeting(client))

    def _matching(self, user: _Name, client: _Name, below: int) -> int:
        """How many there are of a level below, for a user and a client that may each be any."""
        if user is _ANY and client is _ANY:
            return sum(count for kinds, count in self._of_kinds.items() if _level(*kinds) < below)
        if user is _ANY:
            return sum(self._of_client[kind, client] for kind in _KINDS if _level(kind, _kind(client)) < below)
        if client is _ANY:
            return sum(self._of_user[user, kind] for kind in _KINDS if _level(_kind(user), kind) < below)
        return (user, client) in self._both and _level(_kind(user), _kind(client)) < below


def _meeting(name: _Name) -> tuple[_Name, ...]:
    """The names that others may have who share a client: whoever is named meets the default and those who name none."""
    return (name, None, _ABSENT) if isinstance(name, str) else (_ANY,)


def _kind(name: _Name) -> int:
    return 0 if name is _ABSENT else 1 if name is None else 2


def _level(user: int, client: int) -> int:
    return _LEVELS.get((user, client), _WEAKEST)
