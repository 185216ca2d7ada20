"""Tests that a statement that kac writes for any names and values of a cluster is parsed into exactly these names and
values.
"""

import argparse

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.cli.main import BY_NAME
from console.cli.scheduled import removal_command as leftover_command
from console.language import quoting
from console.language.acl_words import ACL_TYPES
from console.language.grammar import parse
from console.language.interpret import command_of as command
from console.language.interpret import to_edits
from console.language.statements import EditStatement, FromFile, Where
from console.language.unparse import unparse
from console.language.verbs.alter import Alter
from console.language.verbs.create import Create
from console.language.verbs.delete import Delete
from console.language.verbs.listing import List
from console.language.verbs.scram import ScramSet
from console.model import codes
from console.model.acl import Acl
from console.model.changes import NewTopic, ScramUser
from console.model.config import ConfigResource, topic_resource
from console.model.quota import QuotaEntity
from console.model.snapshot import Snapshot
from console.plan import edits as do
from console.plan.stale_throttles import LISTS, StaleThrottle
from console.plan.values import parts_of
from console.present.text import is_harmless
from console.session.lake_staging import edit_text
from tests.support import samples

INJECTED = "1:1 ; set broker 1 ssl.keystore.password=@/tmp/secret ; apply --yes"
HOSTILE = st.sampled_from(
    [
        INJECTED,
        INJECTED.replace(" ; ", "\n"),
        INJECTED.replace(" ; ", "\r"),
        "'; apply --yes; '",
        '"; apply --yes; "',
        "\\",
        "\\\\",
        '\\"; apply --yes',
        "@/etc/passwd",
        "?",
        "#x",
        "a=b",
        "=",
        "<default>",
        "for",
        "client",
        "prefixed",
        "--yes",
        "\x1b]0;x\x07",
        "\u202e",
        "\u2028apply --yes",
        "\x85",
        "\ud800",
        "e\u0301\u0301\u0301",
        "\u3164",
        "\0",
        "日本",
        "'a\"b'",
    ]
)
TEXT = HOSTILE | st.text(st.characters(), max_size=12) | st.text("ab =;'\"\\\n\r\t#@?<>*[],:-", max_size=8)
NAMES = TEXT.filter(bool)


def acls(name: str, other: str) -> Acl:
    return samples.acl(f"User:{other}", name, on="GROUP", pattern="PREFIXED", host=name)


def edits() -> st.SearchStrategy[do.Edit]:
    resources = st.builds(ConfigResource, st.sampled_from([codes.GROUP, codes.CLIENT_METRICS]), NAMES) | NAMES.map(
        topic_resource
    )
    entities = st.builds(lambda user, client: QuotaEntity.of({"user": user, "client-id": client}), NAMES, NAMES)
    lists = NAMES.filter(lambda text: parts_of(text) == (text,))
    users = st.builds(ScramUser, NAMES, st.just(codes.ScramMechanism(1)))
    quota = st.just("producer_byte_rate")
    topics = st.builds(
        lambda name, key, value: do.CreateTopic(NewTopic(name, 3, 1, configs={key: value})), NAMES, NAMES, TEXT
    )
    return st.one_of(
        st.builds(do.SetConfig, resources, NAMES, TEXT),
        st.builds(do.AppendConfig, resources, NAMES, lists),
        st.builds(do.SubtractConfig, resources, NAMES, lists),
        st.builds(do.UnsetConfig, resources, NAMES),
        st.builds(do.SetQuota, entities, quota, st.just(5.0)),
        st.builds(do.UnsetQuota, entities, quota),
        st.builds(do.AddAcl, st.builds(acls, NAMES, NAMES)),
        st.builds(do.RemoveAcl, st.builds(acls, NAMES, NAMES)),
        topics,
        st.builds(do.DeleteTopic, NAMES),
        st.builds(do.DeleteScram, users),
    )


