"""Merging of equal causes of many groups, or of one rule of lint, into one cause. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain, islice

from msgspec.structs import replace

from console.model.numbers import plural
from console.model.severity import Severity
from console.plan.edits import Edit, SetQuota, Slot
from console.triage.cause import Claim, Evidence, Next
from console.triage.observations import earliest
from console.triage.symptoms import CLUSTER, Subject

FEW = 3
"""Maximum number of groups, and of partitions of a group, that are reported one by one."""
MOST_COMMANDS = 16
"""Maximum number of commands in one step."""
_SEVERITIES = tuple(Severity)
MOST_NAMED, MOST_STEPS = 8, 100
"""Maximum number of a rule's claims that are evidence of the merged claim, and of its steps: one step has the edits of
all."""


def folded(claims: Sequence[Claim]) -> list[list[int]]:
    """Return lists of indexes of the claims: the claims of each list are reported as one cause.

    All claims of one cause about lasting states (`Claim.stands`) are one list. Claims with `Claim.fold` that agree in
    cause, severity, certainty and entity are one list if they are about more than `FEW` (3) groups, or about several
    groups with the same entity, such as a quota. Otherwise those of a single group are one list if they are more than
    `FEW`. Any other claim is a list of its own.
    """
    found: list[list[int]] = []
    kinds: dict[tuple[object, ...], list[int]] = {}
    states: dict[str, list[int]] = {}
    for place, claim in enumerate(claims):
        if claim.stands is not None:
            states.setdefault(claim.cause, []).append(place)
        elif claim.fold is None:
            found.append([place])
        else:
            # Take the id of enumeration members, which are slow to hash: there may be 10,000 claims.
            kind = claim.cause, id(claim.severity), id(claim.certainty), claim.subject.entity
            kinds.setdefault(kind, []).append(place)
    for mine in kinds.values():
        few = FEW if claims[mine[0]].subject.entity is None else 1
        if len(mine) <= few:
            found += [[place] for place in mine]
            continue
        if _of_many((claims[place] for place in mine), few):
            found.append(mine)
            continue
        groups: dict[str | None, list[int]] = {}
        for place in mine:
            groups.setdefault(claims[place].subject.group, []).append(place)
        for part in groups.values():
            found += [part] if len(part) > FEW else [[place] for place in part]
    return [*found, *states.values()]


def _of_many(claims: Iterable[Claim], few: int) -> bool:
    """Return whether claims are about more than `few` different groups; of 10,000 claims only the first ones are looked
    at.
    """
    groups = set()
    for claim in claims:
        groups.add(claim.subject.group)
        if len(groups) > few:
            return True
    return False


def one_of(claims: Sequence[Claim]) -> Claim:
    """Return one claim that represents all of these claims."""
    first = claims[0]
    if len(claims) == 1:
        return first
    if first.fold is None:
        return _of_states(claims)
    names = {claim.subject.group for claim in claims}
    one, many = first.fold
    if len(names) > 1:
        title = f"{len(names):,} groups {many}"
        subject = Subject(entity=first.subject.entity) if first.subject.entity else CLUSTER
    else:
        title = f"group {first.subject.group} {one} in {len(claims):,} partitions"
        topic = first.subject.topic if len({claim.subject.topic for claim in claims}) == 1 else None
        subject = replace(first.subject, topic=topic, partition=None)
    return replace(
        first,
        subject=subject,
        title=title,
        since=earliest(claim.since for claim in claims),
        times=max(claim.times for claim in claims),
        evidence=_evidence(claims),
        predicted=tuple(chain.from_iterable(claim.predicted for claim in claims)),
        next=tuple(_steps(claims)),
    )


def _of_states(claims: Sequence[Claim]) -> Claim:
    """Return the most severe claim, the first one of equals, with the titles of the most severe claims as its
    evidence.
    """
    claims = sorted(claims, key=lambda claim: _SEVERITIES.index(claim.severity))
    first, more = claims[0], len(claims) - 1
    name, what = first.stands or ("", first.title)
    told = [Evidence(claim.title, claim.evidence[0].source) for claim in claims[:MOST_NAMED]]
    if len(claims) > MOST_NAMED:
        told.append(Evidence(f"and {len(claims) - MOST_NAMED:,} more", told[0].source))
    return replace(
        first,
        title=f"{name} and {more:,} more: {what}",
        members=tuple(claims),
        since=earliest(claim.since for claim in claims),
        evidence=(*told, *first.evidence[1:]),
        predicted=tuple(chain.from_iterable(claim.predicted for claim in claims)),
        next=tuple(islice(_steps(claims), MOST_STEPS)),
    )


def _evidence(claims: Sequence[Claim]) -> tuple[Evidence, ...]:
    """Return one piece of evidence, with the subject, for each of the first claims; the number of the other claims; and
    the evidence that all claims have in common.
    """
    common = [each for each in claims[0].evidence if all(each in claim.evidence for claim in claims)]
    own = [
        next((each for each in claim.evidence if each not in common), claim.evidence[0]) for claim in claims[: FEW + 1]
    ]
    told = [
        Evidence(f"{_about(claim.subject)}: {fact}", source)
        for claim, (fact, source) in zip(claims[:FEW], own, strict=False)
    ]
    if len(claims) > FEW:
        rest, groups = len(claims) - FEW, len({claim.subject.group for claim in claims[FEW:]})
        more = plural(rest, "more group") if rest == groups > 1 else plural(rest, "more partition")
        of = f" of {groups:,} groups" if 1 < groups < rest else ""
        told.append(Evidence(f"and {more}{of}", own[FEW].source))
    return (*told, *(each for each in common if each not in own))


def _about(subject: Subject) -> str:
    place = f" {subject.topic}/{subject.partition}" if subject.topic is not None else ""
    return f"group {subject.group}{place}"


def _higher(known: Edit | None, edit: Edit) -> Edit:
    """Return the edit that helps both claims: of two quotas of one entity the higher one; otherwise `edit`."""
    is_higher = isinstance(known, SetQuota) and isinstance(edit, SetQuota) and known.value >= edit.value
    return known if known is not None and is_higher else edit


def _steps(claims: Sequence[Claim]) -> Iterable[Next]:
    """Yield the steps of all claims; steps with the same text become one. If they have too many commands, only the
    first command is given, as an example.
    """
    steps: dict[str, dict[str, dict[Slot, Edit]]] = {}
    ruled_out: dict[str, frozenset[str]] = {}
    # Take each object once: most of 10,000 claims share the objects of their steps.
    for given in {id(claim.next): claim.next for claim in claims}.values():
        for step in given:
            known = steps.setdefault(step.text, {}).setdefault(step.command, {})
            known.update((edit.slot, _higher(known.get(edit.slot), edit)) for edit in step.edits)
            ruled_out[step.text] = ruled_out.get(step.text, step.ruled_out) & step.ruled_out
    for text, mine in steps.items():
        commands = [command for command in mine if command]
        if len(commands) <= MOST_COMMANDS:
            all_ = {slot: edit for some in mine.values() for slot, edit in some.items()}
            yield Next(text, "; ".join(commands), tuple(all_.values()), ruled_out[text])
        else:
            yield Next(f"{text}, {len(commands):,} of them, as {commands[0]}")
