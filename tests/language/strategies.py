"""Hypothesis strategies for the parts of statements, for tests of properties that hold for all statements."""

import re

from hypothesis import given
from hypothesis import strategies as st

from console.language import statements
from console.language.acl_words import OPERATIONS
from console.language.grammar import parse
from console.language.quoting import quote
from console.language.unparse import unparse
from console.language.verbs import VERBS
from console.language.verbs.listing import KINDS
from console.model.codes import BROKER_LOGGER, CLIENT_METRICS, GROUP, AclOperation, AclResourceType
from console.model.config import CLUSTER_DEFAULT, ConfigResource, broker_resource, topic_resource
from console.model.quota import QuotaEntity

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

keys = st.builds(statements.Key, NAMES, st.just(True)) | st.builds(
    statements.Key, PLAIN.filter(lambda key: quote(key) == key)
)
secrets = st.builds(statements.FromFile, NAMES) | st.builds(statements.Asked)
assigns = st.lists(st.builds(statements.Assign, keys, TEXT | secrets), min_size=1, max_size=3).map(tuple)
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
entities = st.none() | st.builds(statements.Entity, subjects)
topic_names = st.builds(statements.Name, NAMES)
patterns = st.none() | TEXT
some_keys = st.lists(keys, max_size=3).map(tuple)
replicas = st.lists(st.integers(0, 9), min_size=1, max_size=3, unique=True).map(tuple)
operations = st.lists(st.sampled_from(OPERATIONS), min_size=1, max_size=3, unique=True).map(
    lambda names: tuple(map(AclOperation.parse, names))
)
principals = st.builds("{}:{}".format, NAMES.filter(lambda kind: ":" not in kind), TEXT)
target_types = st.sampled_from([2, 3, 5, 6, 7]).map(AclResourceType)
partition_numbers = st.none() | st.integers(0, 2**31 - 1)
# Words of the language in any order reach further into the grammar than random letters do.
FRAGMENT_WORDS = re.findall(
    r"\S+",
    "topic user client broker logger <default> 1 k=v k=@f k=? for 1d on from prefixed cluster User:a READ,WRITE "
    "records last first from start end group offset time limit to text where "
    "size>1 without latest by key follow as hex "
    "--reveal SCRAM-SHA-256 password=x partitions=1 assign=1:2 --yes 99999999999999999999",
)
FRAGMENTS = st.lists(
    st.sampled_from([*VERBS, *KINDS, *FRAGMENT_WORDS, *";\n#'\"\\= \u202e\x00", "''"]), max_size=9
).flatmap(lambda words: st.sampled_from([" ", ""]).map(lambda glue: glue.join(words)))
ANY_TEXT = st.one_of(st.text(), AWKWARD, FRAGMENTS)


def reads_back(statement):
    """Check that the text of a statement parses to an equal statement, both alone and among other statements."""
    text = unparse(statement)
    assert parse(text, statements.Where.BAR) == (statement,)
    before, found, after = parse(f"check\n{text}\nundo", statements.Where.BAR)
    assert (unparse(before), found, unparse(after)) == ("check", statement, "undo")


def read_back(written):
    """Return a test function: each statement that the strategy `written` draws reads back from its text (see
    `reads_back`).
    """

    @given(written)
    def law(statement):
        reads_back(statement)

    return law