@given(edits())
def test_an_edit_is_one_printable_statement_that_stages_it_and_is_shown(edit: do.Edit) -> None:
    text = command(edit)
    assert is_harmless(text)
    (statement,) = parse(text)
    match edit:
        case (
            do.SetConfig(target, key, value)
            | do.AppendConfig(target, key, value)
            | do.SubtractConfig(target, key, value)
        ):
            assert isinstance(statement, Alter)
            assert statement.entity is not None
            assert statement.entity.subject == target
            assert [(each.key.name, each.value) for each in statement.assigns] == [(key, value)]
        case do.UnsetConfig() | do.SetQuota() | do.UnsetQuota() | do.AddAcl() | do.RemoveAcl() | do.DeleteScram():
            if not isinstance(edit, do.UnsetConfig):
                assert isinstance(statement, EditStatement)
                assert to_edits(statement, Snapshot()) == (edit,)
        case do.CreateTopic(topic):
            assert isinstance(statement, Create)
            assert statement.name.text == topic.name
            assert {each.key.name: each.value for each in statement.configs} == topic.configs
        case do.DeleteTopic(name):
            assert isinstance(statement, Delete)
            assert statement.name.text == name
    if isinstance(edit, do.SetConfig | do.UnsetConfig | do.SetQuota | do.UnsetQuota):
        text = edit_text(edit)
        if len(text) < 400:
            (statement,) = parse(text)
            assert unparse(statement) == unparse(parse(command(edit))[0])


@given(NAMES, st.sampled_from(LISTS), NAMES)
def test_a_leftover_is_one_statement_that_takes_away_exactly_it(topic: str, key: str, value: str) -> None:
    for edit in (do.SubtractConfig(topic_resource(topic), key, value), do.UnsetConfig(topic_resource(topic), key)):
        text = leftover_command(StaleThrottle(edit, value, "why"))
        (statement,) = parse(text)
        assert is_harmless(text)
        if isinstance(statement, Alter):
            assert [(each.key.name, each.value) for each in statement.assigns] == [(key, value)]


@given(TEXT)
def test_a_value_is_never_read_as_a_file_or_asked_for(value: str) -> None:
    for written in (quoting.quote(value), quoting.quote_beside_equals(value), quoting.quoted(value)):
        (statement,) = parse(f"set topic t k={written}")
        assert isinstance(statement, Alter)
        assert statement.assigns[0].value == value
    if value:
        (statement,) = parse(f"scram set u SCRAM-SHA-256 password=@{quoting.quote(value)}")
        assert isinstance(statement, ScramSet)
        assert statement.password == FromFile(value)


@given(TEXT, st.sampled_from(["topics", "quotas"]))
def test_a_pattern_is_one_filter(pattern: str, kind: str) -> None:
    (statement,) = parse(f"list {kind} {quoting.quote_pattern(pattern)}")
    assert isinstance(statement, List)
    assert len(statement.globs) == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["topics", "--list", "--topic", "a*; delete topic a"],
        ["topics", "--describe", "--topic", "a*\ndelete topic a"],
        ["quotas", "--list", "--user", "a* ; apply --yes"],
        ["quotas", "--list", "--client", "* client=x"],
        ["acls", "--list", "--principal", "User:* ; apply --yes"],
        ["tokens", "--list", "--owner-principal", "User:* ; apply --yes"],
        ["scram", "--list", "--user", "a*;apply --yes"],
    ],
)
def test_an_option_of_a_noun_is_one_word_of_its_statement(arguments: list[str]) -> None:
    command_ = BY_NAME[arguments[0]].noun()
    parser = argparse.ArgumentParser()
    command_.add_options(parser)
    action, *options = arguments[1:]
    statements = command_.meaning(parser.parse_args(options), action.removeprefix("--"))
    assert isinstance(statements, tuple)
    (text,) = statements
    parsed = parse(text, Where.RUN)
    assert len(parsed) == 1
    assert isinstance(parsed[0], List)
    assert len(parsed[0].globs) + len(parsed[0].fields) == 1


def test_every_word_with_a_meaning_is_reserved() -> None:
    assert {*quoting.ENTITY_WORDS, *ACL_TYPES} <= quoting.RESERVED
    assert all(quoting.quote(word) != word for word in quoting.RESERVED)
