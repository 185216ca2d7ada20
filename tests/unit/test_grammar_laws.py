"""Laws of the language: what is written reads back, and no text does harm."""

import re

from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from console.language.acl_words import OPERATIONS
from console.language.arguments import COMPARISONS
from console.language.errors import ParseError
from console.language.grammar import parse, read
from console.language.operation_words import BeginOperation
from console.language.quoting import quote
from console.language.statements import Asked, Assign, Entity, FieldFilter, FromFile, Glob, Key, Name, Where
from console.language.tokenizer import NOWHERE, Span, scan
from console.language.unparse import unparse
from console.language.verbs import VERBS
from console.language.verbs.access import Access
from console.language.verbs.alter import Alter
from console.language.verbs.apply import Apply
from console.language.verbs.at import AtTime
from console.language.verbs.cancel import CancelMoves
from console.language.verbs.check import Check
from console.language.verbs.create import Create
from console.language.verbs.ctx import UseContext
from console.language.verbs.delete import Delete, DeleteRecords
from console.language.verbs.discard import Discard
from console.language.verbs.effective import EffectiveQuota
from console.language.verbs.explain import Explain
from console.language.verbs.feature import FeatureSet
from console.language.verbs.grow import Grow
from console.language.verbs.help import Help
from console.language.verbs.history import History
from console.language.verbs.leave import Quit
from console.language.verbs.listing import KINDS, List
from console.language.verbs.move import MovePartition, MoveToDir
from console.language.verbs.operations import AskOfOperation
from console.language.verbs.panes import PANES, View
from console.language.verbs.plan import ShowPlan
from console.language.verbs.record import Record
from console.language.verbs.records import Records
from console.language.verbs.revert import Revert
from console.language.verbs.scram import ScramDelete, ScramSet
from console.language.verbs.show import Show
from console.language.verbs.undo import Redo, Undo
from console.language.verbs.unregister import Unregister
from console.language.verbs.unset import Unset
from console.model.acl import LITERAL, PREFIXED
from console.model.codes import (
    BROKER_LOGGER,
    CLIENT_METRICS,
    GROUP,
    AclOperation,
    AclResourceType,
    Permission,
    ScramMechanism,
)
from console.model.config import CLUSTER_DEFAULT, ConfigResource, broker_resource, topic_resource
from console.model.quota import QuotaEntity
from console.operations.goals import Balance, Drain, DrainDir, MoveIntoDir, MoveTopic, Replace, Replicate, Restore

AWKWARD = st.text(alphabet="ab =;'\"\\\n\t#@?<>!~*[],:-", max_size=8)
SPELLED = st.sampled_from(
    [
        "<default>",
        "client",
        "topic",
        "for",
        "from",
        "prefixed",
        "on",
        "?",
        "@x",
        "--yes",
        "#",
        "a=b",
        "",
        "client-metrics",
    ]
)
TEXT = st.one_of(st.text(max_size=10), AWKWARD, SPELLED)
NAMES = TEXT.filter(bool)
PLAIN = st.from_regex(r"[a-z][a-z.]{0,6}", fullmatch=True)

keys = st.builds(Key, NAMES, st.just(True)) | st.builds(Key, PLAIN.filter(lambda key: quote(key) == key))
secrets = st.builds(FromFile, NAMES) | st.builds(Asked)
assigns = st.lists(st.builds(Assign, keys, TEXT | secrets), min_size=1, max_size=3).map(tuple)
quota_names = st.none() | NAMES
subjects = st.one_of(
    NAMES.map(topic_resource),
    NAMES.map(lambda name: ConfigResource(GROUP, name)),
    NAMES.map(lambda name: ConfigResource(CLIENT_METRICS, name)),
    st.integers(0, 2**31 - 1).map(broker_resource),
    st.integers(0, 2**31 - 1).map(lambda number: ConfigResource(BROKER_LOGGER, str(number))),
    st.just(CLUSTER_DEFAULT),
    quota_names.map(lambda name: QuotaEntity.of({"user": name})),
    quota_names.map(lambda name: QuotaEntity.of({"client-id": name})),
    quota_names.map(lambda name: QuotaEntity.of({"ip": name})),
    st.tuples(quota_names, quota_names).map(lambda pair: QuotaEntity.of({"user": pair[0], "client-id": pair[1]})),
)
entities = st.none() | st.builds(Entity, subjects)
topic_names = st.builds(Name, NAMES)
patterns = st.none() | TEXT
some_keys = st.lists(keys, max_size=3).map(tuple)
replicas = st.lists(st.integers(0, 9), min_size=1, max_size=3, unique=True).map(tuple)
goals = st.one_of(
    st.builds(Drain, replicas),
    st.builds(Replace, st.integers(0, 2**31 - 1), st.integers(0, 2**31 - 1)),
    st.just(Balance()),
    st.builds(MoveTopic, NAMES, replicas),
    st.builds(Replicate, NAMES, st.integers(0, 2**15 - 1)),
    st.builds(DrainDir, st.integers(0, 2**31 - 1), NAMES),
    st.builds(MoveIntoDir, NAMES, st.integers(0, 2**31 - 1), NAMES, st.none() | st.integers(0, 2**31 - 1)),
    st.builds(Restore, st.integers(0, 2**63 - 1)),
)
mechanisms = st.sampled_from([ScramMechanism(1), ScramMechanism(2)])
operations = st.lists(st.sampled_from(OPERATIONS), min_size=1, max_size=3, unique=True).map(
    lambda names: tuple(map(AclOperation.parse, names))
)
principals = st.builds("{}:{}".format, NAMES.filter(lambda kind: ":" not in kind), TEXT)
target_types = st.sampled_from([2, 3, 5, 6, 7]).map(AclResourceType)
permissions = st.sampled_from([Permission(2), Permission(3)])


