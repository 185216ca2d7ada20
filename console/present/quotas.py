"""The tree of quotas (user → client id; client id; address), and the quotas that apply to a user and a client id."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from itertools import chain
from typing import NamedTuple

from console.model.differing import differing
from console.model.numbers import Data
from console.model.quota import (
    BY_KEY,
    CLIENT_ID,
    CLIENT_KEYS,
    CONNECTION_CREATION_RATE,
    IP,
    QUOTA_KEYS,
    USER,
    Effective,
    QuotaEntity,
    QuotaValues,
    effective,
    effective_ip,
)
from console.plan.amounts import Unit, exact_quota, number, quota
from console.plan.effective_values import DiffGroup, DiffLine, EffectiveValue
from console.present import columns
from console.present.names import NOTHING, named, quota_entity
from console.present.text import Cell, Line, clean
from console.present.values import side_text

DEFAULTS = tuple(QuotaEntity.of({type_: None}) for type_ in (USER, CLIENT_ID, IP))
"""The entities for the default user, client id and address, which the tree has even without a quota."""


class QuotaTree:
    """Quota entities as a tree: users, client ids and addresses on the top level, pairs of user and client id below
    their user.

    A user that has quotas only together with client ids is also in the tree. roots: the entities of the top level, in
    order (`place_in_order`).
    """

    def __init__(self, quotas: Mapping[QuotaEntity, QuotaValues], staged: Iterable[QuotaEntity] = ()) -> None:
        self.quotas, self.staged = quotas, frozenset(staged)
        children: dict[QuotaEntity, list[QuotaEntity]] = {}
        roots: dict[QuotaEntity, None] = dict.fromkeys(DEFAULTS)
        for entity in chain(quotas, self.staged):
            if entity.is_combined and entity.has(USER):
                user = _user_of(entity)
                below = children.setdefault(user, [])
                below.append(entity)
                roots[user] = None
            else:
                roots[entity] = None
        self.roots: Sequence[QuotaEntity] = _in_order(roots)
        self._children: Mapping[QuotaEntity, Sequence[QuotaEntity]] = {
            user: sorted(dict.fromkeys(below), key=_order) for user, below in children.items()
        }

    def after(self, quotas: Mapping[QuotaEntity, QuotaValues], staged: Iterable[QuotaEntity]) -> QuotaTree:
        """Return the tree for other quotas and staged entities. It shares unchanged parts with this one if at most
        1,000 entities (`MOST_MOVED`) were added or removed; otherwise it is built again.
        """
        now = frozenset(staged)
        moved = {entity for entity, had, has in differing(self.quotas, quotas) if had is None or has is None}
        # A staged entity has a node before the cluster has its quota, and loses the node if the edit is discarded.
        moved |= now ^ self.staged
        if len(moved) > MOST_MOVED:
            return QuotaTree(quotas, now)
        # Copy the tree: another pane may still be painting the old one.
        tree = copy(self)
        tree.quotas, tree.staged = quotas, now
        if moved:
            tree._put(moved)
        return tree

    def _put(self, moved: Iterable[QuotaEntity]) -> None:
        """Insert each of these entities, or remove it if it has neither a quota nor a staged edit; `DEFAULTS`, and
        users with pairs below them, stay. Lists are copied, so that the previous tree stays unchanged.
        """
        roots, children = [*self.roots], {**self._children}
        edge: dict[QuotaEntity, None] = {}
        for entity in moved:
            if entity.is_combined and entity.has(USER):
                user = _user_of(entity)
                children[user] = below = [*children.get(user, ())]
                _settle(below, entity, entity in self.quotas or entity in self.staged)
                if not below:
                    del children[user]
                # Check the user too: without a quota of its own, it is in the tree only while it has client ids.
                edge[user] = None
            else:
                edge[entity] = None
        for each in edge:
            there = each in self.quotas or each in self.staged or each in DEFAULTS or each in children
            _settle(roots, each, there)
        self.roots, self._children = roots if roots != self.roots else self.roots, children

    def children(self, entity: QuotaEntity) -> Sequence[QuotaEntity]:
        """Return the pairs of a user and a client id, the default client id first; empty if there are none."""
        return self._children.get(entity, ())


MOST_MOVED = 1_000
"""Number of entities added or removed at once above which the whole tree is built again."""


def _user_of(entity: QuotaEntity) -> QuotaEntity:
    return QuotaEntity((USER, entity.name_of(USER)))


def index_in(ordered: Sequence[QuotaEntity], entity: QuotaEntity) -> int | None:
    """Return the index of an entity in a sequence in order of `place_in_order`; None if it is missing."""
    index = bisect_left(ordered, place_in_order(entity), key=place_in_order)
    return index if index < len(ordered) and ordered[index] == entity else None


def _settle(ordered: list[QuotaEntity], entity: QuotaEntity, there: bool) -> None:
    """Make an ordered list contain an entity (if `there`) or not contain it."""
    index = index_in(ordered, entity)
    if there and index is None:
        insort(ordered, entity, key=place_in_order)
    elif not there and index is not None:
        del ordered[index]


_WORDS = {CLIENT_ID: "client"}
_RANKS = {USER: "0", CLIENT_ID: "1", IP: "2"}


def _order(entity: QuotaEntity) -> str:
    """Return the sort key of an entity: users, client ids, addresses, others; the default before the names.

    It is a single string, because 200,000 of them have to be sorted.
    """
    parts = [f"{_RANKS.get(type_, '9')}{type_}\0{'' if name is None else '1' + name}" for type_, name in entity.parts]
    return "\0".join(parts)


def place_in_order(entity: QuotaEntity) -> tuple[str, str, bool, str, str]:
    """Return the sort key of an entity in the tree: by type of entity; within a type the default and pairs first, in
    the order of `_order`, then the entities with a single name, by name.
    """
    type_, name = entity.parts[0] if entity else ("", None)  # foreign data may contain an empty entity
    alone = name is not None and not entity.is_combined
    return _RANKS.get(type_, "9"), type_, alone, "" if alone else _order(entity), name or ""


def _in_order(edge: Iterable[QuotaEntity]) -> list[QuotaEntity]:
    """Return entities in the order of `place_in_order`. Names of one type are sorted directly, because 200,000 users
    would need as many keys.
    """
    named: dict[str, list[QuotaEntity]] = {}
    others: dict[str, list[QuotaEntity]] = {}
    for entity in edge:
        type_, name = entity[:2] if entity else ("", None)  # foreign data may contain an empty entity
        (named if name is not None and not entity.is_combined else others).setdefault(type_ or "", []).append(entity)
    ordered: list[QuotaEntity] = []
    for type_ in sorted({*named, *others}, key=lambda type_: (_RANKS.get(type_, "9"), type_)):
        ordered += sorted(others.get(type_, ()), key=_order)
        ordered += sorted(named.get(type_, ()))
    return ordered


def search_text(entity: QuotaEntity) -> str:
    """Return the text that a filter searches: the entity as it is shown.

    Built without `names.quota_entity`, because there may be 200,000 entities.
    """
    named = zip(entity.types, entity[1::2], strict=True)
    return " ".join([f"{_WORDS.get(type_, type_)} {'<default>' if name is None else name}" for type_, name in named])


def quota_lines(groups: Iterable[DiffGroup]) -> dict[QuotaEntity, dict[str, DiffLine]]:
    """Return quota entity -> quota key -> the staged line of the diff."""
    return {
        group.target: {line.key: line for line in group.lines}
        for group in groups
        if isinstance(group.target, QuotaEntity)
    }


class QuotaRow(NamedTuple):
    """A quota entity with its values and its staged edits."""

    entity: QuotaEntity
    values: QuotaValues
    lines: Mapping[str, DiffLine] = {}
    failed: bool = False
    """Whether a broker refused one of the staged edits."""
    changed: bool = False
    """Whether kac saw a change since the marks of changes were cleared."""
    child: bool = False
    """Whether the row is below its user, so that its label leaves out the user's name."""


