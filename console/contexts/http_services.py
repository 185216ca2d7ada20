"""The HTTP services of a context: the schema registry (``[contexts.NAME.schemas]``) and the workers of Kafka Connect
(``[contexts.NAME.connect.CLUSTER]``), with the keys ``ssl.*`` and ``sasl.oauthbearer.*`` of Java's clients.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from console.admin.settings import HttpSettings, TlsSettings
from console.contexts.java_client import BEARER_KEYS, JAVA_KEYS, bearer_settings, tls_settings
from console.contexts.properties import Values
from console.model.loopback import is_loopback

OWN_KEYS = ("url", "username", "password", "token")
JAVA_SERVICE_KEYS = frozenset(key for key in JAVA_KEYS if key.startswith("ssl.")) | BEARER_KEYS


def http_settings(values: Values) -> HttpSettings:
    """Return the settings of a service at one URL, from the keys in `values`. Add a warning to `values` for an unsafe
    login, and for each key without effect.

    Raises:
        ContextError: a value is missing or invalid; one line with file, line and key.
    """
    text = values.text("url")
    if not text:
        raise values.error("url", "it is missing: its address, as https://registry:8081")
    try:
        url = urlsplit(text)
        port = url.port
    except ValueError:
        raise values.error("url", "it is no address such as https://registry:8081") from None
    if url.scheme not in ("http", "https") or not url.hostname or not text.isprintable() or " " in text:
        raise values.error("url", "it is no address such as https://registry:8081")
    if "@" in url.netloc:
        # The text before the @ may contain a password, so the message does not repeat it.
        raise values.error("url", "it has a user or a password in it: they go into username and password")
    if url.query or url.fragment:
        raise values.error("url", "it ends with the path: neither ? nor # belongs to it")
    username, password, token = values.untrimmed("username"), values.secret("password"), values.secret("token")
    if token is not None and (username is not None or password is not None):
        raise values.error("token", "it is given, and username or password too; remove one of them")
    if (username is None) != (password is None):
        missing = "password" if password is None else "username"
        raise values.error(missing, "it is missing: a login by name has username and password")
    if username and ":" in username:
        raise values.error("username", "a login by Basic has no colon in its name")
    oauth = bearer_settings(values)
    if oauth is not None and (token is not None or username is not None):
        key = "token" if token is not None else "username"
        raise values.error(key, "it is given, and a source of tokens too; remove one of them")
    tls: TlsSettings | None = None
    if url.scheme == "https":
        tls = tls_settings(values)
        if not tls.verify_host:
            values.warn(
                "ssl.endpoint.identification.algorithm",
                "is empty: the service's host name is not checked, and anyone with a certificate can read the login",
            )
    else:
        for key in values:
            if key.startswith("ssl.") and oauth is None:
                values.warn(key, "has no effect with a url that is http")
        if (token or password or oauth) and not is_loopback(url.hostname):
            values.warn("url", "is http: the login is sent in the clear; use https")
    return HttpSettings(
        url.hostname,
        port or (443 if tls else 80),
        url.path.rstrip("/"),
        tls,
        username,
        password,
        token,
        oauth,
    )