def access(cluster):
    name = st.none() if cluster else NAMES
    kind = st.just(AclResourceType(4)) if cluster else target_types
    pattern = st.just(LITERAL) if cluster else st.sampled_from([LITERAL, PREFIXED])
    return st.builds(Access, st.booleans(), permissions, principals, operations, kind, name, pattern, NAMES)


def explanations(cluster):
    name = st.none() if cluster else NAMES
    kind = st.just(AclResourceType(4)) if cluster else target_types
    return st.builds(Explain, principals, operations, kind, name, NAMES)


def creations():
    # A creation without any assignment can't be written.
    counted = st.builds(
        Create,
        topic_names,
        st.just(-1) | st.integers(1, 99),
        st.integers(1, 9),
        st.just(()),
        configs=assigns | st.just(()),
    )
    assigned = st.builds(
        Create,
        topic_names,
        assignments=st.lists(replicas, min_size=1, max_size=3).map(tuple),
        timeout_ms=st.none() | st.integers(1, 2**31 - 1),
        configs=assigns | st.just(()),
    )
    return counted | assigned


def _records(topic, partition, start, filters, committed, form, reveal):
    (word, at, count), (text, key, json) = start, filters
    return Records(topic, partition, word, at, count, text, key, json, committed, form, reveal)


counts = st.integers(1, 10_000)
record_starts = st.one_of(
    st.tuples(st.sampled_from(["last", "first"]), st.just(""), counts),
    st.tuples(st.just("offset"), st.integers(0, 2**63 - 1).map(str), counts),
    st.tuples(st.just("time"), st.sampled_from(["2h", "14:05", "2026-11-20T14:05", "2026-11-20"]), counts),
    st.tuples(st.just("group"), NAMES, counts),
)
record_filters = st.tuples(
    TEXT, TEXT, st.sampled_from(["", "$", "$.a.b[0]=x y", "$['a b'][-1]>=1.5", "$[*].c!=last", "$.a='quoted'"])
)
records = st.builds(
    _records,
    NAMES,
    st.none() | st.integers(0, 99),
    record_starts,
    record_filters,
    st.booleans(),
    st.sampled_from(["", "text", "json", "hex"]),
    st.booleans(),
)

partition_numbers = st.none() | st.integers(0, 2**31 - 1)

