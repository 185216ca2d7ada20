"""Tests of properties of the language: statements read back from their text, and every text parses or is refused with a
message.
"""

from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import replace

from console.language.arguments import COMPARISONS
from console.language.errors import ParseError
from console.language.grammar import parse, read
from console.language.operation_words import BeginOperation
from console.language.quoting import quote
from console.language.statements import Entity, FieldFilter, Glob, Where
from console.language.tokenizer import NOWHERE, Span, scan
from console.language.unparse import unparse
from console.language.verbs.alter import Alter
from console.language.verbs.apply import Apply
from console.language.verbs.check import Check
from console.language.verbs.discard import Discard
from console.language.verbs.effective import EffectiveQuota
from console.language.verbs.explain import Explain
from console.language.verbs.go import AtTime, Help, Record, UseContext
from console.language.verbs.history import History
from console.language.verbs.leave import Quit
from console.language.verbs.listing import KINDS, List
from console.language.verbs.operations import AskOfOperation
from console.language.verbs.plan import ShowPlan
from console.language.verbs.records import Bound, Records
from console.language.verbs.revert import Revert
from console.language.verbs.show import Show
from console.language.verbs.undo import Redo, Undo
from console.model.codes import AclResourceType
from console.model.quota import QuotaEntity
from console.operations import goals as goal
from tests.language import strategies

goals = st.one_of(
    st.builds(goal.Drain, strategies.replicas),
    st.builds(goal.Replace, st.integers(0, 2**31 - 1), st.integers(0, 2**31 - 1)),
    st.just(goal.Balance()),
    st.builds(goal.Replicate, strategies.NAMES, st.integers(0, 2**15 - 1)),
    st.builds(goal.DrainDir, st.integers(0, 2**31 - 1), strategies.NAMES),
    st.builds(goal.Restore, st.integers(0, 2**63 - 1)),
)


def explanations(cluster):
    name = st.none() if cluster else strategies.NAMES
    kind = st.just(AclResourceType(4)) if cluster else strategies.target_types
    return st.builds(Explain, strategies.principals, strategies.operations, kind, name, strategies.NAMES)


bound_times = st.sampled_from(["2h", "14:05", "2026-11-20T14:05", "2026-11-20"]).map(lambda at: Bound("time", at))
bound_offsets = st.integers(0, 2**63 - 1).map(lambda at: Bound("offset", str(at)))
topic_globs = strategies.NAMES.filter(lambda name: "," not in name)
records = st.builds(
    Records,
    topics=st.lists(topic_globs, min_size=1, max_size=3, unique=True).map(tuple),
    partition=st.none() | st.integers(0, 99),
    start=st.one_of(
        st.none(),
        st.integers(1, 10**9).map(lambda count: Bound("last", str(count))),
        st.sampled_from([Bound("start"), Bound("end")]),
        st.builds(Bound, st.just("group"), strategies.NAMES),
        bound_offsets,
        bound_times,
    ),
    text=strategies.TEXT,
    where=st.sampled_from(["", "value.a == 'x y'", 'value["a b"] >= 1.5 && key != "it\'s"', "size > 10"]),
    without=st.sampled_from(["", "value", "key"]),
    limit=st.none() | st.integers(0, 10**6),
    committed=st.booleans(),
    form=st.sampled_from(["", "text", "json", "hex"]),
    reveal=st.booleans(),
)
keyed_records = st.builds(replace, records, key=strategies.NAMES, key_only=st.booleans(), follow=st.booleans())
bounded_records = st.builds(
    replace,
    records,
    until=st.one_of(st.none(), st.just(Bound("end")), bound_offsets, bound_times),
    latest=st.booleans(),
)

# Statements of the verbs on which other modules depend; each other verb has a law in `verbs`.
# The names of contexts and effective quotas are `<default>` only in quotes, which `quote` adds.
statements = st.one_of(
    st.builds(Show, strategies.entities, strategies.some_keys, st.booleans()),
    st.builds(
        List,
        st.sampled_from(KINDS),
        st.lists(st.builds(Glob, strategies.patterns), max_size=3).map(tuple),
        st.lists(
            st.builds(FieldFilter, strategies.NAMES, strategies.patterns, st.sampled_from(COMPARISONS)), max_size=3
        ).map(tuple),
    ),
    st.builds(
        Alter,
        st.sampled_from(["set", "append", "subtract"]),
        strategies.entities,
        strategies.assigns,
        st.none() | st.integers(1, 10**15),
    ),
    st.builds(AskOfOperation, st.integers(0, 2**63 - 1), st.none() | st.integers(0, 2**63 - 1)),
    st.builds(BeginOperation, goals, st.none() | st.integers(1, 2**63 - 1)),
    explanations(True),
    explanations(False),
    st.builds(EffectiveQuota, strategies.NAMES, strategies.NAMES, st.none() | strategies.keys),
    keyed_records,
    bounded_records,
    st.builds(ShowPlan, strategies.TEXT),
    st.builds(Check),
    st.builds(Apply, st.booleans(), st.booleans(), st.booleans()),
    st.builds(Discard, st.builds(Entity, strategies.subjects), st.none() | strategies.keys),
    st.just(Discard()),
    st.builds(Undo),
    st.builds(Redo),
    st.builds(Revert, strategies.TEXT),
    st.builds(History, st.builds(Entity, strategies.subjects)) | st.builds(History, st.none(), strategies.TEXT),
    st.builds(UseContext, strategies.NAMES),
    st.builds(Record, strategies.TEXT),
    st.builds(AtTime, strategies.NAMES),
    st.builds(Help, strategies.TEXT),
    st.builds(Quit),
)


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


@given(strategies.TEXT)
def test_a_quoted_text_is_one_word_that_stands_for_it(text):
    scanned = scan(f"x {quote(text)} y")
    (statement,) = scanned.statements
    assert [word.text for word in statement.words] == ["x", text, "y"]
    assert not scanned.flaws


@given(strategies.NAMES, strategies.TEXT)
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


@given(strategies.ANY_TEXT, st.sampled_from(list(Where)))
def test_what_parses_parses_again_from_its_own_writing(text, where):
    try:
        script = parse(text, where)
    except ParseError:
        return
    assert parse(written(script), where) == script


@given(strategies.ANY_TEXT, st.sampled_from(list(Where)))
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


@given(strategies.ANY_TEXT)
def test_marks_are_in_order_and_within_the_text(text):
    reading = read(text, Where.BAR)
    end = 0
    for mark in reading.marks:
        assert end <= mark.start < mark.end <= len(text)
        end = mark.end
