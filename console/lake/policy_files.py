"""The files of policies and of a baseline (docs/lake-policies.md): the values that they contain, and a parser that
reports the line of each error.
"""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from console.lake.entities import quota_value
from console.model.entity_types import in_files
from console.model.yaml_places import FileProblem, Node, read_yaml

SEVERITIES = ("high", "medium", "low")
ENTITY_TYPES = (*(each.kafka_word for each in in_files()), "quota", "acl", "scram", "feature")
"""The entity types to which a policy or a baseline may apply, in the spelling of `console.lake.entities`."""

_MAY_BE_MISSING = ("quota", "broker")
"""Entity types whose exactly named entities are judged in every cluster, also where the entity does not exist."""


@dataclass(frozen=True)
class Names:
    """A set of names: those that match one of the globs (`*` and `?`) and none of the globs in `but`."""

    globs: tuple[str, ...]
    but: tuple[str, ...] = ()

    @property
    def pattern(self) -> str:
        """A regular expression for both Python and Java that matches whole names, not parts of them."""
        left_out = f"(?!(?:{_any_of(self.but)})$)" if self.but else ""
        return f"^{left_out}(?:{_any_of(self.globs)})$"

    @property
    def exact(self) -> tuple[str, ...]:
        """The globs without `*` and `?`: each is exactly one name."""
        return tuple(glob for glob in self.globs if not set("*?") & set(glob))


EVERYTHING = Names(("*",))


@dataclass(frozen=True)
class Expected:
    """The conditions that a value must meet, all of them. There is no condition where an attribute is None or (), or
    where `set_on_one` is False.
    """

    at_least: float | None = None
    """The lower limit of a number."""
    at_most: float | None = None
    """The upper limit of a number."""
    infinite: float | None = None
    """The number that means no limit, such as -1 for retention: it counts as higher than every other number. None if no
    number means that.
    """
    below: str | None = None
    """An attribute of the same entity whose number has to be higher."""
    one_of: tuple[str, ...] = ()
    """Texts; the value has to be one of them."""
    none_of: tuple[str, ...] = ()
    """Texts; the value must not be one of them."""
    matches: str | None = None
    """A regular expression that has to be found in the text."""
    matches_not: str | None = None
    """A regular expression that must not be found in the text."""
    is_set: bool | None = None
    """True if a value must exist, False if none may exist; None for no such condition."""
    set_on_one: bool = False
    """Whether at least one of the named entities must have a value."""

    @property
    def words(self) -> str:
        """The conditions as text for operators: ``at least 2, below :replication``."""
        said = [
            self.at_least is not None and f"at least {quota_value(self.at_least)}",
            self.at_most is not None and f"at most {quota_value(self.at_most)}",
            self.below is not None and f"below {self.below.lstrip(':')}",
            self.one_of and " or ".join(self.one_of),
            self.none_of and f"not {' or '.join(self.none_of)}",
            self.matches is not None and f"matches {self.matches}",
            self.matches_not is not None and f"has no {self.matches_not}",
            self.is_set is not None and ("is set" if self.is_set else "is not set"),
            self.set_on_one and "is set on one of them",
        ]
        return ", ".join(each for each in said if each)


