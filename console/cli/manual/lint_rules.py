"""Generates docs/lint.md, the page on lint and its rules."""

from __future__ import annotations

import re
from collections.abc import Iterator

from console.lint.rule import Rule
from console.lint.rules import SUBJECTS

_DOCS = "https://kafka.apache.org/documentation/#"
_HEAD = """\
<!-- Made by python -m console.cli.manual.pages lint; do not edit. -->
# Lint: settings that will cause trouble

```sh
kac lint -b …                            # every rule over the whole cluster
kac lint -b … --rule single-replica      # one rule, and all its findings
kac lint -b … -f wanted.yaml             # the findings that the files would bring, before you apply them
kac lint --offline -f wanted.yaml        # the same without a cluster, with Kafka's defaults
kac lint -b … --exit-code --output junit # for continuous integration: 3 if there is a finding that is not accepted
```

[Triage](triage.md) names the trouble that a cluster has now. Lint names settings that will cause trouble when a broker
restarts, a disk fills or a client makes an error. It only reads.

- A finding names the entity to change. If topics inherit a value, there is one finding, on the broker or the default
  that sets the value, with the number of topics that inherit it.
- If an edit repairs the finding, the remedy is a statement for `kac run -e` or the command bar; otherwise it is advice.
  kac applies nothing: you stage the statement like any other, with its [warnings](trust.md).
- The tables below have the usual severity of each rule. A finding may be more or less severe; for example, a
  certificate's severity depends on its remaining time.
- `certain`: the setting is good for no cluster. `likely`: it is good for hardly any cluster. `possible`: an operator
  may have chosen it on purpose.
- If kac could not read a part of the cluster, it makes no finding about it. The report names the rules that could not
  run, and the reason: a missing right, or a broker that does not answer. It also names topics, brokers and groups that
  kac could not read.
- `--skip NAME` leaves a rule out. The text lists ten findings of a rule; `--all` and `--rule` list all of them, as JSON
  and JUnit do. JUnit has a test case for each rule and a failure for each finding; it skips a rule that could not run.

## Accepting a finding

If you chose a setting on purpose, accept its finding with a reason: in the [context](connect.md), or in
[wanted files](files.md), which count with `-f`. `subject` is a glob of the entity as lint prints it.

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

An accepted finding stays in the report with its reason, and does not count for `--exit-code`. The report also names
each acceptance that no finding needs any more.

## Wanted files

With `-f` lint looks at the cluster as it will be after the files. It reports findings on the entities that the files
list, with file and line; you write the remedy into the file. It also reports findings that the files cause on other
entities. The controller will choose the brokers of a new topic, so lint assumes that it spreads the replicas over
brokers and racks.

`--offline` judges files without a cluster. It assumes three brokers in three racks, with Kafka's own defaults. It
reports only findings on the entities of the files.

kac itself compares Avro schemas with the registry's versions, as the subject's compatibility level prescribes:
`schema-refused` and `schema-versions-break`. Without a registry, and offline, it compares them with the files that the
subject lists as `earlier`. The report names the schemas that kac could not compare: schemas of other types, schemas
that refer to a schema that kac did not read, and subjects without an earlier version
([schemas.md](schemas.md#in-files-and-in-ci)).

From Strimzi's `Kafka` and `KafkaNodePool` kac takes the number of brokers and `spec.kafka.config`. It judges these like
the files of the brokers: the values that they set, and the values that they leave to Kafka's defaults. It does not
judge listeners, racks and disks, which Strimzi derives. If the files have several clusters, `-c NAME` selects one.
"""


def page() -> str:
    """Return the page docs/lint.md."""
    return _HEAD + "".join(f"\n## {subject}\n\n" + "\n".join(_table(rules)) + "\n" for subject, rules in SUBJECTS)


def _table(rules: tuple[Rule, ...]) -> Iterator[str]:
    yield "| rule | finds | why it matters | |"
    yield "|---|---|---|---|"
    for rule in rules:
        since = f", since {rule.since}" if rule.since else ""
        how = f"{rule.severity.value}, {rule.certainty.value}{since}; {_source(rule.source)}"
        yield f"| `{rule.name}` | {_cell(rule.title)} | {_cell(rule.why)} | {how} |"


def _source(text: str) -> str:
    """Return the source of a rule in Markdown: a link to Kafka's documentation or a KIP, or the name of a class as
    code.
    """
    if re.fullmatch(r"KIP-\d+", text):
        return text
    if text[0].isupper():
        return f"`{text}`"
    return f"[Avro]({text})" if text.startswith("https://") else f"[Kafka]({_DOCS}{text})"


def _cell(text: str) -> str:
    return re.sub(r"([|<*])", r"\\\1", text)
