"""For each sort of concept that kac keeps in a table (such as columns or verbs): lines that add a new one to a copy of
the tree, and a sequence of steps (a walk) that uses it.

As a script it runs the walks with the tree that is first on the module path, and prints the output of each step as
JSON.
"""

import asyncio
import contextlib
import io
import json
import shlex
import shutil
import sys
import tomllib
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import NamedTuple

import console
from console.admin.client import AdminClient
from console.admin.settings import ConnectionSettings
from console.cli import main as cli
from console.cli.demo import context_of
from console.cli.manual import pages
from console.contexts.configured import Given
from console.contexts.console_settings import ConsoleSettings
from console.embedded import brokers, faults
from console.embedded.spec import ClusterSpec
from console.language import completion, errors, grammar, statements, verb_help
from console.language.needs import needs
from console.language.unparse import unparse
from console.model.snapshot import Snapshot
from console.session.event_reads import gaps
from console.session.session import Session
from console.tui.app import Console
from console.tui.key_help import keys_page

ROOT = Path(__file__).parents[2]
ADDED: dict[str, list[dict[str, str]]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
"""Sort -> the additions. Each has a file and lines; in an existing file, the lines go before the text `before`."""
TOPIC = "checkout.orders"
METRICS = "kac.prom"


def files(*sorts: str) -> set[str]:
    """Return the paths of the files to which new concepts of these sorts add lines."""
    return {each["file"] for sort in sorts for each in ADDED[sort]}


def copy_with_all(tree: Path) -> Path:
    """Copy the shipped packages into a folder, make all additions of `ADDED` there, and return the folder."""
    for package in ("console", "widgets", "themes"):
        shutil.copytree(ROOT / package, tree / package)  # with Python's compiled files
    for each in (row for rows in ADDED.values() for row in rows):
        file = tree / each["file"]
        text, before = (file.read_text("utf-8"), each["before"]) if "before" in each else ("", "")
        assert file.exists() == bool(before)
        assert not before or text.count(before) == 1, (each["file"], before)
        file.write_text(text.replace(before, each["lines"] + before) if before else each["lines"])
    return tree


class Step(NamedTuple):
    """A step of a walk.

    do: a command line, with `@` for the cluster's address, or a function of the cluster that returns the output. words:
    texts that the output must contain; a blank in them matches any number of blanks. code: the expected exit code.
    """

    name: str
    do: str | Callable[[brokers.ThreadedCluster], str]
    words: Sequence[str] = ()
    code: int = 0


def _kac(*arguments: str) -> tuple[int, str]:
    """Run kac in this process. Return the exit code and all output."""
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="\n")
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        code = cli.run(list(arguments))
    out.flush()
    return code, out.buffer.getvalue().decode()


def _completed(*texts: str) -> Callable[[object], str]:
    """Return a step's function: it completes each text without knowledge of a cluster, and returns all proposals,
    joined by blanks.
    """
    return lambda _: " ".join(each.text for text in texts for each in completion.complete(text, len(text), Snapshot()))


def _add(fault: faults.Fault, cluster: brokers.EmbeddedCluster) -> None:
    cluster.faults.add(fault)


def _broken_elsewhere(cluster: brokers.ThreadedCluster) -> str:
    """Let brokers 1 and 3 refuse requests for configs, so that only broker 2 can answer for its own configs. Return
    "".
    """
    for broker in (1, 3):
        for api in ("describe_configs", "incremental_alter_configs"):
            cluster.call(partial(_add, faults.Fault(faults.Fail(42), api, broker)))
    return ""


def _mended(cluster: brokers.ThreadedCluster) -> str:
    cluster.call(lambda broken: broken.faults.clear())
    return ""


def _wanted(text: str) -> Callable[[object], str]:
    """Return a step's function: it writes this text into ``wanted.yaml``, for `kac diff`."""
    return lambda _: f"{Path('wanted.yaml').write_text(text)}"


def _sorted_by_leads(cluster: brokers.ThreadedCluster) -> str:
    """Return the text of the pane of topics, and whether pressing the new column's key sorts the rows by that
    column.
    """
    return asyncio.run(_shown(cluster))


async def _shown(cluster: brokers.ThreadedCluster) -> str:
    context = context_of("quiet", cluster.bootstrap, 1)
    with AdminClient(context.settings) as client:
        session = Session(client, context)
        app = Console(session, ConsoleSettings(), contexts=Given([context]))

        def lines() -> list[str]:
            strips = app.screen._compositor.render_strips()
            return ["".join(segment.text for segment in strip) for strip in strips]

        async with app.run_test(size=(200, 40)) as pilot:
            await pilot.press("2")
            while TOPIC not in "\n".join(lines()):
                await pilot.pause()
            drawn = "\n".join(lines())
            await pilot.press("K")
            while "Lead▾" not in "\n".join(lines()):
                await pilot.pause()
            topics = session.snapshot.topics
            leads = {name: len({each.leader for each in topic.partitions}) for name, topic in topics.items()}
            table = [line.partition("──")[0] for line in lines()]  # without the details next to it
            shown = list(dict.fromkeys(word for line in table for word in line.split() if word in leads))
            in_order = len(shown) > 3 and shown == sorted(shown, key=lambda name: (-leads[name], name))
            return f"{drawn}\n{'sorted' if in_order else shown}"