@dataclass(frozen=True)
class Policy:
    """A policy: conditions that a value of certain entities must meet.

    `id`, `severity`, `what`, `why` and `rules` are texts for operators; they do not change the judgement.
    """

    id: str
    severity: str
    what: str
    why: str
    entity_type: str
    """The type of the entities to which the policy applies."""
    names: Names
    """The names of the entities to which the policy applies."""
    attrs: Names
    """The attributes that the policy judges."""
    expected: Expected
    clusters: Names = EVERYTHING
    """The clusters in which the policy applies."""
    acl: str | None = None
    """A regular expression of the ACLs that the policy judges in place of `attrs`; None if the policy judges `attrs`.
    """
    inherits: str | None = None
    """The broker config that is in effect if the attribute has no value; None if there is no such config."""
    default: str | None = None
    """Kafka's default, in effect if the config in `inherits` has no value either; None if defaults are not judged."""
    expected_words: str | None = None
    """A text that is shown in place of `expected`; None to show `expected`."""
    show_actual: bool = True
    """Whether a violation shows the value."""
    rules: tuple[str, ...] = ()
    """The names of the rules of `kac lint` that judge the same values in the present state of a cluster. Spark's
    executors have only these names, not the rules.
    """

    @property
    def counts_missing(self) -> bool:
        """Whether the policy judges entities without a value."""
        return self.expected.is_set is True or self.expected.set_on_one or bool(self.inherits or self.default)

    @property
    def always_judged(self) -> tuple[str, ...]:
        """The keys of the entities that are judged in every cluster, whether they exist or not."""
        return self.names.exact if self.counts_missing and self.entity_type in _MAY_BE_MISSING else ()


@dataclass(frozen=True)
class Wanted:
    """A value that a baseline requires of an attribute."""

    entity_type: str
    names: Names
    attr: str
    value: str | None
    """The required value; None if the attribute must not be set."""
    clusters: Names = EVERYTHING
    severity: str | None = None
    """The severity of a difference; None for the usual severity of the attribute."""

    @property
    def always_judged(self) -> tuple[str, ...]:
        """The keys of the entities that are judged in every cluster, whether they exist or not."""
        return self.names.exact if self.value is not None and self.entity_type in _MAY_BE_MISSING else ()


def _any_of(globs: tuple[str, ...]) -> str:
    return "|".join(re.escape(glob).replace(r"\*", "(?s:.*)").replace(r"\?", "(?s:.)") for glob in globs)


# -- reading ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rules:
    """The content of the operator's files: policies, and a baseline."""

    policies: tuple[Policy, ...]
    baseline: tuple[Wanted, ...] = ()
    digests: Mapping[str, str] = field(default_factory=dict)
    """Table -> the digest of the files from which the table is made."""


POLICIES_FILE = "policies.yaml"
BASELINE_FILE = "baseline.yaml"
_WHO = ("except", "clusters")
_PLAIN: Mapping[str, Callable[[Node], Any]] = {
    **dict.fromkeys(("id", "what", "why", "inherits", "default"), Node.text),
    "show_actual": Node.boolean,
}
_CONDITIONS: Mapping[str, Callable[[Node], Any]] = {
    **dict.fromkeys(("at_least", "at_most", "infinite"), Node.number),
    **dict.fromkeys(("one_of", "none_of"), Node.texts),
    **dict.fromkeys(("matches", "matches_not"), Node.pattern),
    "below": Node.text,
    "set": Node.boolean,
    "set_on_one": Node.boolean,
}
_GRANTS = ("permission", "operations", "principal", "host")


def read_policies(text: str, file: str = POLICIES_FILE) -> tuple[Policy, ...]:
    """Parse policies from a file's text. Raises FileProblem."""
    found: dict[str, Policy] = {}
    for node in _rules(text, file, "policies"):
        policy = _policy(node)
        if policy.id in found:
            node.fail(f"duplicate id {policy.id}", "give this one another id")
        found[policy.id] = policy
    return tuple(found.values())


def default_policies() -> tuple[Policy, ...]:
    """Return kac's own policies. Raises FileProblem: their file is missing or invalid."""
    # Use pkgutil, as executors may import this module from a zip.
    data = pkgutil.get_data("console.lake", "default_policies.yaml")
    if data is None:
        raise FileProblem("default_policies.yaml", None, "it is missing in console/lake", "install kac again")
    return read_policies(data.decode(), "default_policies.yaml")


