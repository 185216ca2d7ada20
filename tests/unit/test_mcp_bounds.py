"""Tests of the answers of kac's MCP server: their size is limited, invisible characters are shown, and secrets are left
out.
"""

import json
from typing import Any

import pytest

from console.cli.mcp.bounds import HIDDEN, LARGEST, LONGEST_TEXT, LeftOut, fitted
from tests.support.hostile_text import HOSTILE, acted_upon

SECRET = "tell-nobody"
ENTRY = {"value": SECRET, "source": "TOPIC"}


def given(data: Any, rows: int = 100) -> Any:
    return fitted(data, rows).data


def test_what_is_small_and_harmless_is_given_as_it_is_and_a_long_text_is_cut() -> None:
    data: dict[str, Any] = {
        "topics": [{"name": "a", "partitions": 3, "internal": False, "rack": None, "rate": 1.5}],
        "errors": [],
    }
    assert fitted(data) == (data, ())
    row = {"key": "ssl.key.password", "was": None, "became": {"value": None, "source": None}}
    assert given(row) == row
    for key in ("password.encoder.iterations", "retention.ms", "principal.builder.class"):
        assert given({"key": key, "value": "1"}) == {"key": key, "value": "1"}
    assert given({"value": "y" * (LONGEST_TEXT + 1_500)})["value"] == "y" * LONGEST_TEXT + "… (1,500 more characters)"


def test_lists_are_cut_each_place_is_named_once_and_an_answer_has_an_end() -> None:
    data: dict[str, Any] = {"topics": [{"name": str(each), "replicas": list(range(each))} for each in range(9)]}
    found = fitted(data, 5)
    assert found.left_out == (LeftOut("topics", 5, 9),)
    assert fitted(data, 2).left_out == (LeftOut("topics", 2, 9),)
    assert fitted({"topics": data["topics"][8:]}, 2).left_out == (LeftOut("topics.replicas", 2, 8),)
    assert [each["name"] for each in given(data, 5)["topics"]] == ["0", "1", "2", "3", "4"]
    many = fitted({"rows": [{"key": "x", "value": "y" * 10_000}] * 100_000}, 1_000)
    assert len(json.dumps(many.data)) <= LARGEST
    assert many.left_out[0].of == 100_000
    wide = fitted({"rows": [{str(each): "y" * LONGEST_TEXT for each in range(1_000)}]}, 1_000)
    assert len(json.dumps(wide.data)) <= LARGEST


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_invisible_is_given(text: str) -> None:
    found = json.dumps(given({text: text, "rows": [text]}), ensure_ascii=False)
    assert acted_upon(json.dumps(json.loads(found), ensure_ascii=False)) == ""


@pytest.mark.parametrize(
    "row",
    [
        {"name": "ssl.keystore.password", "value": SECRET, "synonyms": [{"name": "ssl.keystore.password", **ENTRY}]},
        {"key": "my.plugin.api.token", "was": SECRET, "became": SECRET},
        {"key": "sasl.jaas.config", "old": {**ENTRY, "hidden": False}, "new": ENTRY},
        {"key": "ssl.key.password", "left": ENTRY, "right": SECRET},
        {"key": "ssl.key.password", "values": {"1": SECRET, "2": SECRET}, "odd": []},
        {"entity": "topic orders", "ssl.key.password": SECRET},
        {"key": "note", "value": f'required password="{SECRET}";'},
        {"message": f"https://admin:{SECRET}@host refused it"},
        {"name": "ssl.key.password", "without_override": {"name": "ssl.key.password", **ENTRY}},
    ],
)
def test_values_that_may_be_secrets_are_hidden(row: dict[str, Any]) -> None:
    found = json.dumps(given({"rows": [row]}))
    assert SECRET not in found
    assert HIDDEN in found
