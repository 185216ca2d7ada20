"""Candidates for the words that the grammar expects: names from the snapshot, keys with documentation, valid values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from console.language import candidates
from console.language.acl_words import ACL_CLUSTER, ACL_TYPES, OPERATIONS, operations_of
from console.language.grammar import StatementReading
from console.language.known_names import KnownNames, NameIndex
from console.language.quoting import DEFAULT_NAME
from console.language.reader import Candidate, Expected, Form, What
from console.language.statements import Subject, Where
from console.language.verbs import verbs_for
from console.language.vocabulary import base_key, known_entry, known_keys, quota_keys
from console.model import authorizer
from console.model.codes import AclResourceType
from console.model.config import ConfigEntry, ConfigResource, is_override
from console.model.entity_types import BY_WORD, listed_alone
from console.model.quota import BY_KEY, QuotaEntity
from console.model.snapshot import Snapshot
from console.plan.amounts import quota
from console.plan.values import LIST
from console.present.kinds import filter_names
from console.present.values import human_or_text

Names = Callable[[KnownNames, Snapshot], NameIndex]
"""Returns the index of the names in one part of a snapshot."""
_DEFAULT = Candidate(DEFAULT_NAME, "the default", "what holds for all that have nothing of their own", Form.BARE)


class Candidates:
    """The candidates for the words of one statement."""

    def __init__(
        self,
        snapshot: Snapshot,
        names: KnownNames,
        statement: StatementReading,
        selected: Subject | None,
        where: Where,
        contexts: Sequence[str],
    ) -> None:
        self._snapshot = snapshot
        self._names = names
        self._statement = statement
        self._selected = selected
        self._where = where
        self._contexts = contexts

    # -- candidates for whole words --------------------------------------------------------------------------------

    def words(self, expected: Expected, typed: str) -> list[Candidate]:
        """Return the candidates for a word, or for the key of a ``KEY=VALUE``.

        Args:
            expected: what is valid at the place of the word.
            typed: the part of the word before the cursor.

        Returns:
            At most `LIMIT` names and keys, those that begin with `typed` first.
        """
        index = self._index(expected)
        if index is not None:
            beside = candidates.matching(self._beside(expected), typed)
            before = [candidate for candidate in beside if candidate.text.casefold().startswith(typed.casefold())]
            after = [candidate for candidate in beside if candidate not in before]
            return [*before, *_of(index.find(typed, candidates.LIMIT), _form(expected)), *after]
        chosen = candidates.matching(self._few(expected), typed)[: candidates.LIMIT]
        if expected.what in (What.KEY, What.ASSIGN):
            return [self._documented(expected, candidate) for candidate in chosen]
        return chosen

    def _index(self, expected: Expected) -> NameIndex | None:
        snapshot, names = self._snapshot, self._names
        match expected.what:
            case What.TOPIC:
                return None if expected.detail == "new" else names.topics(snapshot)
            case What.RESOURCE:
                return names.resources(snapshot, BY_WORD[expected.detail])
            case What.ACL_NAME:
                return self._acl_names(expected.detail.removeprefix("one "))
            case What.LIST_FILTER | What.FILTER:
                return self._of_kind(expected.detail)
            case what:
                index = _NAMES.get(what)
                return None if index is None else index(names, snapshot)

    def _of_kind(self, kind: str) -> NameIndex | None:
        if kind in _NAMES_OF_KIND:
            return _NAMES_OF_KIND[kind](self._names, self._snapshot)
        listed = next((each for each in (*listed_alone(), BY_WORD["connector"]) if each.plural == kind), None)
        return None if listed is None else self._names.resources(self._snapshot, listed)

    def _acl_names(self, kind: str) -> NameIndex:
        if kind in ("topic", "group", "user"):
            return _NAMES_OF_KIND[f"{kind}s"](self._names, self._snapshot)
        return self._names.acl_names(self._snapshot, ACL_TYPES.get(kind, AclResourceType(0)))

    def _beside(self, expected: Expected) -> list[Candidate]:
        """Return the valid words that are not names from the snapshot, such as ``*`` and ``<default>``."""
        match expected.what:
            case What.USER | What.CLIENT | What.IP:
                return [_DEFAULT]
            case What.ACL_NAME if not expected.detail.startswith("one "):
                return [Candidate("*", f"every {expected.detail}")]
            case What.HOST:
                return [Candidate("*", "any host")]
            case What.LIST_FILTER:
                return self._columns(expected.detail)
            case _:
                return []

    def _few(self, expected: Expected) -> list[Candidate]:
        if expected.offers is not None:
            keys = self._keys(expected, Form.KEY) if expected.what is What.ASSIGN else ()
            return [*expected.offers(self._snapshot), *keys]
        match expected.what:
            case What.WORDS:
                return [Candidate(word, form=Form.BARE) for word in expected.words]
            case What.ENTITY:
                return [Candidate(word, "", BY_WORD[word].help, Form.BARE) for word in expected.words]
            case What.VERB | What.VERB_NAME:
                return [Candidate(verb.name, verb.group, verb.summary, Form.BARE) for verb in verbs_for(self._where)]
            case What.BROKER | What.BROKER_OR_DEFAULT:
                down = expected.detail == "down"
                brokers = [b for b in self._snapshot.cluster.brokers if b.fenced or not down]
                default = [_DEFAULT] if expected.what is What.BROKER_OR_DEFAULT else []
                return default + [Candidate(str(b.id), f"{b.host}:{b.port}", b.rack or "") for b in brokers]
            case What.KEY:
                return list(self._keys(expected, Form.NAME))
            case What.ASSIGN:
                return list(self._keys(expected, Form.KEY))
            case What.PAIR:
                return [Candidate(word.removesuffix("="), "", "", Form.KEY) for word in expected.words]
            case What.OPERATIONS:
                return [Candidate(name) for name in self._operations()]
            case What.LIST_FILTER:
                return self._columns(expected.detail)
            case What.PARTITION:
                topic = self._snapshot.topics.get(expected.detail)
                return [Candidate(str(each.number)) for each in topic.partitions] if topic is not None else []
            case What.CONTEXT:
                return [Candidate(name) for name in self._contexts]
            case _:
                return []

    def _columns(self, kind: str) -> list[Candidate]:
        return [Candidate(column.replace("_", "-"), "column", "", Form.KEY) for column in filter_names(kind)]

    def _operations(self) -> tuple[str, ...]:
        """Return the operations that ACLs on the statement's resource type can have; all operations if the statement
        has no type.
        """
        words = self._statement.words
        for place, word in enumerate(words[:-1]):
            if word.is_bare("on"):
                kind = words[place + 1].text
                type_ = ACL_CLUSTER if kind == "cluster" else ACL_TYPES.get(kind)
                return operations_of(type_) if type_ is not None else OPERATIONS
        return OPERATIONS

    # -- keys ------------------------------------------------------------------------------------------------------

    def _subject(self, expected: Expected) -> Subject | None:
        return expected.subject if expected.subject is not None else self._selected

    def _keys(self, expected: Expected, form: Form) -> Iterator[Candidate]:
        subject = self._subject(expected)
        if subject is None:
            return
        taken = {word.text.partition("=")[0] for word in self._statement.words[1:]}
        if isinstance(subject, QuotaEntity):
            values = self._snapshot.quotas.get(subject, {})
            keys = tuple(values) if expected.detail in ("unset", "discard") and values else quota_keys(subject)
        else:
            keys = tuple(entry.name for entry in self._entries(subject, expected.detail))
        yield from (Candidate(key, form=form) for key in keys if key not in taken)

    def _documented(self, expected: Expected, candidate: Candidate) -> Candidate:
        """Return the candidate for a key, extended by the key's value and documentation. Finding these takes time,
        so this is only called for the candidates that are returned.
        """
        subject, key = self._subject(expected), candidate.text
        if isinstance(subject, QuotaEntity):
            values = self._snapshot.quotas.get(subject, {})
            now = quota(key, values[key]) if key in values else ""
            return candidate._replace(meta=now, help=BY_KEY[key].about if key in BY_KEY else "")
        entry = known_entry(self._snapshot, subject, key) if subject is not None and not candidate.help else None
        if subject is None or entry is None:
            return candidate
        # Show the entry's value only if it is the subject's own: the entry may belong to another topic or broker.
        mine = self._snapshot.configs.get(subject)
        now = _now(entry, subject) if mine is not None and mine.get(key) is entry else ""
        return candidate._replace(meta=now, help=self._help(subject, entry))

    def _entries(self, subject: ConfigResource, verb: str) -> Iterable[ConfigEntry]:
        known = known_keys(self._snapshot, subject)
        entries = [known[key] for key in sorted(known)]
        if verb in ("append", "subtract"):
            return [entry for entry in entries if entry.type == LIST]
        own = self._snapshot.configs.get(subject)
        overrides = {entry.name for entry in own.overrides(subject)} if own is not None else set()
        if verb == "unset" and overrides:
            return [entry for entry in entries if entry.name in overrides]
        return sorted(entries, key=lambda entry: entry.name not in overrides)

    def _help(self, subject: ConfigResource, entry: ConfigEntry) -> str:
        key = base_key(entry.name)
        html = entry.documentation or self._snapshot.documentation.get((int(subject.type), key)) or ""
        return candidates.key_help(entry, key, html)

    # -- values ----------------------------------------------------------------------------------------------------

    def takes_list(self, expected: Expected, key: str) -> bool:
        """Return whether the value of a key is a list, whose items are completed one by one."""
        subject = self._subject(expected)
        if not isinstance(subject, ConfigResource) or expected.what is not What.ASSIGN:
            return False
        entry = known_entry(self._snapshot, subject, key)
        return entry is not None and entry.type == LIST

    def values(self, expected: Expected, key: str, typed: str) -> list[Candidate]:
        """Return the candidates for the value of a ``KEY=VALUE``, the best match first.

        Args:
            expected: what is valid at the place of the pair.
            typed: the part of the value before the cursor; for a list, of its last item.
        """
        if expected.what is What.LIST_FILTER:
            return self._filter_values(expected.detail, key, typed)
        own = expected.values(self._snapshot, key) if expected.values is not None else None
        if own is not None or expected.what is What.PAIR:
            return candidates.matching(own or (), typed)
        subject = self._subject(expected)
        if isinstance(subject, QuotaEntity):
            return candidates.matching(
                candidates.quota_candidates(key, self._snapshot.quotas.get(subject, {}), typed), typed
            )
        entry = known_entry(self._snapshot, subject, key) if subject is not None else None
        help_ = self._help(subject, entry) if subject is not None and entry is not None else ""
        return candidates.matching(candidates.config_candidates(subject, key, entry, typed, help_), typed)

    def _filter_values(self, kind: str, key: str, typed: str) -> list[Candidate]:
        column = key.replace("-", "_")
        fixed = _FIXED.get(column) or tuple(candidates.VALUES.get(key, ()))
        if fixed:
            return candidates.matching([Candidate(word) for word in fixed], typed)
        index = KnownNames.hosts if (kind, column) == ("acls", "host") else _NAMES_OF_COLUMN.get(column)
        if index is None:
            return []
        default = candidates.matching([_DEFAULT], typed) if column in ("user", "client", "ip") else []
        return default + _of(index(self._names, self._snapshot).find(typed, candidates.LIMIT), Form.GLOB)


_NAMES: Mapping[What, Names] = {
    What.GROUP: KnownNames.groups,
    **dict.fromkeys((What.USER, What.USER_NAME, What.SCRAM_USER), KnownNames.users),
    **dict.fromkeys((What.CLIENT, What.CLIENT_NAME), KnownNames.clients),
    What.IP: KnownNames.ips,
    What.PRINCIPAL: KnownNames.principals,
    What.HOST: KnownNames.hosts,
}
_NAMES_OF_KIND: Mapping[str, Names] = {
    "topics": KnownNames.topics,
    "groups": KnownNames.groups,
    "users": KnownNames.users,
    "scram": KnownNames.users,
    "clients": KnownNames.clients,
    "ips": KnownNames.ips,
    "acls": KnownNames.principals,
}
_NAMES_OF_COLUMN: Mapping[str, Names] = {
    "user": KnownNames.users,
    "client": KnownNames.clients,
    "ip": KnownNames.ips,
    "principal": KnownNames.principals,
    "topic": KnownNames.topics,
}
_FIXED = {
    "operation": OPERATIONS,
    "permission": ("ALLOW", "DENY"),
    "resource_type": tuple(type_.name for type_ in authorizer.OPERATIONS_OF),
    "pattern_type": ("LITERAL", "PREFIXED", "MATCH", "ANY"),
    "mechanism": ("SCRAM-SHA-256", "SCRAM-SHA-512"),
    "level": tuple(candidates.LEVELS),
    "internal": ("true", "false"),
    "controller": ("true", "false"),
    "fenced": ("true", "false"),
    "state": ("Stable", "Empty", "PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling", "Dead"),
    "type": ("consumer", "classic", "share", "streams"),
}
"""Column of a list -> the only values that it can have."""


def _of(names: Iterable[str], form: Form) -> list[Candidate]:
    return [Candidate(name, form=form) for name in names]


def _form(expected: Expected) -> Form:
    return Form.GLOB if expected.what is What.LIST_FILTER else Form.NAME


def _now(entry: ConfigEntry, subject: ConfigResource) -> str:
    value = human_or_text(entry.name, entry.value, entry.sensitive)
    return f"{value}  set" if is_override(entry, subject) else value
