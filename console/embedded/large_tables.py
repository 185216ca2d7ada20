"""The quotas and ACLs of a large cluster. None is stored: each one is computed from its number whenever it is read,
also in look-ups.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from uuid import UUID

from console.model.acl import Acl
from console.model.authorizer import Pattern, pattern_of
from console.model.codes import AclOperation, AclResourceType, PatternType, Permission
from console.model.quota import CLIENT_ID, USER, QuotaEntity, QuotaPart, QuotaValues

MIB = 1 << 20
CLIENTS = ("loader", "reader", "report")
EACH = len(CLIENTS) + 2
"""Number of quota entities of each user: the user alone, with the default client, and with each client."""
_USER = re.compile(r"user-(\d{6})")
_VALUES: tuple[QuotaValues, ...] = (
    {"producer_byte_rate": MIB, "consumer_byte_rate": 2 * MIB},
    {"producer_byte_rate": 5 * MIB},
    {"consumer_byte_rate": 10 * MIB, "request_percentage": 50.0},
    {"request_percentage": 200.0},
    {"producer_byte_rate": 20 * MIB, "consumer_byte_rate": 40 * MIB, "controller_mutation_rate": 10.0},
    {"controller_mutation_rate": 2.0},
    {"consumer_byte_rate": 100 * MIB},
)
_DEFAULT_CLIENT = QuotaPart(CLIENT_ID, None)
_CLIENT_PARTS = tuple(QuotaPart(CLIENT_ID, client) for client in CLIENTS)
_ACL_IDS = 0x6B61632D6C617267_5000000000000000


def _user(number: int) -> str:
    return f"user-{number:06}"


def _number(name: str | None, size: int) -> int | None:
    match = _USER.fullmatch(name or "")
    number = int(match[1]) if match else size
    return number if number < size else None


class LargeQuotas:
    """A source of quotas with five entities for each user."""

    def __init__(self, users: int) -> None:
        self._users = users

    def find(self, key: QuotaEntity) -> QuotaValues | None:
        """Return the quotas of an entity; None if it is unknown."""
        if not key.has(USER):
            return None
        number = _number(key.name_of(USER), self._users)
        if number is None:
            return None
        for place, entity in enumerate(self._entities(number)):
            if entity == key:
                return self._values(number, place)
        return None

    def of_part(self, part: QuotaPart) -> Iterator[QuotaEntity]:
        """Yield the entities that have this component."""
        if part.type == USER:
            number = _number(part.name, self._users)
            if number is not None:
                yield from self._entities(number)
        elif part == _DEFAULT_CLIENT or part in _CLIENT_PARTS:
            for number in range(self._users):
                yield QuotaEntity((USER, _user(number), *part))

    def of_types(self, types: frozenset[str]) -> Iterator[tuple[QuotaEntity, QuotaValues]]:
        """Yield the entities with exactly these component types, and their quotas: users alone, or users with clients.
        Yield nothing for other types.
        """
        if types == {USER}:
            for number in range(self._users):
                yield QuotaEntity((USER, _user(number))), self._values(number, 0)
        elif types == {USER, CLIENT_ID}:
            yield from (item for item in self.items() if item[0].has(CLIENT_ID))

    def _entities(self, number: int) -> Iterator[QuotaEntity]:
        user = _user(number)
        yield QuotaEntity((USER, user))
        yield QuotaEntity((USER, user, CLIENT_ID, None))
        for client in CLIENTS:
            yield QuotaEntity((USER, user, CLIENT_ID, client))

    def _values(self, number: int, place: int) -> QuotaValues:
        return _VALUES[(number * EACH + place) % len(_VALUES)]

    def items(self) -> Iterator[tuple[QuotaEntity, QuotaValues]]:
        """Yield all entities with their quotas."""
        for number in range(self._users):
            for place, entity in enumerate(self._entities(number)):
                yield entity, self._values(number, place)

    def __iter__(self) -> Iterator[QuotaEntity]:
        for number in range(self._users):
            yield from self._entities(number)

    def __len__(self) -> int:
        return self._users * EACH


_ACL_TEAMS = 500
_TEAM = re.compile(r"team-(\d{3})\.")
_GROUP_NAME = re.compile(r"group-(\d{6})")
_TOPIC = AclResourceType.parse("TOPIC")
_GROUP = AclResourceType.parse("GROUP")
_LITERAL, _PREFIXED = PatternType.parse("LITERAL"), PatternType.parse("PREFIXED")
_READ, _WRITE = AclOperation.parse("READ"), AclOperation.parse("WRITE")
_ALLOW, _DENY = Permission.parse("ALLOW"), Permission.parse("DENY")


class LargeAcls:
    """A source of ACLs with two for each user: one on topics with a prefix, and one on a group."""

    def __init__(self, size: int) -> None:
        self._size = size

    def _at(self, index: int) -> Acl:
        user = _user(index // 2)
        if index % 2:
            return Acl(_GROUP, f"group-{index // 2:06}", _LITERAL, f"User:{user}", "*", _READ, _ALLOW)
        operation = _READ if index % 4 else _WRITE
        permission = _DENY if index % 100 == 0 else _ALLOW
        return Acl(_TOPIC, f"team-{index % _ACL_TEAMS:03}.", _PREFIXED, f"User:{user}", "*", operation, permission)

    def find(self, key: Acl) -> UUID | None:
        """Return the id of an ACL; None if it is unknown."""
        number = _number(key.principal.removeprefix("User:"), (self._size + 1) // 2)
        if number is not None:
            for index in (2 * number, 2 * number + 1):
                if index < self._size and self._at(index) == key:
                    return UUID(int=_ACL_IDS + index)
        return None

    def of_principal(self, principal: str) -> Iterator[Acl]:
        """Yield the ACLs of a principal."""
        number = _number(principal.removeprefix("User:"), (self._size + 1) // 2)
        if number is not None and principal.startswith("User:"):
            yield from (self._at(index) for index in (2 * number, 2 * number + 1) if index < self._size)

    def on(self, pattern: Pattern) -> Iterator[Acl]:
        """Yield the ACLs whose resource pattern is exactly this one."""
        indexes: Iterable[int] = ()
        if match := _TEAM.fullmatch(pattern.name):
            indexes = range(int(match[1]), self._size, _ACL_TEAMS)
        elif match := _GROUP_NAME.fullmatch(pattern.name):
            indexes = range(2 * int(match[1]) + 1, min(2 * int(match[1]) + 2, self._size))
        yield from (acl for acl in map(self._at, indexes) if pattern_of(acl) == pattern)

    def items(self) -> Iterator[tuple[Acl, UUID]]:
        """Yield all ACLs with their ids."""
        for index in range(self._size):
            yield self._at(index), UUID(int=_ACL_IDS + index)

    def __iter__(self) -> Iterator[Acl]:
        return map(self._at, range(self._size))

    def __len__(self) -> int:
        return self._size
