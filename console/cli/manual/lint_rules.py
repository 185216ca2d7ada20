"""Generates docs/lint.md, the page on lint and its rules."""

from __future__ import annotations

import re
from collections.abc import Iterator

from console.lint.rule import Rule
from console.lint.rules import SUBJECTS

_DOCS = "https://kafka.apache.org/documentation/#"
_HEAD = """\
<!-- Made by python -m console.cli.manual.pages lint; do not edit. -->
# Lint: what stands wrong before it hurts

```sh
kac lint -b …                            # every rule over the whole cluster
kac lint -b … --rule single-replica      # one rule, and all that it finds
kac lint -b … -f wanted.yaml             # what files will bring, before they are applied
kac lint --offline -f wanted.yaml        # the same without a cluster, by Kafka's defaults
kac lint -b … --exit-code --output junit # for continuous integration: 3 if a finding is not accepted
```

[Triage](triage.md) names what goes wrong now; lint names what will once a broker restarts, a disk fills or a client
errs. It only reads.

- A finding names the entity to mend. A value that topics inherit is one finding, on the broker or the default that
  sets it, with the number of topics that inherit it.
- Its remedy is a statement for `kac run -e` or the command bar, if an edit mends it, else an advice. kac applies
  nothing: you stage the statement like any other, with its [warnings](trust.md).
- The severity in the tables below is that of the rule; a finding may be worse or milder, such as a certificate by the
  time that is left.
- `certain`: no cluster is better with it. `likely`: hardly any cluster is. `possible`: an operator may mean it.
- A part that kac could not read makes no finding. The report names the rules that did not look, and the reason: a
  missing right, a broker that does not answer. It also names topics, brokers and groups that it could not read.
- `--skip NAME` leaves a rule out. The text lists ten findings of a rule; `--all` and `--rule` list all of them, as JSON
  and JUnit do. JUnit has a test case for each rule and a failure for each finding; it skips a rule that did not look.

## Accepting a finding

You accept a finding that you mean, with a reason: in the [context](connect.md), or in [wanted files](files.md), which
count with `-f`. `subject` is a glob of the entity as lint prints it.

```toml
[[contexts.prod.lint]]
rule = "single-replica"
subject = "topic scratch-*"
reason = "rebuilt every night"
```

```yaml
lint:
  - rule: single-replica
    subject: topic scratch-*
    reason: rebuilt every night
```

An accepted finding stays in the report with its reason, and does not count for `--exit-code`. The report also names an
acceptance that no finding needs any more.

## Wanted files

With `-f` lint looks at the cluster as it will be after the files. It reports the findings on the entities that the
files list, with file and line, and findings that the files bring on others: you write the remedy into the file. A
controller will choose the brokers of a new topic: lint assumes that it spreads the replicas over brokers and racks.

`--offline` judges files without a cluster, by three brokers in three racks with Kafka's own defaults. It reports only
findings on the entities of the files.

kac compares schemas of Avro itself with the registry's versions, in the way that the subject's compatibility level
prescribes: `schema-refused` and `schema-versions-break`. Without a registry, also offline, it compares them with the
files that the subject lists as `earlier`. The report names the schemas that kac could not compare: those of other
types, those that refer to a schema that was not read, subjects without an earlier version
([schemas.md](schemas.md#in-files-and-in-ci)).

From Strimzi's `Kafka` and `KafkaNodePool` kac takes the number of brokers and `spec.kafka.config`, and judges these as
the files of the brokers: what they set, and what they leave to Kafka's defaults. Listeners, racks and disks, which
Strimzi derives, are not judged. `-c NAME` takes one cluster of files for several.
"""


def page() -> str:
    """Return the page as Markdown."""
    return _HEAD + "".join(f"\n## {subject}\n\n" + "\n".join(_table(rules)) + "\n" for subject, rules in SUBJECTS)


def _table(rules: tuple[Rule, ...]) -> Iterator[str]:
    yield "| rule | finds | why it matters | |"
    yield "|---|---|---|---|"
    for rule in rules:
        since = f", since {rule.since}" if rule.since else ""
        how = f"{rule.severity.value}, {rule.certainty.value}{since}; {_source(rule.source)}"
        yield f"| `{rule.name}` | {_cell(rule.title)} | {_cell(rule.why)} | {how} |"


def _source(text: str) -> str:
    """Return the source of a rule: a link to Kafka's documentation, a KIP, or a class as code."""
    if re.fullmatch(r"KIP-\d+", text):
        return text
    if text[0].isupper():
        return f"`{text}`"
    return f"[Avro]({text})" if text.startswith("https://") else f"[Kafka]({_DOCS}{text})"


def _cell(text: str) -> str:
    return re.sub(r"([|<*])", r"\\\1", text)