def _label(entity: QuotaEntity, child: bool) -> str:
    if child:
        return " ".join(f"{_word(part.type)} {named(part.name)}" for part in entity.parts if part.type != USER)
    return quota_entity(entity)


def _word(type_: str) -> str:
    return "client" if type_ == CLIENT_ID else clean(type_)


def _applies(entity: QuotaEntity, key: str) -> bool:
    return (key == CONNECTION_CREATION_RATE) == entity.has(IP)


def _others(row: QuotaRow) -> dict[str, float]:
    return {key: value for key, value in row.values.items() if key not in QUOTA_KEYS}


def _part(name: str, type_: str) -> columns.Column[QuotaRow]:
    return columns.Column(
        name, columns.FILTER, lambda row: row.entity.name_of(type_) if row.entity.has(type_) else columns.ABSENT
    )


def _key_column(place: int, key: str) -> columns.Column[QuotaRow]:
    def cell(row: QuotaRow) -> Cell:
        if key in row.lines:
            return (f"→ {side_text(row.entity, key, row.lines[key].new)}", "pending")
        if key in row.values:
            return (quota(key, row.values[key]), "override")
        # A blank cell shows that the key can't be set for the entity; a dash, that it could.
        return (NOTHING, "muted") if _applies(row.entity, key) else ""

    return columns.Column(
        key,
        columns.FILTER | columns.SHOWN,
        lambda row: float(row.values[key]) if key in row.values else columns.ABSENT,
        "number",
        Unit.BYTES_PER_SECOND if key.endswith("byte_rate") else Unit.NONE,
        title=BY_KEY[key].short,
        cell=cell,
        text=lambda row: quota(key, row.values[key]) if key in row.values else NOTHING,
        layout=columns.on_screen((8, 14), BY_KEY[key].short, priority=90 - 5 * place),
    )


