"""Tests of kac's answers to commands of other tools: each proposed line is a valid line of kac."""

import shlex

import pytest

from console.cli import main as cli
from console.language import other_words
from console.language.errors import ParseError
from console.language.grammar import parse
from console.language.statements import Where
from console.language.verbs import VERBS

FILLED = {"NAME": "app", "TOPIC": "orders", "ID": "3", "LEVEL": "25"}
COMMANDS = {command.name for command in cli.COMMANDS}


@pytest.mark.parametrize("line", sorted({*other_words.LINES.values(), *other_words.ALONE.values()} - {""}))
def test_each_line_is_one_that_kac_takes(line: str) -> None:
    if line.startswith("kac"):
        assert not line.split()[1:] or line.split()[1].lstrip("-") in COMMANDS | {"context"}
        return
    text = line
    for place, value in FILLED.items():
        text = text.replace(place, value)
    (statement,) = parse(text, Where.RUN)
    assert statement is not None


def test_each_command_of_another_tool_is_known_and_has_one_verb() -> None:
    stood_for = [
        each for verb in VERBS.values() for commands in verb.stands_for.values() for each in commands.split(", ")
    ]
    assert len(set(stood_for)) == len(stood_for) > 40
    assert {noun for noun, _ in other_words.LINES} == set(other_words.NOUNS.values())
    assert {action for _, action in other_words.LINES} == set(other_words.VERBS.values())


def test_the_words_of_both_tables_are_one_sort_each_and_a_name_is_data() -> None:
    assert not {word for word in other_words.NOUNS if word in other_words.VERBS}
    for word in other_words.NOUNS:
        assert other_words.our_line([word]), word
    line = other_words.our_line(["topic", "delete", "a; apply --yes"])
    assert line is not None
    (statement,) = parse(line)
    assert type(statement).__name__ == "Delete"
    assert shlex.split(other_words.command_line(line)) == ["kac", "run", "-e", line]


@pytest.mark.parametrize(
    ("typed", "line"),
    [
        ("get topics", "list topics"),  # kubectl
        ("get topic orders", "describe topic orders"),
        ("topic list", "list topics"),  # kcl, rpk
        ("topic describe orders", "describe topic orders"),
        ("topic create a", "create topic a partitions=12 replication=3"),
        ("topic trim-prefix a", "delete records topic a before latest"),
        ("topic add-partitions a", "grow topic a partitions=24"),
        ("group seek app", "reset group app topic TOPIC to earliest"),
        ("get consumer-groups", "list groups"),  # kafkactl
        ("reset consumer-group-offset app", "reset group app topic TOPIC to earliest"),
        ("consume a", "records a"),
        ("kafka-topics.sh --list", "list topics"),  # Kafka's own tools
        ("kafka-consumer-groups.sh --describe --group", "describe group NAME"),
        ("kafka-topics --create", "create topic NAME partitions=12 replication=3"),
        ("consumer-groups", "list groups"),
        ("quorum", "list quorum"),
        ("purge orders", "delete records topic orders before latest"),
        ("purge topic 'a b'", "delete records topic 'a b' before latest"),
        ("security user create bob", "scram set bob SCRAM-SHA-512 password=?"),
        ("config get-contexts", "kac contexts"),
        ("lag", "list groups lag>0"),
        ("log-dirs describe", "list topics size>0"),
        ("cluster health", "kac triage"),
        ("kafka-console-producer a", "produce topic a key TEXT value TEXT"),
        ("use prod", "kac --context prod"),
        ("login", "kac contexts add NAME"),
        ("delete records topic orders", "delete records topic orders before latest"),
        ("describe topic messages", "describe topic messages"),
        ("xyzzy a", None),
    ],
)
def test_what_is_typed_first(typed: str, line: str | None) -> None:
    assert other_words.our_line(shlex.split(typed)) == line


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (["set", "topic", "a", "retention.ms=1d"], "kac run -e 'set topic a retention.ms=1d'"),
        (["topics", "list"], "kac run -e 'list topics'"),
        (["brokers", "list"], "kac run -e 'list brokers'"),
        (["-c", "prod", "quorum"], "kac run -c prod -e 'list quorum'"),
        (["run", "list", "topics"], "kac run -e 'list topics'"),
        (["run", "-b", "h:1", "list topics"], "kac run -b h:1 -e 'list topics'"),
        (["topics", "list", "-b", "h:1"], "kac run -b h:1 -e 'list topics'"),
        (["create", "topic", "a"], "kac run -e 'create topic a partitions=12 replication=3'"),
        (["clone"], "kac run -e 'clone group NAME to NAME'"),
        (["delete", "topic", "a; apply --yes"], """kac run -e 'delete topic '"'"'a; apply --yes'"'"''"""),
        (
            ["set", "topic", "a b", "cleanup.policy=x y"],
            """-e 'set topic '"'"'a b'"'"' cleanup.policy='"'"'x y'"'"''""",
        ),
        (["admin"], "see kac --help"),
        (["tpics"], "kac topics"),
        (["trigae"], "kac triage"),
        (["contexts", "--lst"], "unrecognized arguments: --lst"),
    ],
)
def test_the_command_line_names_the_line_to_type(
    typed: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        code = cli.run(typed)
    except SystemExit as ended:
        code = int(str(ended.code))
    assert code == 2
    told = capsys.readouterr().err.rstrip()
    assert told.endswith(said)
    assert ("usage:" in told) == ("type:" not in told and "see kac" not in told)


def test_a_wrong_option_of_a_right_command_is_not_taken_for_other_words(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.run(["transactions", "describe", "--no-such-option", "1"])
    assert "type:" not in capsys.readouterr().err


@pytest.mark.parametrize(("typed", "line"), [("get topics", "list topics"), ("purge a", "delete records topic a")])
def test_the_language_names_it_too(typed: str, line: str) -> None:
    with pytest.raises(ParseError) as raised:
        parse(typed)
    assert f"write: {line}" in str(raised.value)
