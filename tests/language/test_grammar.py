import pytest

from console.language import statements
from console.language.errors import ParseError
from console.language.grammar import parse
from console.language.unparse import unparse
from console.language.verbs import VERBS, verbs_for
from console.language.verbs.alter import Alter
from console.language.verbs.apply import Apply
from console.language.verbs.discard import Discard
from console.language.verbs.effective import EffectiveQuota
from console.language.verbs.history import History
from console.language.verbs.listing import KINDS, List
from console.language.verbs.plan import ShowPlan
from console.language.verbs.show import Show
from console.model.config import CLUSTER_DEFAULT, ConfigResource, broker_resource, topic_resource
from console.model.quota import QuotaEntity
from tests.language.said import assigned, one, user, wrong


def test_statements_are_parted_by_semicolons_and_newlines_and_comments_end_with_their_line():
    assert [type(s).__name__ for s in parse(" ;; check\n\nundo;redo\r\n;")] == ["Check", "Undo", "Redo"]
    assert [type(s).__name__ for s in parse("check;# first; undo\nredo")] == ["Check", "Redo"]


@pytest.mark.parametrize("text", ["", "  \n ; ", "# only words; delete topic a", " # a\n# b ; check"])
def test_nothing_and_comments_are_no_statements(text):
    assert parse(text) == ()


def test_a_hash_is_data_and_a_key_ends_at_its_first_unquoted_equals_sign():
    assert assigned("set topic a k=#v l=a#b") == {"k": "#v", "l": "a#b"}
    assert assigned("set topic a 'k=1'=v k'='2=w") == {"k=1": "v", "k=2": "w"}
    assert assigned("set topic a for=1") == {"for": "1"}


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("v", "v"),
        ("", ""),
        ("''", ""),
        ("a=b", "a=b"),
        ("a,b=[c]", "a,b=[c]"),
        ("'a;b'", "a;b"),
        ("'a b'", "a b"),
        ("'a\\n\"b'", 'a\\n"b'),
        ('"a\\n\\t\\\\\\"b"', 'a\n\t\\"b'),
        ("x'y'\"z\"w", "xyzw"),
        ("'a\nb'", "a\nb"),
        ("${file:/a/b:c}", "${file:/a/b:c}"),
        ("'@x'", "@x"),
        ("a@x", "a@x"),
        ("'?'", "?"),
        ("a?", "a?"),
    ],
)
def test_values_are_words_of_adjacent_pieces(written, meant):
    assert assigned(f"set topic a k={written}") == {"k": meant}


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("set topic 'a k=v", 11),
        ('set topic a k="v', 15),
        ('set topic a k="\\x"', 16),
        ("check; set topic a k=\\'v", 23),
    ],
)
def test_a_flaw_in_the_quotes_is_named_where_it_is(text, column):
    assert (wrong(text).line, wrong(text).column) == (1, column)


@pytest.mark.parametrize(
    ("text", "subject"),
    [
        ("topic orders", topic_resource("orders")),
        ("topic topic", topic_resource("topic")),
        ("topic '<default>'", topic_resource("<default>")),
        ("group g", ConfigResource.__new__(ConfigResource, 32, "g")),
        ("client-metrics m", ConfigResource.__new__(ConfigResource, 16, "m")),
        ("broker 2", broker_resource(2)),
        ("broker <default>", CLUSTER_DEFAULT),
        ("logger 1", ConfigResource.__new__(ConfigResource, 8, "1")),
        ("ip 10.0.0.1", QuotaEntity.of({"ip": "10.0.0.1"})),
        ("ip <default>", QuotaEntity.of({"ip": None})),
        ("client c", QuotaEntity.of({"client-id": "c"})),
        ("user alice", user("alice")),
        ("user <default>", user(None)),
        ("user '<default>'", user("<default>")),
        ("user <def'ault>'", user("<default>")),
        ("user client", user("client")),
        ("user client client client", user("client", client_id="client")),
        ("user alice client <default>", user("alice", client_id=None)),
        ("user <default> client '<default>'", user(None, client_id="<default>")),
        ('user \'a b\' client "c\\"d"', user("a b", client_id='c"d')),
    ],
)
def test_entities(text, subject):
    assert one(f"set {text} k=v").entity == statements.Entity(subject)
    assert one(f"describe {text}") == Show(statements.Entity(subject), (), True)
    assert one(f"discard {text}") == Discard(statements.Entity(subject))


