"""Tests of `sources.yaml`: which sources kac reads from it, and the messages for its errors."""

from pathlib import Path

import pytest

from console.collecting.sources import missing, read_sources
from console.lake import inputs
from console.model.yaml_places import FileProblems

FOLDER = Path("/lake")
WHOLE = """\
version: 1
clusters:
  - id: abc
    metadata-log: meta/__cluster_metadata-0
    timezone: Europe/Berlin
    request-logs:
      - broker: 1
        files: [/logs/1/kafka-request.log*, s3a://logs/1/*]
      - {broker: 2, files: /logs/2/kafka-request.log*, timezone: UTC}
    authorizer-logs:
      - {broker: 1, files: "/logs/1/kafka-authorizer.log*"}
      - {broker: 2, files: [logs/2], timezone: UTC}
  - metadata-log: [/a, /b]
  - id: def
    context: prod
    controllers: [c1:9093, "[::1]:9093"]
    timezone: Asia/Tokyo
    request-topic: kafka-requests
  - id: ghi
    context: prod
    request-topic: {name: kafka-requests, context: logs}
journals: /journal
"""


def test_a_whole_file() -> None:
    assert read_sources(WHOLE, "s.yaml", FOLDER) == inputs.Inputs(
        (
            inputs.MetadataLog("/lake/meta/__cluster_metadata-0", "abc"),
            inputs.MetadataLog("/a"),
            inputs.MetadataLog("/b"),
        ),
        (
            inputs.RequestLog(("/logs/1/kafka-request.log*", "s3a://logs/1/*"), "abc", 1, "Europe/Berlin"),
            inputs.RequestLog(("/logs/2/kafka-request.log*",), "abc", 2, "UTC"),
        ),
        (inputs.Journals("/journal"),),
        (inputs.Controllers("def", ("c1:9093", "[::1]:9093"), "prod"),),
        (
            inputs.RequestTopic("kafka-requests", "def", "prod", "Asia/Tokyo"),
            inputs.RequestTopic("kafka-requests", "ghi", "logs", "UTC"),
        ),
        (
            inputs.AuthorizerLog(("/logs/1/kafka-authorizer.log*",), "abc", 1, "Europe/Berlin"),
            inputs.AuthorizerLog(("/lake/logs/2",), "abc", 2, "UTC"),
        ),
    )


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("clusters: []", 1, "write version: 1 at its top"),
        ("version: 1", 1, "names nothing to read"),
        ("version: 1\nclusters: 5", 2, "clusters must be a list"),
        ("version: 1\nclusters:\n - id: a\n   metadata-log: /m\n   timezon: UTC", 5, "did you mean timezone?"),
        ("version: 1\nclusters:\n - id: a\n   timezone: Europe/Berlim\n   metadata-log: /m", 4, "Europe/Berlin"),
        ("version: 1\nclusters:\n - request-logs:\n   - {broker: 1, files: /x}", 3, "id is missing"),
        ("version: 1\nclusters:\n - id: a\n   request-logs:\n   - broker: one\n     files: /x", 5, "no broker's id"),
        ("version: 1\nclusters:\n - id: a\n   request-logs:\n   - broker: 1", 5, "files is missing"),
        ("version: 1\nclusters:\n - authorizer-logs:\n   - {broker: 1, files: /x}", 3, "id is missing"),
        ("version: 1\nclusters:\n - id: a\n   authorizer-logs:\n   - broker: 1", 5, "/logs/kafka-authorizer.log*"),
        ("version: 1\nclusters:\n - controllers: c:9093", 3, "id is missing"),
        ("version: 1\nclusters:\n - id: a\n   controllers: c:port", 4, "HOST:PORT"),
        ("version: 1\nclusters:\n - id: a\n   metadata-log: /m\n   controllers: c:9093", 5, "are the same log"),
        ("version: 1\nclusters:\n - id: a\n   request-topic: {context: logs}", 4, "name is missing"),
        ("version: 1\nclusters:\n - id: a\n   request-topic: {name: t, zone: UTC}", 4, "unknown key 'zone'"),
        ('version: 1\nclusters:\n - id: "a\\0b"\n   metadata-log: /m', 3, "unprintable characters"),
        ("version: 1\njournals: {a: b}", 2, "must be a text"),
        ("version: 1\n\tjournals: a", 2, "invalid YAML"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(text: str, line: int, said: str) -> None:
    with pytest.raises(FileProblems) as caught:
        read_sources(text, "s.yaml", FOLDER)
    assert any(f"s.yaml:{line}:" in str(each) and said in str(each) for each in caught.value.problems), caught.value


def test_all_that_is_wrong_is_said_at_once() -> None:
    with pytest.raises(FileProblems) as caught:
        read_sources("clusters:\n - idd: a\n   timezone: nowhere\njournal: x", "s.yaml", FOLDER)
    assert [each.line for each in caught.value.problems] == sorted(each.line or 0 for each in caught.value.problems)
    assert len(caught.value.problems) >= 4


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    (tmp_path / "__cluster_metadata-0").mkdir()
    logs = tuple(inputs.MetadataLog(path, "a") for path in (str(tmp_path / "data"), str(tmp_path), "s3a://b/x"))
    assert list(missing(inputs.Inputs(logs, journals=(inputs.Journals("/no/journal"),)))) == [
        f"there is no folder {tmp_path / 'data'}",
        f"{tmp_path} is no metadata log but holds one: name {tmp_path}/__cluster_metadata-0",
        "there is no journal at /no/journal",
    ]
