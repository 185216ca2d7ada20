"""Tests of completion: for each place in the grammar, the words that may follow are offered."""

from time import thread_time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from console.language.candidates import LIMIT
from console.language.completion import Completer, complete, completion_needs
from console.language.grammar import parse, read
from console.language.known_names import NameIndex
from console.language.statements import Where
from console.language.verbs import VERBS, verbs_for
from console.language.verbs.listing import KINDS
from console.model.codes import DYNAMIC_TOPIC_CONFIG
from console.model.config import CLUSTER_DEFAULT, ConfigSet, broker_resource, topic_resource
from console.model.quota import QuotaEntity
from console.model.snapshot import Snapshot
from tests.language.said import at, completes, texts
from tests.language.strategies import ANY_TEXT
from tests.unit.command_cluster import LONG, RETENTION_DOCS, SNAPSHOT, entry, topic

ALL_VERBS = [verb.name for verb in verbs_for(Where.BAR)]


def put(text, chosen, snapshot=SNAPSHOT):
    """Choose the completion with the text `chosen` at ``|`` in a line; return the line after it."""
    plain = text.replace("|", "")
    completion = next(one for one in at(text, snapshot) if one.text == chosen)
    return plain[: completion.start] + completion.text + plain[completion.end :]


test_what_can_stand_at_the_cursor = completes(
    ("|", ALL_VERBS),
    ("des|", ["describe"]),
    ("check; undo|", ["undo"]),
    (":history|", ["history"]),
    ("list q|", ["quorum", "quotas"]),
    ("list |", list(KINDS)),
    ("list topics ord|", ["orders", "orders-dlq", "records-per-second="]),
    ("list topics dlq|", ["orders-dlq"]),
    ("list quotas us|", ["user="]),
    ("list quotas user=|", ["<default>", "alice", "bob"]),
    ("list groups state=St|", ["Stable"]),
    ("describe topic ord|", ["orders", "orders-dlq"]),
    ("describe topic ORD|", ["orders", "orders-dlq"]),
    ("describe group b|", ["billing"]),
    ("describe broker |", ["<default>", "1", "2", "3"]),
    ("describe logger |", ["connect", "1", "2", "3"]),
    ("describe user a|", ["alice", "<default>"]),
    ("describe user alice co|", ["consumer_byte_rate", "controller_mutation_rate"]),
    ("describe user alice client |", ["<default>", "'<default>'", "'check out'"]),
    ("set topic orders ret|", ["retention.ms="]),
    ("set topic orders cleanup.policy=|", ["compact", "delete"]),
    ("set topic orders cleanup.policy=compact,|", ["delete"]),
    ("set topic orders preallocate=t|", ["true"]),
    ("set topic orders compression.type=zs|", ["zstd"]),
    ("append topic orders |", ["cleanup.policy="]),
    ("set topic orders retention.ms=1 for 3|", ["30min"]),
    ("set broker 1 ssl.key.password=|", ["?", "@"]),
    ("set logger 1 kafka.server.KafkaApis=D|", ["DEBUG"]),
    ("set ip 10.0.0.1 |", ["connection_creation_rate="]),
    ("expl|", ["explain"]),
    ("explain User:a|", ["User:alice"]),
    ("explain User:a READ,DESCRIBE_| on group g", ["DESCRIBE_CONFIGS"]),
    ("explain User:a READ on |", ["cluster", "topic", "group", "transactional-id", "delegation-token", "user"]),
    ("explain User:a READ on topic or|", ["orders", "orders-dlq"]),
    ("explain User:a READ on group |", ["billing", "empty"]),
    ("explain User:a READ on topic orders |", ["from"]),
    ("effective user alice client |", ["'<default>'", "'check out'"]),
    ("effective user alice client x con|", ["consumer_byte_rate", "controller_mutation_rate"]),
    ("apply --y|", ["--yes"]),
    ("apply --yes |", ["--valid-only", "--force", "--accept"]),
    ("ctx |", ["prod", "dev"]),
    ("help desc|", ["describe"]),
    ("# set topic |", []),
    ("set topic |orders k=v", ["__consumer_offsets", "orders", "orders-dlq", "payments"]),
)