@pytest.mark.parametrize(
    "entity", ["topic <default>", "group <default>", "client-metrics <default>", "logger <default>"]
)
def test_what_has_no_default_refuses_it(entity):
    error = wrong(f"set {entity} k=v")
    assert error.column == len("set ") + entity.index("<") + 1


@pytest.mark.parametrize("name", ["x", "-1", "1.5", "'<default>'", "''", "99999999999", "٣", "2147483648"])
def test_a_broker_is_a_number_or_the_default(name):
    assert wrong(f"describe broker {name}").column == len("describe broker ") + 1


def test_a_key_knows_whether_it_was_written_plainly():
    (plain, quoted, half) = one("show topic a k 'k' k''").keys
    assert (plain.quoted, quoted.quoted, half.quoted) == (False, True, True)
    for key in ("k", "'k'", "k''", "#", "@"):
        (before,) = one(f"show topic a {key}").keys
        (after,) = one(unparse(one(f"show topic a {key}"))).keys
        assert before.quoted == after.quoted


def test_the_selected_entity_is_meant_only_where_no_entity_keyword_follows():
    assert one("set retention.ms=1d") == Alter("set", None, (statements.Assign(statements.Key("retention.ms"), "1d"),))
    assert one("show 'topic' retention.ms") == Show(
        None, (statements.Key("topic", True), statements.Key("retention.ms"))
    )
    assert one("show") == Show(None)
    assert one("show retention.ms").keys == (statements.Key("retention.ms"),)
    assert wrong("show topic").column == len("show topic") + 1
    assert one("show user alice 'client'") == Show(statements.Entity(user("alice")), (statements.Key("client", True),))
    assert one("show user alice client c k") == Show(
        statements.Entity(user("alice", client_id="c")), (statements.Key("k"),)
    )


def test_secrets_are_sources_and_what_follows_their_key_is_never_repeated():
    assert assigned("set broker 1 a=@/run/x b=? c=@'my file'") == {
        "a": statements.FromFile("/run/x"),
        "b": statements.Asked(),
        "c": statements.FromFile("my file"),
    }
    assert wrong("set broker 1 a=@").column == 16
    assert "hunter2" not in str(wrong("set broker 1 sasl.jaas.config= hunter2"))


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [("90s", 90_000), ("1d", 86_400_000), ("250ms", 250), ("12h", 43_200_000), ("5min", 300_000), ("1.5h", 5_400_000)],
)
def test_a_change_may_be_for_a_time(text, milliseconds):
    assert one(f"set topic a k=v for {text}").for_ms == milliseconds
    assert one(f"append topic a k=v l=w for {text}").for_ms == milliseconds


@pytest.mark.parametrize("text", ["5", "d", "1.5ms", "0s", "-1s", "5 min", "'5m'", "٣s", "10MB", "1s/s"])
def test_a_duration_is_a_number_and_a_unit(text):
    assert wrong(f"set topic a k=v for {text}").column == len("set topic a k=v for ") + 1


def test_list_takes_globs_and_fields():
    assert one("list topics svc-* 'a*' x=1 partitions=1?") == List(
        "topics",
        (statements.Glob("svc-*"), statements.Glob("a[*]")),
        (statements.FieldFilter("x", "1"), statements.FieldFilter("partitions", "1?")),
    )
    assert one("list quotas user=<default> client='<default>'").fields == (
        statements.FieldFilter("user", None),
        statements.FieldFilter("client", "<default>"),
    )
    for kind in KINDS:
        assert one(f"list {kind}") == List(kind)
    for operator in ("=", "!=", ">", ">=", "<", "<="):
        assert one(f"list topics a{operator}5").fields == (statements.FieldFilter("a", "5", operator),)
    assert one("list topics [!a]* x='>5'") == List(
        "topics", (statements.Glob("[!a]*"),), (statements.FieldFilter("x", ">5"),)
    )
    assert one("list clients and 'a>b'").globs == (statements.Glob("and"), statements.Glob("a>b"))


