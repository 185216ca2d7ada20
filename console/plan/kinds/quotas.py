"""Quotas: setting and removing a quota of an entity.

The checks before staging follow ClientQuotaControlManager, but also refuse values that it accepts (NaN, infinity).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from functools import lru_cache
from itertools import islice
from typing import TypeVar

from msgspec import structs
from msgspec.structs import replace

from console.model import quota as model_quota
from console.model.changes import AlterQuotas, Target
from console.model.grouping import grouped
from console.model.parts import Part
from console.model.snapshot import Snapshot
from console.plan import staged as plan_staged
from console.plan.amounts import exact_number, quota
from console.plan.edit_kind import Batch, EditKind, Removal, Reversal, Stage
from console.plan.edits import QuotaEdit, SetQuota, UnsetQuota
from console.plan.effective_values import DiffLine, EffectiveValue
from console.plan.kafka_tools import Command, alter_configs, entity_words
from console.plan.requests import RECORD_LIMIT, Facts, Step, steps_of
from console.plan.risk_rules import QUOTA_NEAR_ZERO, THROTTLES_EVERYONE, Judged, RiskRule
from console.plan.values import quota_problem, unknown_quota_key

Q = TypeVar("Q", SetQuota, UnsetQuota)

# -- checks before staging ---------------------------------------------------------------------------------------------


def _ordered(edit: Q) -> Q:
    """Return the edit with the components of its entity in the order of `QuotaEntity`."""
    if _in_order(edit.entity.types):
        return edit
    return structs.replace(edit, entity=model_quota.QuotaEntity.of(edit.entity.as_dict()))


@lru_cache(64)
def _in_order(types: tuple[str, ...]) -> bool:
    return list(types) == sorted(types, key=model_quota.part_order)


def _check_entity(edit: QuotaEdit) -> None:
    types = edit.entity.types
    if not types:
        raise plan_staged.Refused("the quota names no entity", "Name a user, a client or an ip.")
    if len(set(types)) != len(types):
        raise plan_staged.Refused("the entity names the same thing twice", "Name one user, one client or one ip.")
    for part in edit.entity.parts:
        if part.type not in (model_quota.USER, model_quota.CLIENT_ID, model_quota.IP):
            raise plan_staged.Refused(f"{part.type} is no kind of quota that Kafka has", "Use user, client or ip.")
        if part.name == "":
            raise plan_staged.Refused(f"the {part.type} has an empty name", "Name it, or write <default>.")
    if model_quota.IP in types and len(types) > 1:
        raise plan_staged.Refused("an ip's quota can't be combined with a user or a client", "Stage them apart.")


def _check_value(edit: SetQuota) -> None:
    keys = model_quota.IP_KEYS if edit.entity.has(model_quota.IP) else model_quota.CLIENT_KEYS
    if edit.key not in keys:
        known = edit.key in model_quota.CLIENT_KEYS or edit.key in model_quota.IP_KEYS
        whose = "an ip" if edit.entity.has(model_quota.IP) else "a user or client"
        reason = f"{edit.key} is no quota of {whose}" if known else unknown_quota_key(edit.key)
        raise plan_staged.Refused(reason, f"For {whose} there is {', '.join(keys)}.")
    if problem := quota_problem(edit.key, edit.value):
        raise plan_staged.Refused(problem, "Correct the value.")


# -- stronger quotas ---------------------------------------------------------------------------------------------------
# The order is KIP-55's, from level 1 (user and client) to 8 (default client); an address has two levels of its own.


class _Unnamed(Enum):
    ABSENT = 0
    ANY = 1


_ABSENT, _ANY = _Unnamed.ABSENT, _Unnamed.ANY
_Name = str | None | _Unnamed
_KINDS = (0, 1, 2)
"""The codes of a component of an entity: 0 absent, 1 the default, 2 a name."""
_LEVELS = {(2, 2): 1, (2, 1): 2, (2, 0): 3, (1, 2): 4, (1, 1): 5, (1, 0): 6, (0, 2): 7, (0, 1): 8}
_WEAKEST = 9


class StrongerQuotas:
    """Counts the entities that have a certain quota key, to find how many take precedence over another entity."""

    def __init__(self, entities: Iterable[model_quota.QuotaEntity]) -> None:
        self._both: set[tuple[_Name, _Name]] = set()
        self._of_user: Counter[tuple[_Name, int]] = Counter()
        self._of_client: Counter[tuple[int, _Name]] = Counter()
        self._of_kinds: Counter[tuple[int, int]] = Counter()
        self._addresses = 0
        for entity in entities:
            names: dict[str, _Name] = {**entity.as_dict()}
            if model_quota.IP in names:
                self._addresses += names[model_quota.IP] is not None
                continue
            user, client = names.get(model_quota.USER, _ABSENT), names.get(model_quota.CLIENT_ID, _ABSENT)
            user_kind, client_kind = _kind(user), _kind(client)
            self._both.add((user, client))
            self._of_user[user, client_kind] += 1
            self._of_client[user_kind, client] += 1
            self._of_kinds[user_kind, client_kind] += 1

    def count(self, entity: model_quota.QuotaEntity) -> int:
        """Return the number of counted entities that take precedence over this entity and may apply to one of its
        clients.
        """
        names: dict[str, _Name] = {**entity.as_dict()}
        if model_quota.IP in names:
            return self._addresses if names[model_quota.IP] is None else 0
        user, client = names.get(model_quota.USER, _ABSENT), names.get(model_quota.CLIENT_ID, _ABSENT)
        mine = _level(_kind(user), _kind(client))
        return sum(self._matching(u, c, mine) for u in _meeting(user) for c in _meeting(client))

    def _matching(self, user: _Name, client: _Name, below: int) -> int:
        """Return the number of counted entities with this user and this client (`_ANY` stands for every name) whose
        level in the order of precedence has a number below `below`; 1 is the strongest level.
        """
        if user is _ANY and client is _ANY:
            return sum(count for kinds, count in self._of_kinds.items() if _level(*kinds) < below)
        if user is _ANY:
            return sum(self._of_client[kind, client] for kind in _KINDS if _level(kind, _kind(client)) < below)
        if client is _ANY:
            return sum(self._of_user[user, kind] for kind in _KINDS if _level(_kind(user), kind) < below)
        return (user, client) in self._both and _level(_kind(user), _kind(client)) < below


def _meeting(name: _Name) -> tuple[_Name, ...]:
    """Return the names of a component that may apply to the same clients as the given name: for a name that name
    itself, the default and an absent component; for the default and an absent component every name (`_ANY`).
    """
    return (name, None, _ABSENT) if isinstance(name, str) else (_ANY,)


def _kind(name: _Name) -> int:
    return 0 if name is _ABSENT else 1 if name is None else 2


def _level(user: int, client: int) -> int:
    return _LEVELS.get((user, client), _WEAKEST)


# -- the present state -------------------------------------------------------------------------------------------------


def _back(edit: QuotaEdit, was: float | None) -> QuotaEdit:
    return UnsetQuota(edit.entity, edit.key) if was is None else SetQuota(edit.entity, edit.key, was)


# -- effects -----------------------------------------------------------------------------------------------------------

MOST = 100_000
"""Maximum number of entities that are counted; if there are more, counts are shown as "at least"."""


def _not_moving(edit: QuotaEdit, seen: plan_staged.Described) -> tuple[str, ...]:
    """Return a line with the number of entities that limit the same key at a stronger level and may apply to the
    same clients: the edit does not change the limits of these clients. Empty if there are no such entities. Only
    the first `MOST` entities are counted.
    """
    quotas = seen.snapshot.quotas

    def same_key() -> StrongerQuotas:
        return StrongerQuotas(of for of, values in islice(quotas.items(), MOST) if edit.key in values)

    # Count by key, once for all edits: with 100,000 entities, a pass for each edit would take minutes.
    count = seen.once((StrongerQuotas, edit.key), same_key).count(edit.entity)
    if not count:
        return ()
    least = "at least " if len(quotas) > MOST else ""
    noun = "entity has a stronger limit" if count == 1 else "entities have a stronger limit"
    return (f"{least}{count:,} {noun} and {'does' if count == 1 else 'do'} not move",)


def _falls_to(entity: model_quota.QuotaEntity, key: str, snapshot: Snapshot) -> str:
    """Return a text on the limit that applies after the limit of an entity is removed."""
    names = entity.as_dict()
    if model_quota.IP in names:
        return "the default of addresses counts then, if there is one"
    # A name that no client has stands for every other client: only defaults match it.
    user, client = names.get(model_quota.USER) or "\0", names.get(model_quota.CLIENT_ID) or "\0"
    weaker = [
        each for each in model_quota.levels(user, client) if model_quota.level_of(each) > model_quota.level_of(entity)
    ]
    for each in weaker:
        value = snapshot.quotas.get(each, {}).get(key)
        if value is not None:
            return f"{_words(each)} counts then: {quota(key, value)}"
    return "nothing limits it then"


def _words(entity: model_quota.QuotaEntity) -> str:
    return " ".join(f"{part.type} {'<default>' if part.name is None else part.name}" for part in entity.parts)


# -- risks -------------------------------------------------------------------------------------------------------------


def _throttles_everyone(edit: SetQuota, judged: Judged) -> Iterator[str]:
    """Yield a warning if a limit of a default entity is new, or lower than before."""
    if all(part.name is None for part in edit.entity.parts) and _lowers(edit, judged):
        kinds = {"user": "user", "client-id": "client", "ip": "address"}
        who = " and ".join(kinds.get(part.type, part.type) for part in edit.entity.parts)
        yield f"it holds for every {who} that has no limit of its own{_known_without(edit, judged)}"


_NAMED = 3
"""Maximum number of users that a warning names."""


def _known_without(edit: SetQuota, judged: Judged) -> str:
    """Return a text that lists known users without a limit of their own for the key: first the user of this console,
    then users with credentials, ACLs or other quotas. ``""`` if there are no such users, or the entity of the
    edit has no user.
    """
    if not edit.entity.has(model_quota.USER):
        return ""
    before = judged.before
    own = {entity.as_dict().get(model_quota.USER) for entity, values in before.quotas.items() if edit.key in values}
    me = judged.facts.principal.partition(":")[2] if judged.facts.principal.startswith("User:") else ""
    acls = (acl.principal.partition(":")[2] for acl in before.acls if acl.principal.startswith("User:"))
    known = {*before.scram, *acls, *(entity.as_dict().get(model_quota.USER) for entity in before.quotas)} - {
        None,
        "",
        "*",
        "ANONYMOUS",
    }
    others = sorted(str(name) for name in known - own - {me})
    named = ([f"this console's {me}"] if me and me not in own else []) + others[:_NAMED]
    more = len(others) - len(others[:_NAMED])
    return f": {', '.join(named)}{f' and {more} more' if more else ''}" if named else ""


def _near_zero(edit: SetQuota, judged: Judged) -> Iterator[str]:
    if edit.key in model_quota.BY_KEY and edit.value < model_quota.BY_KEY[edit.key].near_zero and _lowers(edit, judged):
        yield f"{edit.value:,.10g} is next to nothing: those that it holds for are as good as shut out"


def _lowers(edit: SetQuota, judged: Judged) -> bool:
    known = judged.before.quotas.get(edit.entity, {}).get(edit.key)
    was = known if known is not None else judged.was(edit)
    return not isinstance(was, float | int) or edit.value < was


# -- requests ----------------------------------------------------------------------------------------------------------


def _steps(staged: Sequence[plan_staged.Staged], _facts: Facts) -> list[Step]:
    """Return requests in which all quotas of an entity are together: an entity that occurs twice gets two responses."""
    groups = grouped((each.edit.target, each) for each in staged)
    return steps_of(((group, len(group)) for group in groups.values()), RECORD_LIMIT, _request)


def _request(some: list[plan_staged.Staged]) -> AlterQuotas:
    ops: dict[model_quota.QuotaEntity, dict[str, float | None]] = {}
    for each in some:
        edit = each.edit
        if isinstance(edit, SetQuota | UnsetQuota):
            ops.setdefault(edit.entity, {})[edit.key] = _wanted_value(edit)
    return AlterQuotas(ops)


def _wanted_value(edit: QuotaEdit) -> float | None:
    return edit.value if isinstance(edit, SetQuota) else None


def _predict(snapshot: Snapshot, edits: Sequence[QuotaEdit]) -> Snapshot:
    after: dict[model_quota.QuotaEntity, model_quota.QuotaValues] = dict(snapshot.quotas)
    for edit in edits:
        values = {key: value for key, value in after.get(edit.entity, {}).items() if key != edit.key}
        wanted = _wanted_value(edit)
        if wanted is not None:
            values[edit.key] = wanted
        if values:
            after[edit.entity] = values
        else:
            after.pop(edit.entity, None)
    return replace(snapshot, quotas=after)


_DEFAULT_NAME = "<default>"
_QUOTA_TYPES = {model_quota.USER: "users", model_quota.CLIENT_ID: "clients", model_quota.IP: "ips"}


def _commands(target: Target, lines: Sequence[DiffLine]) -> Iterator[Command]:
    """Yield one kafka-configs command for all quotas of an entity that change."""
    assert isinstance(target, model_quota.QuotaEntity)
    if any(part.name == _DEFAULT_NAME or part.type not in _QUOTA_TYPES for part in target.parts):
        note = f"no command can name {target.as_dict()}: kafka-configs means the default by <default>"
        yield Command((), note=note)
        return
    words = [word for part in target.parts for word in entity_words(_QUOTA_TYPES[part.type], part.name)]
    added = [f"{line.key}={exact_number(line.new.value)}" for line in lines if isinstance(line.new.value, float | int)]
    removed = [line.key for line in lines if line.new.value is None]
    options = ["--add-config", ",".join(added)] if added else []
    options += ["--delete-config", ",".join(removed)] if removed else []
    yield alter_configs(words, *options)


# -- the kinds of edits ------------------------------------------------------------------------------------------------

QUOTAS = Batch(stage=Stage.ACCESS, steps=_steps, predict=_predict, commands=_commands)


class _QuotaKind(EditKind):
    state = float
    batch = QUOTAS

    def current(self, edit: QuotaEdit, seen: plan_staged.Described) -> plan_staged.Was:
        return seen.found(seen.snapshot.quotas.get(edit.entity, {}).get(edit.key), Part.QUOTAS)

    def before(self, _edit: object, there: float | None, _inheritance: object) -> EffectiveValue:
        return EffectiveValue(there)


class _SetQuotaKind(_QuotaKind):
    edit = SetQuota
    verb = "set"
    risks = (RiskRule(THROTTLES_EVERYONE, _throttles_everyone), RiskRule(QUOTA_NEAR_ZERO, _near_zero))

    def judge(self, edit: SetQuota, draft: plan_staged.Draft) -> plan_staged.Verdict:
        _check_entity(edit)
        edit = _ordered(edit)
        _check_value(edit)
        was = self.current(edit, draft)
        if was == edit.value:
            return plan_staged.Dropped(edit, f"{edit.key} is already {edit.value:.15g}")
        return plan_staged.Staged(edit, was)

    def wanted(self, edit: SetQuota, now: float | None) -> bool:
        return now == edit.value

    def after(self, edit: SetQuota, _there: object, _inheritance: object) -> EffectiveValue:
        return EffectiveValue(edit.value)

    def effects(self, edit: SetQuota, seen: plan_staged.Described) -> tuple[str, ...]:
        lines = []
        brokers = len(seen.snapshot.cluster.brokers)
        if brokers > 1 and edit.key.endswith("byte_rate"):
            lines.append(f"on each of {brokers} brokers: up to {quota(edit.key, edit.value * brokers)} in all")
        return (*lines, *_not_moving(edit, seen))

    def reversal(self, edit: SetQuota, was: float | None, _overrides: object) -> Reversal:
        return Reversal((_back(edit, was),), edit.value)


class _UnsetQuotaKind(Removal, _QuotaKind):
    edit = UnsetQuota
    verb = "unset"

    def judge(self, edit: UnsetQuota, draft: plan_staged.Draft) -> plan_staged.Verdict:
        _check_entity(edit)
        edit = _ordered(edit)
        was = self.current(edit, draft)
        return plan_staged.Dropped(edit, f"{edit.key} is not set") if was is None else plan_staged.Staged(edit, was)

    def effects(self, edit: UnsetQuota, seen: plan_staged.Described) -> tuple[str, ...]:
        return (*_not_moving(edit, seen), _falls_to(edit.entity, edit.key, seen.snapshot))

    def reversal(self, edit: UnsetQuota, was: float | None, _overrides: object) -> Reversal:
        return Reversal((_back(edit, was),), None)


KINDS = (_SetQuotaKind(), _UnsetQuotaKind())
