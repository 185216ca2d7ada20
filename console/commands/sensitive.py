"""Which keys hold secrets, where no broker was asked: by Kafka's naming (ConfigDef.Type.PASSWORD)."""

from __future__ import annotations

import re

_SECRET_NAMES = re.compile(
    r"(password|passwd|secret|secret\.key|master\.key|jaas\.config|keystore\.key|certificate\.chain"
    r"|truststore\.certificates|credentials)$",
    re.IGNORECASE,
)


def looks_sensitive(key: str) -> bool:
    """Whether a key of this name is a secret in Kafka's own configs, or most likely in a plugin's."""
    return _SECRET_NAMES.search(key) is not None
