"""Writes the laboratory's table in docs/triage-measured.md from the stored results: ``python -m
benchmarks.faults.table``.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from benchmarks.faults.catalogue import FAULTS
from benchmarks.faults.fault import Fault, Name
from benchmarks.faults.kept import NEIGHBOUR_RESULTS, REAL_NEIGHBOUR_RESULTS, trials
from benchmarks.faults.neighbours import ILL, WELL, Neighbour, troubles
from benchmarks.faults.neighbours.catalogue import NEIGHBOURS
from benchmarks.faults.neighbours.real.catalogue import NOT_MADE, REAL_NEIGHBOURS
from benchmarks.faults.score import Judged, judge, score
from benchmarks.faults.trial import Told, Trial
from tests.support.kafka_jars import RELEASES

PAGE = Path(__file__).parents[2] / "docs" / "triage-measured.md"
BEGIN, END = "<!-- laboratory: made by python -m benchmarks.faults.table -->", "<!-- end of laboratory -->"
VERSIONS = {"4.3": "4.3.0", "3.9": "3.9.1"}


def table(done: Sequence[Trial], beside: Sequence[Trial] = (), real: Sequence[Trial] = ()) -> str:
    """Return the section in Markdown: how each fault is made, which causes triage named on each version, scores, missed
    causes, and the causes that triage named for neighbours.

    beside: trials of neighbours in models. real: trials of neighbours on real brokers.
    """
    judged = [judge(trial) for trial in done]
    single = {(each.trial.faults[0], each.trial.version): each for each in judged if len(each.trial.faults) == 1}
    lines = [
        "| fault | made by | has to be named | on 4.3 | on 3.9 |",
        "|---|---|---|---|---|",
        *(_row(fault, name, single) for fault in FAULTS.values() for name in _unique(fault.named)),
        "",
        *_scores(judged),
        *_healthy(judged),
        *_wrong(judged),
        *_neighbours(beside, real),
    ]
    return "\n".join(lines) + "\n"


def _unique(names: Iterable[Name]) -> list[Name]:
    return list({str(name): name for name in names}.values())


def _row(fault: Fault, name: Name, single: Mapping[tuple[str, str], Judged]) -> str:
    cells = [_cell(name, single.get((fault.name, version))) for version in VERSIONS.values()]
    return f"| {fault.name} | {fault.how} | {name} | {' | '.join(cells)} |"


def _cell(name: Name, judged: Judged | None) -> str:
    if judged is None:
        return "not tried"
    found = judged.named.get(str(name))
    if found is None:
        return "**not recognised**"
    first = min(found, key=lambda told: told.after)
    return f"{first.after:g} s, {first.certainty}"


def _scores(judged: Sequence[Judged]) -> list[str]:
    lines = []
    for short, version in VERSIONS.items():
        for what, count in (("single faults", 1), ("pairs", 2)):
            mine = [
                each
                for each in judged
                if each.trial.version == version
                and len(each.trial.faults) == count
                and all(name in FAULTS for name in each.trial.faults)
            ]
            if mine:
                found = score(mine)
                loads = sorted(each.trial.load for each in mine)
                times = f", median time to the name {found.median:g} s, worst {found.worst:g} s" if count == 1 else ""
                figures = f"precision {found.precision:g} ({found.strict:g} with what was only possible)"
                figures += f", recall {found.recall:g}{times}; two cores, load {loads[0]:g} to {loads[-1]:g}"
                noun = what if mine[1:] else what.removesuffix("s")
                lines.append(f"- {len(mine)} {noun} on {short}: {figures}; {_rules(each.trial for each in mine)}.")
    return lines


def _rules(done: Iterable[Trial]) -> str:
    """Return the commits of the rules by which these trials were judged, as text."""
    commits = sorted({trial.commit or "unknown" for trial in done})
    return f"by the rules of commit{'s' if commits[1:] else ''} {', '.join(commits)}"


def _healthy(judged: Sequence[Judged]) -> list[str]:
    """Return lines about the causes named for healthy clusters."""
    return [
        f"- {each.trial.faults[0]}, {each.trial.seconds / 60:.0f} min on {_short(each.trial)}: "
        f"false alarms: {len(each.alarms) or 'none'}, possible causes: {len(each.guesses) or 'none'}, unexplained: "
        f"{', '.join(each.trial.unexplained) or 'nothing'}; load {each.trial.load:g}, {_rules([each.trial])}."
        for each in judged
        if not FAULTS.keys() & set(each.trial.faults)
    ]


def _short(trial: Trial) -> str:
    return next((short for short, version in VERSIONS.items() if version == trial.version), trial.version)


def _wrong(judged: Sequence[Judged]) -> list[str]:
    """Return lines about the causes that triage missed or named falsely."""
    lines = []
    for each in judged:
        wrong = [f"{name} not recognised" for name in each.missed] + [f"{_told(told)} named" for told in each.alarms]
        if wrong:
            lines.append(f"- {' and '.join(each.trial.faults)} on {_short(each.trial)}: {'; '.join(wrong)}.")
    return ["", "What went wrong in these trials:", "", *lines] if lines else []


def _neighbours(beside: Sequence[Trial], real: Sequence[Trial]) -> list[str]:
    """Return the table of the neighbours (healthy clusters that resemble a fault) and the precision over them: in
    models, and on real brokers.
    """
    done = {(trial.faults[0], trial.version): trial for trial in beside}
    releases = [short for short, version in RELEASES.items() if any(trial.version == version for trial in real)]
    heads = "".join(f" on {short} |" for short in releases)
    known = [each for name, each in NEIGHBOURS.items() if {(name, WELL), (name, ILL)} <= done.keys()]
    if not known:
        return []
    named = sum(any(each.ill.fits(told.cause, told.subject) for told in done[each.name, ILL].told) for each in known)
    alarms = sum(len(troubles(done[each.name, WELL])) for each in known)
    return [
        "",
        "### Neighbours",
        "",
        *NEIGHBOURS_INTRODUCTION.splitlines(),
        "",
        f"| looks like | a healthy cluster | with the fault | triage names |{heads}",
        f"|---|---|---|---|{'---|' * len(releases)}",
        *(_neighbour(each, done[each.name, WELL]) + _on_brokers(each, real, releases) for each in known),
        "",
        f"- {len(known)} neighbours, each without and with the deciding fact: precision "
        f"{round(named / (named + alarms), 3) if named else 0:g}, recall {round(named / len(known), 3):g}; "
        f"{_rules(beside)}.",
        *(_score_on_brokers(short, [each for each in real if each.version == RELEASES[short]]) for short in releases),
        *(f"- Not made on real brokers: {name}: {why}." for name, why in NOT_MADE.items() if releases),
    ]


def _score_on_brokers(short: str, mine: Sequence[Trial]) -> str:
    wells = [trial for trial in mine if trial.faults[1] == WELL]
    alarms = sum(len(troubles(trial)) for trial in wells)
    ills = [(REAL_NEIGHBOURS[trial.faults[0]].ill, trial) for trial in mine if trial.faults[1] == ILL]
    named = sum(any(ill.fits(told.cause, told.subject) for told in trial.told) for ill, trial in ills)
    loads = sorted(trial.load for trial in mine)
    return (
        f"- {len(wells)} of them on real brokers of {short}, with troubles on {sum(bool(troubles(t)) for t in wells)}: "
        f"precision {round(named / (named + alarms), 3) if named else 0:g}, recall {round(named / len(ills), 3):g}; "
        f"two cores, load {loads[0]:g} to {loads[-1]:g}; {_rules(mine)}."
    )


def _on_brokers(each: Neighbour, real: Sequence[Trial], releases: Sequence[str]) -> str:
    """Return the table cells of a neighbour, one for each release."""
    done = {(*trial.faults, trial.version): trial for trial in real}
    cells = []
    for short in releases:
        well, ill = (done.get((each.name, form, RELEASES[short])) for form in (WELL, ILL))
        if well is None or ill is None:
            cells.append("not made")
            continue
        found = [told for told in ill.told if REAL_NEIGHBOURS[each.name].ill.fits(told.cause, told.subject)]
        wrong = "**" + "; ".join(troubles(well)) + "**" if troubles(well) else "well"
        first = min(found, key=lambda told: told.after, default=None)
        named = f"{first.after:g} s, {first.certainty}" if first is not None else "**not recognised**"
        cells.append(f"{wrong}; {named}")
    return "".join(f" {cell} |" for cell in cells)


def _neighbour(each: Neighbour, trial: Trial) -> str:
    told = "**" + "; ".join(troubles(trial)) + "**" if troubles(trial) else ", ".join(sorted(each.told))
    return f"| {each.fault} | {each.how} | {each.decides} | {told or 'nothing'}{' (info)' if each.told else ''} |"


def _told(told: Told) -> str:
    return str(Name(told.cause, told.subject))


def written(page: str, section: str) -> str:
    """Return the page with the section between its marks; append the section if the page has no marks."""
    block = f"{BEGIN}\n{section}{END}"
    if BEGIN in page:
        return re.sub(f"{re.escape(BEGIN)}.*?{re.escape(END)}", lambda _: block, page, flags=re.DOTALL)
    return f"{page.rstrip()}\n\n## The laboratory\n\n{INTRODUCTION}\n\n{block}\n"


INTRODUCTION = """The laboratory makes faults on three real brokers under load, each of which is also a
controller, and removes the faults again (`benchmarks/faults`). Times are seconds from the beginning of the fault
until triage first names its cause, with the highest certainty that the cause got. If a fault began before the
console started, its time counts from that start. `python -m benchmarks.triage` makes the faults again.