def test_the_selected_entity_gives_the_keys_and_those_that_are_set_come_first():
    assert "topic" in texts("set |")
    assert "retention.ms=" not in texts("set |")
    assert "retention.ms=" in texts("set |", selected=topic_resource("orders"))
    assert texts("set topic orders |")[0] == "retention.ms="
    assert "retention.ms=" not in texts("set topic orders retention.ms=1 |")


@given(documented=st.integers(0, 10), other=st.integers(0, 3))
def test_keys_are_read_with_their_documentation_until_most_have_one(documented: int, other: int):
    """kac reads a resource's keys together with their documentation, as long as most keys have no documentation yet.
    It does so whichever few keys already have one from an earlier read, such as a default's overrides, or the key
    whose details a pane shows.
    """
    names = [f"key.{number}" for number in range(10)]
    mine, default = broker_resource(3), CLUSTER_DEFAULT
    known = structs.replace(
        SNAPSHOT,
        configs={
            mine: ConfigSet(tuple(entry(name, "1") for name in names)),
            default: ConfigSet(tuple(entry(name, "1") for name in names[:other])),
        },
        documentation={(int(mine.type), name): "text" for name in names[:documented]},
    )
    wanted = completion_needs("set broker 3 ", Where.BAR, known, None)
    assert (mine in wanted.resources, wanted.documentation) == (documented < 5, True)


def test_a_key_comes_with_its_value_type_and_documentation():
    (found,) = [one for one in at("set topic orders ret|") if one.text == "retention.ms="]
    assert found.meta == "1 d  set"
    assert found.help == "long, ms, default 7 d. How long a log is kept."
    assert "<" not in found.help
    assert RETENTION_DOCS.startswith("How long")


def test_values_of_a_duration_a_size_and_a_quota_say_what_they_mean():
    found = {one.text: one.meta for one in at("set topic orders retention.ms=1|")}
    assert found["1d"] == "86400000 ms  now"
    assert found["1h"] == "3600000 ms"
    assert found["1ms"] == "1 ms"
    found = {one.text: one.meta for one in at("set topic orders retention.ms=|")}
    assert found["7d"] == "604800000 ms  default"
    assert found["-1"] == "no limit"
    found = {one.text: one.meta for one in at("set topic orders max.message.bytes=2m|")}
    assert found == {"2MiB": "2097152 bytes", "2MB": "2000000 bytes"}
    assert "1048588" in {one.text for one in at("set topic orders max.message.bytes=|")}
    found = {one.text: one.meta for one in at("set user <default> producer_byte_rate=|")}
    assert found["10MB/s"].endswith("now")
    assert texts("set user alice request_percentage=1|") == ["1%", "100%"]


@pytest.mark.parametrize(
    "text",
    ["set topic orders retention.ms=1|", "set topic orders max.message.bytes=|", "set user a producer_byte_rate=3|"],
)
def test_every_value_that_is_offered_can_be_set(text):
    from console.language.interpret import to_edits

    snapshot = structs.replace(SNAPSHOT, topics=SNAPSHOT.topics)
    assert texts(text)
    for chosen in texts(text):
        (statement,) = parse(put(text, chosen))
        assert to_edits(statement, snapshot)


@pytest.mark.parametrize(
    ("text", "chosen", "line"),
    [
        ("desc| topic orders", "describe", "describe topic orders"),
        ("set topic ord| k=v", "orders-dlq", "set topic orders-dlq k=v"),
        ("set topic o|rders k=v", "orders-dlq", "set topic orders-dlq k=v"),
        ("set topic orders ret|=1d", "retention.ms", "set topic orders retention.ms=1d"),
        ("set topic orders retention.ms=|1h", "1h", "set topic orders retention.ms=1h"),
        ("set topic orders cleanup.policy=del|,x", "delete", "set topic orders cleanup.policy=delete"),
        ("describe client ch|", "'check out'", "describe client 'check out'"),
        ("describe client 'ch|", "'check out'", "describe client 'check out'"),
        ("describe client '<|", "'<default>'", "describe client '<default>'"),
        ("list clients ch|", "'check out'", "list clients 'check out'"),
    ],
)
def test_a_choice_takes_the_place_of_what_was_typed(text, chosen, line):
    assert put(text, chosen) == line