QUOTAS: columns.Columns[QuotaRow] = columns.Columns(
    columns.letter_column(
        "staged", lambda row: ("!", "failed") if row.failed else ("*", "pending") if row.lines else ""
    ),
    columns.Column(
        "entity",
        columns.SHOWN | columns.OBJECT,
        lambda row: row.entity.as_dict(),
        "object",
        cell=lambda row: (_label(row.entity, row.child), "changed" if row.changed else ""),
        layout=columns.on_screen((24, 60), flex=1),
    ),
    _part("user", USER),
    _part("client", CLIENT_ID),
    _part("ip", IP),
    *(_key_column(place, key) for place, key in enumerate(QUOTA_KEYS)),
    columns.Column(
        "others",
        columns.SHOWN,
        title="other",
        cell=lambda row: ", ".join(f"{clean(key)}={quota(key, value)}" for key, value in _others(row).items()),
        text=lambda row: ", ".join(f"{key}={number(value)}" for key, value in _others(row).items()),
        layout=columns.on_screen((3, 30), columns.BLANK, priority=10),
    ),
    columns.Column(
        "values", columns.OBJECT, lambda row: {key: float(value) for key, value in row.values.items()}, "object"
    ),
)
"""The columns of quotas. In JSON an entity's values are one object; the screen and `list` have a column for each quota
key.
"""


OTHER = "\0other"
"""The name that represents any user or client id without a quota of its own; no name in the protocol contains a NUL."""


def whose(entity: QuotaEntity) -> tuple[str, str]:
    """Return the user and the client id of an entity; `OTHER` for one that it lacks, or that is the default."""
    names = entity.as_dict()
    return names.get(USER) or OTHER, names.get(CLIENT_ID) or OTHER


def who_text(user: str, client: str) -> str:
    """Return a user and a client id as ``user alice, any other client``."""
    first = "any other user" if user == OTHER else f"user {named(user)}"
    second = "any other client" if client == OTHER else f"client {named(client)}"
    return f"{first}, {second}"


def effective_lines(
    quotas: Mapping[QuotaEntity, QuotaValues], user: str, client: str, brokers: int, *, sharing: bool = False
) -> list[Line]:
    """Return a line for each quota key: the quota that applies to a user's connections with a client id, and the quotas
    that it overrides.

    Args:
        quotas: all known quotas.
        user: the name of the user, or `OTHER`.
        client: the client id, or `OTHER`.
        brokers: the number of brokers. Each enforces the quota separately, so the limit of the whole cluster is this
            number times the quota.
        sharing: whether to add the clients that share a quota.
    """
    return [_effective_line(key, effective(quotas, user, client, key), brokers, sharing=sharing) for key in CLIENT_KEYS]


def effective_ip_line(quotas: Mapping[QuotaEntity, QuotaValues], address: str, brokers: int) -> Line:
    """Return a line with the quota that applies to new connections from an address.

    Args:
        quotas: all known quotas.
        address: an IP address as brokers print it.
        brokers: the number of brokers, as for `effective_lines`.
    """
    return _effective_line(CONNECTION_CREATION_RATE, effective_ip(quotas, address), brokers)


