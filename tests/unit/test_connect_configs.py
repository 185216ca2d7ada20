"""Tests of connectors' configs as sets of entries: no value that may be a secret is shown or sent."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.admin.connect import Definition, config_set, is_hidden
from console.model.codes import DEFAULT_CONFIG
from console.model.config import is_override
from console.model.connect import CONNECTOR, connector_resource, full_name, is_connector_name, split_name

RESOURCE = connector_resource("main", "orders")
KEYS = st.sampled_from(
    ["topics", "tasks.max", "connection.password", "db.secret", "aws.access.key.id", "file", "key.converter", "apikey"]
)
VALUES = st.text("abcdefgh0123456789-_.", min_size=8, max_size=20)
TYPES = st.sampled_from(["STRING", "PASSWORD", "INT", "LIST", "CLASS", "NEW_TYPE"])
DEFINED = st.dictionaries(KEYS, TYPES).map(
    lambda types: {name: Definition(name, type_, "standard") for name, type_ in types.items()}
)


@given(st.dictionaries(KEYS, VALUES), DEFINED)
def test_a_hidden_value_stands_nowhere_and_keys_that_are_not_set_have_their_defaults(
    config: dict[str, str], defined: dict[str, Definition]
) -> None:
    entries = config_set(config, defined)
    hidden = {key: value for key, value in config.items() if is_hidden(key, value, defined)}
    shown = repr(entries)
    others = {value for key, value in config.items() if key not in hidden}
    assert not [value for value in hidden.values() if value in shown and not any(value in each for each in others)]
    for key, value in config.items():
        entry = entries.get(key)
        assert entry is not None
        assert is_override(entry, RESOURCE)
        assert (entry.value, entry.hidden) == ((None, True) if key in hidden else (value, False))
    assert {entry.name for entry in entries} == config.keys() | defined.keys()
    for key in defined.keys() - config.keys():
        entry = entries.get(key)
        assert entry is not None
        assert (entry.value, entry.source) == ("standard", DEFAULT_CONFIG)


@pytest.mark.parametrize(
    ("key", "value", "type_", "hidden"),
    [
        ("connection.password", "sesame", "STRING", True),
        ("connection.url", "jdbc:postgresql://db/orders?user=kac&password=sesame", "STRING", True),
        ("connection.url", "mongodb://kac:sesame@db/orders", "STRING", True),
        ("connection.url", "jdbc:postgresql://db/orders", "STRING", False),
        ("value.converter.basic.auth.user.info", "kac:sesame", "STRING", True),
        ("own", "sesame", "PASSWORD", True),
        ("own", "${file:/etc/secrets:own}", "PASSWORD", False),
        ("connection.password", "${env:DB_PASSWORD}", "STRING", False),
        ("connection.password", "${file:/a:b}sesame", "PASSWORD", True),
        ("connection.password", "", "PASSWORD", False),
        ("tasks.max", "2", "INT", False),
    ],
)
def test_what_is_hidden(key: str, value: str, type_: str, *, hidden: bool) -> None:
    assert is_hidden(key, value, {key: Definition(key, type_)}) is hidden


@given(st.text(min_size=1).filter(lambda name: "/" not in name), st.text(min_size=1))
def test_a_name_has_its_cluster_and_the_connector(cluster: str, connector: str) -> None:
    name = full_name(cluster, connector)
    assert split_name(name) == (cluster, connector)
    assert is_connector_name(name)
    assert CONNECTOR.entity.names.allows(name)


@pytest.mark.parametrize("name", ["", "orders", "/orders", "main/"])
def test_other_names_are_refused(name: str) -> None:
    assert not is_connector_name(name)
    assert not CONNECTOR.entity.names.allows(name)


def test_the_importance_stands_behind_the_documentation() -> None:
    (entry,) = config_set({}, {"file": Definition("file", "STRING", None, "HIGH", "The file.")})
    assert entry.documentation == "The file. Importance: high."
    assert json.dumps(entry.value) == "null"