_TYPE = (
    Step("is asked of one broker", _broken_elsewhere),
    Step("set", "run -b @ -e 'set probe 2 pace.ms=5s tags=a,b; apply --yes'", ["1 request, 1 entity ok, 0 failed"]),
    Step(
        "described",
        "run -b @ -e 'describe probe 2'",
        ["probe 2 2 overrides of 2", "O pace.ms 5000 5 s probe", "O tags a,b probe"],
    ),
    Step(
        "as by kafka-configs",
        "configs -b @ --describe --entity-type probes --entity-name 2",
        ["Dynamic configs for probe 2 are:"],
    ),
    Step("is asked of any", _mended),
    Step("set elsewhere", "run -b @ -e 'set probe 3 pace.ms=250; apply --yes'", ["1 request, 1 entity ok, 0 failed"]),
    Step("listed", "run -b @ -e 'list probes pace_ms>1s'", ["Name Pace ms Tags 2 5000 a,b"]),
    Step("exported", "export -b @", ['probes: "2": pace.ms: "5000" # 5 s tags: "a,b" "3": pace.ms: "250"']),
    Step(
        "compared",
        "compare -b @ probe:2 probe:3",
        ["pace.ms 5000 (probe) 250 (probe)", 'tags a,b (probe) "" (default)'],
    ),
    Step("completed by the shell", "__complete zsh 'kac configs -b @ --probe '", ["2 3"]),
    Step(
        "journalled",
        "history -b @ --journal",
        [
            "probe 3 pace.ms 1000 (default) 250 (probe) applied",
            'probe 2 tags "" (default) a,b (probe) applied',
        ],
    ),
    Step(
        "taken back",
        "run -b @ -e 'revert 2; apply --yes'",
        ["probe 3 pace.ms unset 250 (probe) 1000 (default) staged", "probe 3 applied"],
    ),
    Step("a file", _wanted('version: 1\nprobes:\n  "2":\n    pace.ms: "7000"\n')),
    Step("of a file", "diff -b @ -f wanted.yaml", ["probe 2 pace.ms set 5000 (probe) 7000 (probe) staged"]),
    Step("a wrong file", _wanted('version: 1\nprobes:\n  "12": {}\n')),
    Step("misnamed in a file", "diff -b @ -f wanted.yaml", ["'12' is no probe's id; write one digit"], 2),
    Step(
        "misnamed", "run -b @ -e 'set probe 12 pace.ms=1'", ["expected the number of a broker, one digit, not '12'"], 2
    ),
    Step(
        "without a default",
        "run -b @ -e 'show probe <default>'",
        ["expected the number of a broker, one digit, not '<default>'"],
        2,
    ),
    Step("completed", _completed("set pro", "set probe 2 "), ["probe pace.ms= tags="]),
)
_VERB = (
    Step("staged", f"run -b @ -e 'touch topic {TOPIC} 7; plan'", ["flush.messages", "7 (topic)"], 3),
    Step("applied", f"run -b @ -e 'touch topic {TOPIC} 7; apply --yes'", ["1 request, 1 entity ok, 0 failed"]),
    Step("described", f"run -b @ -e 'describe topic {TOPIC} flush.messages'", ["flush.messages", "7"]),
    Step("taken back", "run -b @ -e 'revert 1; apply --yes'", [TOPIC, "flush.messages", "unset", "applied"]),
    Step(
        "of no topic",
        "run -b @ -e 'touch topic checkout.order 7'",
        ["column 13: there is no topic 'checkout.order'"],
        1,
    ),
    Step("answered", "run -b @ -e tally", ["tally", " topics"]),
    Step("answered as JSON", "run -b @ --output json -e tally", ['"lines": ["', " topics"]),
    Step("written", lambda _: unparse(*grammar.parse("touch topic 'a b' 7")), ["touch topic 'a b' 7"]),
    Step("as elsewhere", lambda _: unparse(*grammar.parse("tap topic a 7", statements.Where.BAR)), ["touch topic a 7"]),
    Step("needed", lambda _: str([*needs(grammar.parse("touch topic 'a b' 7")[0]).topics]), ["'a b'"]),
    Step(
        "helped",
        lambda _: "\n".join("".join(text for text, _ in line) for line in verb_help.verb_lines("touch", 100)),
        ["touch topic NAME MESSAGES", "Stage that a topic is flushed", "For a demonstration alone."],
    ),
    Step("completed", _completed("tou", "touch ", "touch topic a "), ["touch topic 1 10"]),
    Step(
        "coloured",
        lambda _: " ".join(mark.role.value for mark in grammar.read("touch topic a 7").marks),
        ["verb keyword name value"],
    ),
    Step("proposed", lambda _: unparse(*grammar.parse("toch")), ["did you mean 'touch'?"], 2),
    Step("in the manual", lambda _: pages.reference(), ["touch topic NAME MESSAGES", "How many topics there are"]),
    # The verb takes something away, so kac only proposes it for a text with a single typo.
    Step("not proposed", lambda _: unparse(*grammar.parse("tch")), [], 2),
)
_COLUMN = (
    Step("listed", f"run -b @ -e 'list topics {TOPIC}'", ["Internal Led by", f"{TOPIC} "]),
    Step("filtered", "run -b @ -e 'list topics leads>99'", ["no topics match"]),
    Step("as JSON", "run -b @ --output json -e 'list topics leads>0'", [f'"name": "{TOPIC}"', '"leads": 3']),
    Step("described", f"run -b @ --output json -e 'describe topic {TOPIC}'", ['"leads": 3']),
    Step("as CSV", f"topics -b @ --list --topic {TOPIC} --output csv", ["name,partition_count", ",leads,"]),
    Step("completed", _completed("list topics lea"), ["leads"]),
    Step("in the manual", lambda _: pages.reference(), ["`internal`, `leads`"]),
    Step("among the keys", lambda _: keys_page(), ["`K` lead"]),
    Step("drawn and sorted", _sorted_by_leads, ["Lead", TOPIC, "sorted"]),
)
_CAUSE = (
    Step(
        "named",
        f"triage -b @ --for 0s --prometheus {METRICS}",
        ["HIGH there are ", "many-topics, certain", "topics are described (Metadata)"],
        4,
    ),
    Step(
        "as JSON", "triage -b @ --for 0s --output json", ['"cause": "many-topics"', '"text": "ask whose they are"'], 4
    ),
    Step("in metrics", lambda _: Path(METRICS).read_text(), ['kac_triage_cause{cause="many-topics"']),
)
_KIND = (
    Step("staged", "run -b @ -e 'share user zoe 50; plan'", ["user zoe", "request_percentage", "50 %"], 3),
    Step("applied", "run -b @ -e 'share user zoe 50; apply --yes'", ["1 request, 1 entity ok, 0 failed"]),
    Step("described", "run -b @ -e 'describe user zoe'", ["request_percentage", "50 %"]),
    Step("not needed", "run -b @ -e 'share user zoe 50'", ["that is its share already"]),
    Step("journalled", "history -b @ --journal", ["user zoe", "50 %", "applied"]),
    Step("taken back", "run -b @ -e 'revert 1; apply --yes'", ["1 request, 1 entity ok, 0 failed"]),
    Step("gone", "run -b @ --output json -e 'describe user zoe'", ['"quotas": []']),
)
_PART = (
    Step("listed", "run -b @ -e 'list racks'", ["Rack Brokers none 3"]),
    Step("as JSON", "run -b @ --output json -e 'list racks'", ['"racks": [{"name": "none", "brokers": 3}]']),
    Step("filtered", "run -b @ -e 'list racks brokers>99'", ["no racks match"]),
    Step("watched", "events -b @ --for 3s", ["watching for 3 s"]),
    Step(
        "not read yet",
        lambda _: ", ".join(gaps(Snapshot(), ConnectionSettings(()), datetime.now(UTC))),
        ["racks (not read yet)"],
    ),
    Step("completed", _completed("list rac"), ["racks"]),
)
WALKS: dict[str, tuple[ClusterSpec, Sequence[Step]]] = {
    "type of resource": (ClusterSpec(brokers=3), _TYPE),
    "verb": (ClusterSpec(scenario="quiet"), _VERB),
    "column": (ClusterSpec(scenario="quiet"), _COLUMN),
    "cause": (ClusterSpec(scenario="quiet"), _CAUSE),
    "kind of edit": (ClusterSpec(scenario="quiet"), _KIND),
    "part of the snapshot": (ClusterSpec(brokers=3), _PART),
}
"""Sort -> the specification of the cluster, and the steps on it."""


def _said() -> Iterator[tuple[str, tuple[int, str]]]:
    for sort, (spec, steps) in WALKS.items():
        with brokers.run_in_thread(spec) as cluster:
            for step in steps:
                if isinstance(step.do, str):
                    said = _kac(*(word.replace("@", cluster.bootstrap) for word in shlex.split(step.do)))
                else:
                    try:
                        said = 0, step.do(cluster)
                    except errors.ParseError as error:
                        said = 2, str(error)
                yield f"{sort}: {step.name}", said


if __name__ == "__main__":
    assert Path(console.__file__).parents[1] == Path.cwd()
    sys.stdout.write(json.dumps(dict(_said())))