The brokers report a missing follower after 5 s instead of 30 s (`replica.lag.time.max.ms`) and a missing broker
after 6 s instead of 9 s (`broker.session.timeout.ms`); with the brokers' defaults the times are longer. A cause
that is neither the fault nor a real consequence of it counts as a false alarm, even if triage named it at only one
poll."""


NEIGHBOURS_INTRODUCTION = """A neighbour is a healthy cluster that has the symptom of a fault. It differs from the
fault in one fact. Without this fact the cluster has to stay without a trouble at every poll; with it triage has to
name the fault (`benchmarks/faults/neighbours`). `python -m benchmarks.faults.neighbours.again` tests the
neighbours again, as values or embedded clusters. On the laboratory's real brokers and under its load, real clients
and Kafka's own requests make the neighbours (`benchmarks/faults/neighbours/real`, `python -m
benchmarks.faults.neighbours.real.again`): triage looks at the healthy cluster, then a script switches the fact on.
The seconds are the time until triage names the cause, with the highest certainty that the cause had then."""


def kept() -> str:
    """Return the section for the stored results."""
    return table(trials(), trials(NEIGHBOUR_RESULTS), trials(REAL_NEIGHBOUR_RESULTS))


def main() -> int:
    """Write the section for the stored results into the page. Return 0."""
    PAGE.write_text(written(PAGE.read_text(), kept()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
