"""Comparison of the answers of two clusters. `plain` turns an answer into dicts, lists and scalars without each
cluster's own ids; `differences` compares two such answers. Pure functions.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from kio.schema.errors import ErrorCode

# Values that differ between clusters: the comparison only sees whether they are present.
_OWN = {"cluster_id", "port", "log_dir", "total_bytes", "usable_bytes", "finalized_features_epoch"}
_LEFT_OUT = {"throttle_time"}
# Real clusters also have a listener without logins, which their brokers use among themselves.
_BETWEEN_BROKERS = "security.inter.broker.protocol"
# Configs whose values depend on the machine, its ports and the SASL logins.
_OWN_CONFIGS = {
    "advertised.listeners",
    "controller.quorum.voters",
    "listeners",
    "log.dirs",
    "sasl.enabled.mechanisms",
    "zookeeper.connect",
}
# Brokers begin the message of a refusal with the text of the Java object of the request.
_JAVA_OBJECT = re.compile(r"^Request .*\) (?=is not authorized|needs [A-Z_]+ permission)", re.DOTALL)
_NAMELESS = {"error_code", "error_message", "matching_acls"}
_KEYS = ("name", "resource_name", "topic", "user", "key", "partition_index", "partition_id", "node_id", "broker_id")


def error_name(code: int) -> str:
    """Return the name of an error code, for example ``INVALID_CONFIG``; the number as text if kio has no name for
    it.
    """
    try:
        return ErrorCode(code).name.upper()
    except ValueError:
        return str(code)


def plain(value: Any) -> Any:
    """Return a response as dicts, lists and scalars. Lists of structures with a key field are sorted, because the
    protocol promises no order for them.
    """
    if is_dataclass(value) and not isinstance(value, type):
        told = {field.name: _field(field.name, getattr(value, field.name)) for field in fields(value) if _told(field)}
        if told.get("name") == _BETWEEN_BROKERS:
            return {"name": _BETWEEN_BROKERS}
        own = told.get("name") in _OWN_CONFIGS and told.get("value") is not None
        return told | {"value": f"its {told['name']}"} if own else told
    if isinstance(value, (tuple, list)):
        items = [plain(each) for each in value]
        return items if _is_positional(items) else sorted(items, key=_order)
    if isinstance(value, UUID):
        return "an id"
    if isinstance(value, timedelta):
        return value // timedelta(milliseconds=1)
    return value.hex() if isinstance(value, bytes) else value


def _is_positional(items: Sequence[Any]) -> bool:
    """Return whether the order of a list has a meaning: true for a list of scalars (such as replicas), and for a list
    of structures without a key field (such as the result for each ACL of a request).
    """
    return all(not isinstance(item, dict) or item.keys() <= _NAMELESS for item in items)


def _told(field: Any) -> bool:
    return field.name not in _LEFT_OUT


def _field(name: str, value: Any) -> Any:
    if name.endswith("error_code"):
        return error_name(value)
    if name == "error_message":
        return value and _JAVA_OBJECT.sub("It ", value)
    if name in _OWN and value is not None:
        return f"its {name}"
    return plain(value)


def _order(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=str)


def differences(real: Any, embedded: Any, path: str = "") -> Iterator[str]:
    """Yield a line of text for each place in which two plain answers differ. path: the place of the two values in their
    answers, at the beginning of each line.
    """
    if isinstance(real, dict) and isinstance(embedded, dict):
        for name in real | embedded:
            yield from differences(real.get(name, "-"), embedded.get(name, "-"), f"{path}.{name}")
    elif isinstance(real, list) and isinstance(embedded, list):
        theirs, ours = _keyed(real), _keyed(embedded)
        for key in theirs | ours:
            yield from differences(theirs.get(key, "-"), ours.get(key, "-"), f"{path}[{key}]")
    elif real != embedded or type(real) is not type(embedded):
        yield f"{path}: real {_shown(real)}, embedded {_shown(embedded)}"


def _keyed(items: Sequence[Any]) -> dict[Any, Any]:
    for key in _KEYS:
        names = [item.get(key) for item in items if isinstance(item, dict)]
        if len(set(names)) == len(items) and None not in names:
            return dict(zip(names, items, strict=True))
    return dict(enumerate(items))


def _shown(value: Any) -> str:
    return repr(value) if len(repr(value)) < 600 else f"{value!r:.600}…"