# A context, a user of SCRAM and an effective quota's names are never `<default>` unless quoted, which `quote` does.
statements = st.one_of(
    st.builds(Show, entities, some_keys, st.booleans()),
    st.builds(
        List,
        st.sampled_from(KINDS),
        st.lists(st.builds(Glob, patterns), max_size=3).map(tuple),
        st.lists(st.builds(FieldFilter, NAMES, patterns, st.sampled_from(COMPARISONS)), max_size=3).map(tuple),
    ),
    st.builds(
        Alter,
        st.sampled_from(["set", "append", "subtract"]),
        entities,
        assigns,
        st.none() | st.integers(1, 10**15),
    ),
    st.builds(Unset, entities, st.lists(keys, min_size=1, max_size=3).map(tuple)),
    creations(),
    st.builds(Grow, topic_names, st.integers(1, 2**31 - 1)),
    st.builds(Delete, topic_names),
    st.builds(DeleteRecords, topic_names, partition_numbers, st.integers(0, 2**63 - 1)),
    st.builds(DeleteRecords, topic_names, partition_numbers, st.none(), st.none() | st.integers(0, 4 * 10**12)),
    st.builds(Unregister, st.integers(0, 2**31 - 1)),
    st.builds(CancelMoves, topic_names, partition_numbers),
    st.builds(MovePartition, topic_names, st.integers(0, 2**31 - 1), replicas, st.booleans()),
    st.builds(MoveToDir, topic_names, st.integers(0, 2**31 - 1), st.integers(0, 2**31 - 1), NAMES),
    st.builds(AskOfOperation, st.integers(0, 2**63 - 1), st.none() | st.integers(0, 2**63 - 1)),
    st.builds(BeginOperation, goals, st.none() | st.integers(1, 2**63 - 1)),
    st.builds(
        FeatureSet,
        st.dictionaries(NAMES, st.integers(0, 2**15 - 1), min_size=1, max_size=3).map(
            lambda found: tuple(found.items())
        ),
    ),
    access(True),
    access(False),
    explanations(True),
    explanations(False),
    st.builds(ScramSet, NAMES, mechanisms, secrets, st.none() | st.integers(1, 99999)),
    st.builds(ScramDelete, NAMES, mechanisms),
    st.builds(EffectiveQuota, NAMES, NAMES, st.none() | keys),
    records,
    st.builds(ShowPlan, TEXT),
    st.builds(Check),
    st.builds(Apply, st.booleans(), st.booleans(), st.booleans()),
    st.builds(Discard, st.builds(Entity, subjects), st.none() | keys),
    st.just(Discard()),
    st.builds(Undo),
    st.builds(Redo),
    st.builds(Revert, TEXT),
    st.builds(View, st.sampled_from(PANES), TEXT),
    st.builds(History, st.builds(Entity, subjects)) | st.builds(History, st.none(), TEXT),
    st.builds(UseContext, NAMES),
    st.builds(Record, TEXT),
    st.builds(AtTime, NAMES),
    st.builds(Help, TEXT),
    st.builds(Quit),
)
# Words of the language in any order reach further into the grammar than letters do.
FRAGMENT_WORDS = re.findall(
    r"\S+",
    "topic user client broker logger <default> 1 k=v k=@f k=? for 1d on from prefixed cluster User:a READ,WRITE "
    "records last first of group offset limit json $.a as hex "
    "--reveal SCRAM-SHA-256 password=x partitions=1 assign=1:2 --yes 99999999999999999999",
)
FRAGMENTS = st.lists(
    st.sampled_from([*VERBS, *KINDS, *FRAGMENT_WORDS, *";\n#'\"\\= \u202e\x00", "''"]), max_size=9
).flatmap(lambda words: st.sampled_from([" ", ""]).map(lambda glue: glue.join(words)))
ANY_TEXT = st.one_of(st.text(), AWKWARD, FRAGMENTS)


def spans(value):
    if isinstance(value, Span):
        yield value
    elif isinstance(value, Struct):
        for name in value.__struct_fields__:
            yield from spans(getattr(value, name))
    elif isinstance(value, tuple):
        for item in value:
            yield from spans(item)


def written(script):
    return "\n".join(map(unparse, script))


@given(TEXT)
def test_a_quoted_text_is_one_word_that_stands_for_it(text):
    scanned = scan(f"x {quote(text)} y")
    (statement,) = scanned.statements
    assert [word.text for word in statement.words] == ["x", text, "y"]
    assert not scanned.flaws


@given(NAMES, TEXT)
def test_a_quoted_name_key_and_value_read_back(name, value):
    (statement,) = parse(f"set user {quote(name)} client {quote(name)} {quote(name)}={quote(value)}")
    assert statement.entity.subject == QuotaEntity.of({"user": name, "client-id": name})
    (assign,) = statement.assigns
    assert (assign.key.name, assign.value) == (name, value)


@given(statements)
def test_a_statement_written_out_parses_to_itself(statement):
    assert parse(unparse(statement), Where.BAR) == (statement,)


@given(st.lists(statements, max_size=4).map(tuple))
def test_a_script_written_out_parses_to_itself(script):
    assert parse(written(script), Where.BAR) == script


@given(ANY_TEXT, st.sampled_from(list(Where)))
def test_what_parses_parses_again_from_its_own_writing(text, where):
    try:
        script = parse(text, where)
    except ParseError:
        return
    assert parse(written(script), where) == script


@given(ANY_TEXT, st.sampled_from(list(Where)))
def test_no_text_raises_anything_but_a_parse_error_and_places_lie_within_it(text, where):
    lines = text.split("\n")
    found = [error.span for error in read(text, where).errors]
    try:
        script = parse(text, where)
    except ParseError as error:
        found.append(error.span)
    else:
        found += [span for statement in script for span in spans(statement) if span != NOWHERE]
        assert len(found) >= len(script)
    for span in found:
        assert 0 <= span.start <= span.end <= len(text)
        assert text[: span.start].count("\n") + 1 == span.line
        assert 1 <= span.column <= len(lines[span.line - 1]) + 1


@given(ANY_TEXT)
def test_marks_are_in_order_and_within_the_text(text):
    reading = read(text, Where.BAR)
    end = 0
    for mark in reading.marks:
        assert end <= mark.start < mark.end <= len(text)
        end = mark.end