@pytest.mark.parametrize(
    ("filters", "form"),
    [
        ("a=>5", "write a>=5"),
        ("a=<5", "write a<=5"),
        ("a==5", "write a=5"),
        ("a=!5", "write a!=5"),
        ("a<>5", "write a!=5"),
        ("a>>5", "write a=5"),
        ("a=~x.*", "no regular expressions"),
        ("a!~x", "no regular expressions"),
        ("a > 5", "no spaces around it"),
        ("a >5", "no spaces around it"),
        ("a=1 and b=2", "all filters must match"),
        ("where b>2", "all filters must match"),
    ],
)
def test_a_comparison_that_is_none_is_refused_with_the_one_that_is_meant(filters, form):
    assert form in wrong(f"list topics {filters}").hint


def test_effective():
    assert one("effective user client client user") == EffectiveQuota("client", "user")
    assert one("effective user u client ''") == EffectiveQuota("u", "")
    assert "can't be empty" in wrong("effective user '' client c").message
    assert one("effective user u client c k").key == statements.Key("k")
    assert wrong("effective user <default> client c").column == len("effective user ") + 1


def test_apply_history_and_discard():
    assert one("apply") == Apply()
    assert one("apply --valid-only --yes") == Apply(yes=True, valid_only=True)
    assert one("apply --force") == Apply(force=True)
    assert wrong("apply --yes --yes").column == len("apply --yes ") + 1
    assert one("history") == History()
    assert one("history topic orders") == History(statements.Entity(topic_resource("orders")))
    assert one("history", statements.Where.BAR) == History()
    assert one("history orders") == History(filter="orders")
    assert one("discard") == Discard()
    assert one("discard topic a k") == Discard(statements.Entity(topic_resource("a")), statements.Key("k"))
    assert wrong("discard k").column == len("discard ") + 1


def test_what_the_console_shows_is_no_command_of_a_script():
    assert one("plan orders", statements.Where.BAR) == ShowPlan("orders")
    for text in ("ctx a", "help", ":check", "plan orders"):
        assert wrong(text, statements.Where.RUN).column in (1, 6)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("sett topic a k=v", "'set'"),
        ("list topcs", "'topics'"),
        ("set topik a k=v", "'topic'"),
        ("apply --yess", "'--yes'"),
    ],
)
def test_the_nearest_word_is_offered(text, hint):
    assert hint in wrong(text).hint


def test_the_first_mistake_is_told_at_its_place_with_hostile_text_harmless_and_short():
    error = wrong("check\n# ü\n  undo; lst topics")
    assert (error.line, error.column) == (3, 9)
    assert wrong("nope; check; 'open").column == 1
    error = wrong("\x1b[31mred\u202e" + "x" * 500)
    assert "\x1b" not in str(error)
    assert "\u202e" not in str(error)
    assert "x" * 50 not in error.message


@pytest.mark.parametrize("verb", VERBS.values(), ids=lambda verb: verb.name)
def test_every_verb_has_help_and_examples_that_parse_where_it_works(verb):
    assert verb.usage
    assert verb.summary
    assert not verb.summary.endswith(".")
    assert verb.examples
    for where in statements.Where:
        for example in verb.examples:
            if verb.where & where:
                assert parse(example, where)
            else:
                assert wrong(example, where).column == 1


def test_a_verb_is_known_where_the_registry_says():
    for where in statements.Where:
        names = {verb.name for verb in verbs_for(where)}
        for name in VERBS:
            known = True
            try:
                parse(name, where)
            except ParseError as error:
                known = all(
                    part not in error.message for part in ("no command", "view of the console", "begins an oper")
                )
            assert known == (name in names)