class Sharing(NamedTuple):
    """Texts about the clients that share a quota, as a phrase and as a sentence; both ``""`` if the quota is not
    shared.
    """

    words: str
    sentence: str


SHARED: Mapping[str, Sharing] = {
    "user": Sharing("shared by all clients of the user", "all the user's clients share it"),
    "client-id": Sharing("shared by everybody with this client id", "everybody with this client id shares it"),
    "client": Sharing("", ""),
    "ip": Sharing("", ""),
}
"""`Effective.shared` -> texts about the clients that share the quota."""


class EffectiveRow(NamedTuple):
    """A quota key, and the entity whose quota applies; None if there is no limit."""

    key: str
    level: Effective | None


def _by_level(get: Callable[[Effective], Data]) -> Callable[[EffectiveRow], Data]:
    return lambda row: None if row.level is None else get(row.level)


def _overridden(key: str, level: Effective) -> str:
    """Return the quotas that do not apply because of a more specific one, with their values."""
    return ", ".join(f"{quota_entity(each.entity)} {quota(key, each.value)}" for each in level.beaten)


def _beaten(level: Effective) -> list[Data]:
    return [{"entity": each.entity.as_dict(), "value": each.value} for each in level.beaten]


EFFECTIVE: columns.Columns[EffectiveRow] = columns.Columns(
    columns.Column("key"),
    columns.Column(
        "value",
        get=_by_level(lambda level: level.value),
        type="number",
        title="Per broker",
        text=lambda row: "no limit" if row.level is None else quota(row.key, row.level.value),
    ),
    columns.Column(
        "entity",
        get=_by_level(lambda level: level.entity.as_dict()),
        type="object",
        title="From",
        text=lambda row: "" if row.level is None else quota_entity(row.level.entity),
    ),
    columns.Column(
        "shared",
        get=_by_level(lambda level: level.shared),
        type="word",
        title="",
        text=lambda row: "" if row.level is None else SHARED[row.level.shared].words,
    ),
    columns.Column(
        "beaten",
        get=lambda row: [] if row.level is None else _beaten(row.level),
        type="object",
        title="Over",
        text=lambda row: "" if row.level is None else _overridden(row.key, row.level),
    ),
    views=columns.TOLD,
)
"""The columns of the quotas that apply to a user and a client id, or to an address."""


class ValueRow(NamedTuple):
    """A quota key of an entity: its value, None if it is not set, and the staged value."""

    key: str
    value: float | None
    staged: EffectiveValue | None = None


def _value_text(row: ValueRow) -> str:
    text = quota(row.key, row.value) if row.value is not None else NOTHING
    if row.staged is None:
        return text
    wanted = row.staged.value
    return f"{text} → {quota(row.key, wanted) if isinstance(wanted, float) else NOTHING}"


VALUES: columns.Columns[ValueRow] = columns.Columns(
    columns.Column(
        "letters",
        columns.LIST,
        title="",
        text=lambda row: ("O" if row.value is not None else "") + ("*" if row.staged is not None else ""),
    ),
    columns.Column("key", columns.TOLD),
    columns.Column("value", columns.TOLD, type="number", title="Per broker", text=_value_text, left=True),
    columns.Column("pending", columns.OBJECT, lambda row: row.staged is not None, "boolean"),
    columns.Column(
        "exactly",
        columns.LIST,
        lambda row: row.value,
        "number",
        text=lambda row: exact_quota(row.key, row.value) if row.value is not None else "",
    ),
)
"""The columns of the values that are set on one entity."""


def _effective_line(key: str, effective: Effective | None, brokers: int, *, sharing: bool = False) -> Line:
    name = f"{BY_KEY[key].short:<8}"
    if effective is None:
        return [(name, "muted"), (f"{'no limit':>12}", "muted")]
    line: Line = [(name, "muted"), (f"{quota(key, effective.value):>12}", "strong")]
    if BY_KEY[key].adds_up and brokers > 1:
        line.append((f" ×{brokers} = {quota(key, effective.value * brokers)}", "muted"))
    line.append((f"  {quota_entity(effective.entity)}", ""))
    if effective.beaten:
        line.append((f"  over {_overridden(key, effective)}", "muted"))
    if sharing and (shared := SHARED[effective.shared].sentence):
        line.append((f"; {shared}", "muted"))
    return line
