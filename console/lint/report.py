"""The report of lint: the findings of the rules, those that an operator has accepted, and the rules that could not run.
Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from console.lint.acceptance import Acceptance
from console.lint.rule import Found, Rule, Seen
from console.lint.rules import BY_NAME, RULES
from console.model.changes import Target
from console.model.codes import TOPIC
from console.model.config import broker_resource, topic_resource
from console.model.grouping import grouped
from console.model.numbers import plural
from console.model.parts import Part
from console.model.severity import Certainty, Severity

_SEVERITIES, _CERTAINTIES = tuple(Severity), tuple(Certainty)


class Finding(NamedTuple):
    """A finding of a rule, with its acceptance if an operator has accepted it."""

    rule: Rule
    found: Found
    accepted: Acceptance | None = None
    """The acceptance that matches the finding; None if none does."""

    @property
    def severity(self) -> Severity:
        """The severity of the finding, or that of its rule if the finding has none of its own."""
        return self.found.severity or self.rule.severity


class Blind(NamedTuple):
    """Rules that could not run for the same reason."""

    rules: tuple[str, ...]
    why: str
    """The part that was not read, and why."""


class Report(NamedTuple):
    """The result of lint on a cluster."""

    findings: tuple[Finding, ...]
    """The findings, those of a rule together. Rules with the most severe finding come first; the findings of a rule are
    in the order of their subjects.
    """
    blind: tuple[Blind, ...]
    unused: tuple[Acceptance, ...] = ()
    """Acceptances that match no finding although their rule ran, or whose rule does not exist."""
    rules: tuple[Rule, ...] = RULES
    """The rules that the operator requested."""

    @property
    def open(self) -> tuple[Finding, ...]:
        """The findings that are not accepted."""
        return tuple(each for each in self.findings if each.accepted is None)

    @property
    def looked(self) -> int:
        """The number of rules that could run."""
        return len(self.rules) - sum(len(each.rules) for each in self.blind)

    @property
    def counts(self) -> list[tuple[Severity, int]]:
        """The numbers of findings that are not accepted, by severity, the most severe first; severities without
        findings are left out.
        """
        counts = Counter(each.severity for each in self.open)
        return [(severity, counts[severity]) for severity in Severity if counts[severity]]


def lint(
    seen: Seen,
    name: Callable[[Target], str],
    rules: Sequence[Rule] = RULES,
    counts: Callable[[Rule, Found], bool] = lambda _rule, _found: True,
) -> Report:
    """Run rules, and return the report.

    Args:
        seen: the state of the cluster, with the acceptances. A rule does not run if a part that it needs was not read.
        name: a function from a subject to its text, which acceptances match.
        rules: the rules to run.
        counts: a function from a rule and a finding to whether the report includes the finding.
    """
    blind: dict[str, list[str]] = {}
    findings: list[Finding] = []
    used: set[Acceptance] = set()
    looked: set[str] = set()
    for rule in rules:
        why = unread(seen, rule)
        if why:
            blind.setdefault(why, []).append(rule.name)
            continue
        looked.add(rule.name)
        mine = [each for each in seen.accepted if each.rule == rule.name]
        for found in rule.find(seen):
            text = name(found.subject) if mine else ""
            by = next((each for each in mine if each.fits(rule.name, text)), None)
            if by is not None:
                used.add(by)
            if not counts(rule, found):
                continue
            findings.append(Finding(rule, found, by))
    order = {rule.name: number for number, rule in enumerate(rules)}
    worst: dict[str, int] = {}
    for each in findings:
        rank = _SEVERITIES.index(each.severity)
        worst[each.rule.name] = min(rank, worst.get(each.rule.name, rank))
    findings.sort(
        key=lambda each: (worst[each.rule.name], _CERTAINTIES.index(each.rule.certainty), order[each.rule.name])
    )
    unused = tuple(e for e in seen.accepted if e not in used and (e.rule in looked or e.rule not in BY_NAME))
    return Report(tuple(findings), tuple(Blind(tuple(each), why) for why, each in blind.items()), unused, tuple(rules))


def can_look(seen: Seen, rule: Rule) -> bool:
    """Return whether a rule can run: all parts that it needs were read."""
    return not unread(seen, rule)


def unread(seen: Seen, rule: Rule) -> str:
    """Return the reason why a rule can't run: the part that was not read, and its error; ``""`` if it can."""
    snapshot = seen.snapshot
    for part in rule.reads:
        whole = next((e.failure for e in snapshot.failures if e.part == part and e.entity in ("", part)), None)
        if whole is not None:
            return f"{part.noun}: {whole.told}"
        if not _was_read(seen, part):
            return f"{part.noun} were not read"
        if part is Part.FEATURES and (why := _node_unread(seen)):
            return why
    for type_ in rule.configs_of:
        of_topics, of_brokers = map(topic_resource, snapshot.topics), (broker_resource(b.id) for b in seen.brokers)
        wanted = of_topics if type_ == TOPIC else of_brokers
        some = snapshot.topics if type_ == TOPIC else seen.brokers
        if some and not any(resource in snapshot.configs for resource in wanted):
            first = next((e.failure.told for e in snapshot.failures if e.part == Part.CONFIGS), "not answered")
            return f"configs of {'topics' if type_ == TOPIC else 'brokers'}: {first}"
    return ""


def _was_read(seen: Seen, part: Part) -> bool:
    if part is Part.CERTIFICATES:
        return seen.certificates is not None
    if part is Part.FEATURES:
        return seen.features is not None
    if part is Part.LAGS:
        # Groups are described one by one; a described group has its members.
        groups = seen.snapshot.groups
        return not groups or any(group.members is not None for group in groups.values())
    return part in seen.snapshot.read_at or part in seen.absent


def _node_unread(seen: Seen) -> str:
    """Return the reason why the feature levels of a node are unknown; ``""`` if those of all nodes are known."""
    nodes = seen.features.nodes if seen.features is not None else ()
    failed = next(((node.id, node.failure) for node in nodes if node.failure is not None), None)
    return f"features of node {failed[0]}: {failed[1].told}" if failed is not None and failed[1] is not None else ""


def partly(seen: Seen) -> Iterable[str]:
    """Yield a line for each reason why entities are missing in parts that were read, so that the rules did not check
    them.
    """
    failed = {each.entity for each in seen.snapshot.failures if each.part == Part.CONFIGS}
    lacking = sum(topic_resource(name) not in seen.snapshot.configs for name in seen.topics)
    # If no topic's configs were read, either no rule needs them, or the report names the rules that lack them.
    if not failed and 0 < lacking < len(seen.topics):
        yield f"configs of {plural(lacking, 'topic')} were not read"
    counts = grouped(
        ((each.part.removesuffix(" of"), each.failure.told), each.entity)  # "… of" is a part of a single group
        for each in seen.snapshot.failures
        if each.entity not in ("", each.part)
    )
    for (part, why), entities in counts.items():
        more = f" and {len(entities) - 1:,} more" if len(entities) > 1 else ""
        yield f"{part.replace('_', ' ')} of {entities[0]}{more} could not be read: {why}"