def read_baseline(text: str, file: str = BASELINE_FILE) -> tuple[Wanted, ...]:
    """Parse a baseline from a file's text. If it gives several values for an attribute of an entity, the last one is
    the baseline. Raises FileProblem.
    """
    found: list[Wanted] = []
    for node in _rules(text, file, "baseline"):
        fields = node.fields(("values",), (*ENTITY_TYPES, *_WHO, "severity"))
        entity_type, names, clusters = _about(node, fields)
        severity = fields["severity"].choice(SEVERITIES) if "severity" in fields else None
        for attr, value in fields["values"].named().items():
            wanted = None if value.is_null else ",".join(value.texts())
            found.append(Wanted(entity_type, names, attr, wanted, clusters, severity))
    return tuple(found)


def _rules(text: str, file: str, under: str) -> Iterable[Node]:
    """Return the list under the key `under` of a file that begins with `version: 1`; empty for an empty file. Raises
    FileProblem. file: the path for messages.
    """
    root = read_yaml(text, file).root
    if root.is_null:
        return ()
    fields = root.fields(("version", under))
    if fields["version"].text() != "1":
        fields["version"].fail("unknown version", "write version: 1, or use a newer kac")
    return () if fields[under].is_null else fields[under].items()


def _policy(node: Node) -> Policy:
    optional = (*ENTITY_TYPES, *_WHO, "attr", "grants", "inherits", "default", "expected", "show_actual", "rule")
    fields = node.fields(("id", "severity", "what", "why", "expect"), optional)
    entity_type, names, clusters = _about(node, fields)
    if ("attr" in fields) == ("grants" in fields):
        node.fail("a policy needs either attr or, on acl, grants", "write one of the two")
    if "grants" in fields and entity_type != "acl":
        fields["grants"].fail("only a policy of acl has grants", "use attr")
    made = Policy(
        severity=fields["severity"].choice(SEVERITIES),
        entity_type=entity_type,
        names=names,
        attrs=Names(fields["attr"].texts()) if "attr" in fields else EVERYTHING,
        expected=_expected(fields["expect"]),
        clusters=clusters,
        acl=_grants(fields["grants"]) if "grants" in fields else None,
        rules=fields["rule"].texts() if "rule" in fields else (),
        expected_words=fields["expected"].text() if "expected" in fields else None,
        **{name: read(fields[name]) for name, read in _PLAIN.items() if name in fields},
    )
    if (made.counts_missing or made.expected.below) and len(made.attrs.exact) != 1:
        node.fail("a rule for a missing value, or for two values together, needs one attr without * and ?")
    if made.expected.set_on_one and len(made.names.exact) != len(made.names.globs):
        node.fail("set_on_one needs names without * and ?")
    return made


def _about(node: Node, fields: dict[str, Node]) -> tuple[str, Names, Names]:
    """Return the entity type, the entities' names, and the clusters' names to which a rule of a file applies."""
    types = [name for name in ENTITY_TYPES if name in fields]
    if len(types) != 1:
        node.fail("the entity is missing", f"write one of {', '.join(ENTITY_TYPES)} and a name")
    but = fields["except"].texts() if "except" in fields else ()
    clusters = Names(fields["clusters"].texts()) if "clusters" in fields else EVERYTHING
    return types[0], Names(fields[types[0]].texts(), but), clusters


def _expected(node: Node) -> Expected:
    fields = node.fields((), _CONDITIONS)
    if not fields.keys() - {"infinite"}:
        node.fail("`expect` needs a condition", "for example `at_least: 2`")
    given = {"is_set" if name == "set" else name: _CONDITIONS[name](each) for name, each in fields.items()}
    return Expected(**given)


def _grants(node: Node) -> str:
    """Return the ACLs that a rule describes, as a regular expression of their attributes
    (`console.lake.entities.acl_attr`).
    """
    fields = node.fields((), _GRANTS)
    said = {name: "|".join(map(re.escape, fields[name].texts())) for name in fields}
    parts = (said.get(name, ".*" if name in ("principal", "host") else r"\S+") for name in _GRANTS)
    permission, operation, principal, host = (f"(?:{part})" for part in parts)
    return f"^{permission} {operation} {principal} from {host}$"
