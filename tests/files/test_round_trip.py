"""Tests that a written file reads back equal, and that a cluster in the state of its file has nothing to change."""

from hypothesis import given
from hypothesis import strategies as st

from console.files.compare import compare
from console.files.read import Read
from console.files.reading import take
from console.files.wanted import HIDDEN, Wanted, WantedTopic
from console.files.writing import yaml_text
from console.model import codes
from console.model.acl import CLUSTER_NAME, Acl
from console.model.config import ConfigResource
from console.model.quota import QuotaEntity
from console.model.yaml_places import read_yaml

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
NAME = TEXT.filter(bool) | st.sampled_from(["<default>", "null", "~", "no", "1", "a: b", "# c", "- d", "{e}", "'f'"])
VALUES = st.dictionaries(NAME, TEXT | st.just(HIDDEN), max_size=3)
COUNT = st.integers(1, 10_000) | st.none()
TOPIC = st.builds(WantedTopic, COUNT, COUNT, st.none() | VALUES)
BROKERS = st.integers(0, 9).map(lambda number: ConfigResource(codes.BROKER, str(number))) | st.just(
    ConfigResource(codes.BROKER, "")
)
OTHERS = st.builds(ConfigResource, st.sampled_from([codes.GROUP, codes.CLIENT_METRICS]), NAME)
PART = st.none() | NAME
ENTITY = st.one_of(
    st.fixed_dictionaries({"user": PART}),
    st.fixed_dictionaries({"client-id": PART}),
    st.fixed_dictionaries({"user": PART, "client-id": PART}),
).map(QuotaEntity.of)
LIMITS = st.dictionaries(
    st.sampled_from(["producer_byte_rate", "consumer_byte_rate", "request_percentage", "fetch_rate", "on"]),
    st.integers(1, 10**14).map(float) | st.floats(allow_nan=False),
    min_size=1,
)
TYPE = st.sampled_from([*sorted(set(codes.AclResourceType.NAMES.values()) - {"ANY", "CLUSTER"}), "UNKNOWN(9)"]).map(
    codes.AclResourceType.parse
)
OPERATION = st.sampled_from([*sorted(set(codes.AclOperation.NAMES.values()) - {"ANY"}), "UNKNOWN(99)"]).map(
    codes.AclOperation.parse
)
PERMISSION = st.sampled_from(["ALLOW", "DENY", "UNKNOWN(4)"]).map(codes.Permission.parse)
PATTERN = st.sampled_from(["LITERAL", "PREFIXED", "UNKNOWN(5)"]).map(codes.PatternType.parse)
ACL = st.builds(Acl, TYPE, TEXT, PATTERN, TEXT, TEXT, OPERATION, PERMISSION) | st.builds(
    Acl,
    st.just(codes.AclResourceType.parse("CLUSTER")),
    st.just(CLUSTER_NAME),
    PATTERN,
    TEXT,
    TEXT,
    OPERATION,
    PERMISSION,
)
WANTED = st.builds(
    Wanted,
    st.dictionaries(NAME, TOPIC, max_size=3),
    st.dictionaries(BROKERS | OTHERS, VALUES, max_size=3),
    st.dictionaries(ENTITY, LIMITS, max_size=3),
    st.frozensets(ACL, max_size=4),
)


@given(WANTED, TEXT)
def test_what_is_written_is_read_back(wanted: Wanted, title: str) -> None:
    text = yaml_text(wanted, title)
    assert all(char.isprintable() or char == "\n" for char in text)
    read = Read()
    assert take(read_yaml(text, "here"), read) == []
    assert read.wanted == wanted
    assert compare(read.wanted, wanted) == ()


@given(WANTED)
def test_the_same_state_is_the_same_text(wanted: Wanted) -> None:
    backwards = Wanted(
        dict(reversed(wanted.topics.items())),
        dict(reversed(wanted.configs.items())),
        dict(reversed(wanted.quotas.items())),
        wanted.acls,
    )
    assert yaml_text(backwards, "") == yaml_text(wanted, "")