def test_names_with_glob_characters_and_keys_of_plugins_are_quoted_where_they_need_it():
    odd = structs.replace(SNAPSHOT, quotas={QuotaEntity.of({"user": "a*"}): {"producer_byte_rate": 1.0}})
    assert put("list users a|", "'a*'", odd) == "list users 'a*'"
    assert put("describe user a|", "a*", odd) == "describe user a*"
    own = ConfigSet((entry("odd key", "1", DYNAMIC_TOPIC_CONFIG, LONG),))
    odd = structs.replace(SNAPSHOT, configs={topic_resource("orders"): own})
    assert texts("set topic orders |", odd) == ["'odd key'="]


def test_hostile_names_are_shown_harmless_and_go_in_as_they_are():
    name = "evil\x1b[2J\u202e"
    odd = structs.replace(SNAPSHOT, topics={name: topic(name)})
    (found,) = at("describe topic e|", odd)
    assert found.display == "evil\\x1b[2J\\u202e"
    (statement,) = parse(put("describe topic e|", found.text, odd))
    assert statement.entity.subject == topic_resource(name)


@given(ANY_TEXT, st.data())
def test_no_text_and_no_cursor_do_harm(text, data):
    cursor = data.draw(st.integers(0, len(text)))
    for completion in complete(text, cursor, SNAPSHOT, topic_resource("orders")):
        assert 0 <= completion.start <= cursor
        assert completion.start <= completion.end <= len(text)
        assert all(char.isprintable() for char in completion.display + completion.meta + completion.help)


@given(st.sampled_from(sorted(VERBS)), st.data())
def test_what_is_chosen_leads_to_a_statement(verb, data):
    """A verb with completions chosen one after the other is a statement that parses, or one that only lacks its end."""
    text = verb
    completer = Completer(contexts=("prod",))
    for _ in range(8):
        offered = completer.complete(f"{text} ", len(text) + 1, SNAPSHOT)
        if not offered:
            break
        text = f"{text} {data.draw(st.sampled_from(offered)).text}"
        if text.endswith("="):
            values = completer.complete(text, len(text), SNAPSHOT)
            text += data.draw(st.sampled_from(values)).text if values else "7"
    mistakes = read(text, Where.BAR).errors
    assert all(error.span.start >= len(text) - 1 for error in mistakes), text


def test_the_index_finds_beginnings_before_the_rest():
    index = NameIndex(["b-orders", "Orders", "orders-dlq", "audit"])
    assert index.find("ord", 9) == ["Orders", "orders-dlq", "b-orders"]
    assert index.find("", 2) == ["audit", "b-orders"]
    assert index.find("ord", 1) == ["Orders"]
    assert index.find("zzz", 9) == []


@given(st.sets(st.text("abAB\n-", max_size=4)), st.sets(st.text("abAB\n-", max_size=4)), st.text("abAB\n-", max_size=3))
def test_an_index_that_was_changed_is_as_one_made_anew(before, after, typed):
    changed = NameIndex(before).changed(before - after, after - before)
    assert changed.find(typed, 99) == NameIndex(changed.names()).find(typed, 99)
    assert sorted(changed.names()) == sorted(after)
    found = changed.find(typed, 99)
    expected = {name for name in after if typed.casefold() in name.casefold()}
    assert set(found) == expected if "\n" not in typed else set(found) <= expected


def test_names_follow_the_snapshot():
    completer = Completer()
    for names in (["a-1", "a-2"], ["a-2"], ["a-2", "a-3", "A-0"], []):
        snapshot = Snapshot(topics={name: topic(name) for name in names})
        found = [one.text for one in completer.complete("describe topic a", 16, snapshot)]
        assert sorted(found) == sorted(names)


def test_a_keystroke_is_quick_among_100_000_topics():
    names = [f"team-{n % 97}.svc-{n % 1009}.orders-{n}" for n in range(100_000)]
    one = topic("t", 1)
    snapshot = Snapshot(topics=dict.fromkeys(names, one))
    completer = Completer()
    completer.prepare(snapshot)
    spent = []
    for typed in ("", "t", "team-5", "team-55.svc-2", "svc-8", "99999", "zzz", "orders-1"):
        text = f"describe topic {typed}"
        begun = thread_time()
        found = completer.complete(text, len(text), snapshot)
        spent.append(thread_time() - begun)
        assert len(found) <= LIMIT
        assert bool(found) == (typed != "zzz")
    assert sorted(spent)[len(spent) // 2] <= 0.005, spent
