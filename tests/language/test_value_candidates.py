"""A test of completion: the default that it offers for a key has the key's own unit, even if the key's synonym in
the broker's configs has another unit.
"""

from console.language.candidates import config_candidates, default_of, key_help
from console.model.codes import DEFAULT_CONFIG, DYNAMIC_TOPIC_CONFIG, ConfigType
from console.model.config import ConfigEntry, Synonym, topic_resource

LONG = ConfigType(5)
RETENTION = ConfigEntry(
    "retention.ms",
    "3600000",
    DYNAMIC_TOPIC_CONFIG,
    type=LONG,
    synonyms=(
        Synonym("retention.ms", "3600000", DYNAMIC_TOPIC_CONFIG),
        Synonym("log.retention.hours", "168", DEFAULT_CONFIG),
    ),
)


def test_the_default_is_offered_as_such_and_in_its_unit() -> None:
    assert default_of(RETENTION) == str(168 * 3_600_000)
    assert "default 7 d" in key_help(RETENTION, "retention.ms", "")
    offered = {c.text: c.meta for c in config_candidates(topic_resource("a"), "retention.ms", RETENTION, "", "")}
    assert "default" in offered["7d"]
    assert "now" in offered["1h"]
    assert "168ms" not in offered
