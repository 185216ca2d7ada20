"""What brokers of each release say to config requests, where they don't say the same. Measured on 2.8.2, 3.9.1 and
4.3.0."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from console.embedded.state.java_hash import hash_order

MALFORMED = (
    "This most likely occurs because of a request being malformed by the client library or the message was sent to an "
    "incompatible broker. See the broker logs for more details."
)
TOO_LARGE = "Unable to perform excessively large batch operation."
WRONG_BROKER = "Unexpected broker id, expected {own}, but received {name}"
TWICE = "Each resource must appear at most once."
NO_PASSWORD_SECRET = "Password encoder secret not configured"  # noqa: S105 - a message


@dataclass(frozen=True, slots=True)
class ConfigMessages:
    """Templates. key_set: how a set of keys is shown. lists_as_written: appending does not look at what is there.
    one_set: the keys in it have one order."""

    duplicate_keys: str
    null_values: str
    null_shown: str
    key_set: str
    security_key_set: str
    unknown_appended: str | None
    broker_not_number: str
    wrong_logger_broker: str
    log_levels: str
    legacy_loggers: str
    wrong_value: str
    too_long: str | None = None
    lists_as_written: bool = False
    one_set: bool = False

    def keys(self, names: Iterable[str], more: Iterable[str] = ()) -> str:
        """A set of keys within a message. more: what older brokers put behind the others."""
        shown = hash_order([*names, *more]) if self.one_set else [*hash_order(names), *hash_order(more)]
        return self.key_set.format(", ".join(shown))

    def security_keys(self, names: Iterable[str]) -> str:
        """The same for security keys without a listener's prefix."""
        return self.security_key_set.format(", ".join(hash_order(names)))


_3_9 = ConfigMessages(
    duplicate_keys="Error due to duplicate config keys",
    null_values="Null value not supported for : ",
    null_shown="{key}",
    key_set="Set({})",
    security_key_set="HashSet({})",
    unknown_appended=None,
    broker_not_number="Node id must be an integer, but it is: {name}",
    wrong_logger_broker="Unexpected node id. Expected {own}, but received {own}",
    log_levels="DEBUG, ERROR, FATAL, INFO, TRACE, WARN",
    legacy_loggers="Unknown resource type 8",
    wrong_value="{reason}",
)
_MESSAGES: Mapping[str, ConfigMessages] = {
    "2.8": replace(
        _3_9,
        duplicate_keys="Error due to duplicate config keys : {keys}",
        null_shown="{operation}:{key}",
        broker_not_number="Broker id must be an integer, but it is: {name}",
        wrong_logger_broker=WRONG_BROKER,
        log_levels="TRACE, ERROR, INFO, FATAL, DEBUG, WARN",
        legacy_loggers="AlterConfigs is deprecated and does not support the resource type BROKER_LOGGER",
        wrong_value="Invalid config value for resource ConfigResource(type={type}, name='{name}'): {reason}",
        lists_as_written=True,
    ),
    "3.9": _3_9,
    "4.3": replace(
        _3_9,
        key_set="[{}]",
        one_set=True,
        security_key_set="[{}]",
        unknown_appended="Unknown config name: {key}",
        wrong_logger_broker="Unexpected node id. Expected {own}, but received {name}",
        too_long="The configuration value cannot be added because it exceeds the maximum value size of 32767 bytes.",
    ),
}


def messages_of(release: str) -> ConfigMessages:
    """Those of a release by its name."""
    return _MESSAGES[release]
