"""Quotas: what may be staged, and which other entities count for the same clients."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from enum import Enum
from functools import lru_cache

from console.model.quota import CLIENT_ID, CLIENT_KEYS, IP, IP_KEYS, USER, QuotaEntity, part_order
from console.plan.edits import QuotaEdit, SetQuota, UnsetQuota
from console.plan.staged import UNREAD, Draft, Dropped, Refused, Staged, Verdict
from console.plan.values import quota_problem, unknown_quota_key


def judge(edit: QuotaEdit, draft: Draft) -> Verdict:
    """Whether a quota edit is staged, is a no-op, or can't be."""
    refused = _entity_refusal(edit)
    if refused is not None:
        return refused
    entity = edit.entity
    if not _in_order(tuple(part.type for part in entity)):
        entity = QuotaEntity.of(entity.as_dict())
        edit = SetQuota(entity, edit.key, edit.value) if isinstance(edit, SetQuota) else UnsetQuota(entity, edit.key)
    was = draft.snapshot.quotas.get(entity, {}).get(edit.key)
    if isinstance(edit, UnsetQuota):
        if was is None and draft.read("quotas"):
            return Dropped(edit, f"{edit.key} is not set")
    else:
        refused = _value_refusal(edit)
        if refused is not None:
            return refused
        if was == edit.value:
            return Dropped(edit, f"{edit.key} is already {edit.value:.15g}")
    return Staged(edit, was if was is not None or draft.read("quotas") else UNREAD)


@lru_cache(64)
def _in_order(types: tuple[str, ...]) -> bool:
    return list(types) == sorted(types, key=part_order)


def _entity_refusal(edit: QuotaEdit) -> Refused | None:
    types = [part.type for part in edit.entity.parts]
    if not types:
        return Refused(edit, "the quota is for nobody", "Name a user, a client or an ip.")
    if len(set(types)) != len(types):
        return Refused(edit, "the entity names the same thing twice", "Name one user, one client or one ip.")
    for part in edit.entity.parts:
        if part.type not in (USER, CLIENT_ID, IP):
            return Refused(edit, f"{part.type} is no kind of quota that Kafka has", "Use user, client or ip.")
        if part.name == "":
            return Refused(edit, f"the {part.type} has an empty name", "Name it, or write <default>.")
    if IP in types and len(types) > 1:
        return Refused(edit, "an ip's quota can't be combined with a user or a client", "Stage them apart.")
    return None


def _value_refusal(edit: SetQuota) -> Refused | None:
    keys = IP_KEYS if edit.entity.has(IP) else CLIENT_KEYS
    if edit.key not in keys:
        known = edit.key in CLIENT_KEYS or edit.key in IP_KEYS
        whose = "an ip" if edit.entity.has(IP) else "a user or client"
        reason = f"{edit.key} is no quota of {whose}" if known else unknown_quota_key(edit.key)
        return Refused(edit, reason, f"For {whose} there is {', '.join(keys)}.")
    problem = quota_problem(edit.key, edit.value)
    return Refused(edit, problem, "Correct the value.") if problem else None


# -- stronger quotas ---------------------------------------------------------------------------------------------------
# The order is KIP-55's, level 1 (user and client) to 8 (default client); an address has two levels of its own.


class _Unnamed(Enum):
    ABSENT = 0
    ANY = 1


_ABSENT, _ANY = _Unnamed.ABSENT, _Unnamed.ANY
_Name = str | None | _Unnamed
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
