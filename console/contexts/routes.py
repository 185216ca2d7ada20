"""The notation of how kac connects to a cluster: the way of all connections (``--via``, `via`), and the addresses that
replace advertised ones (`addresses`).

via = "ssh:ops@bastion"
via = { url = "socks5://proxy:1080", username = "ops", password = "${prompt}" }
via = "kube:kafka/orders"             # the namespace, the service to ask first; kube:prod/kafka/ has kubectl's context

[contexts.prod.addresses]             # the first line that fits counts
"b1.internal:9092" = "127.0.0.1:19092"
"*.kafka.example.com" = "edge:443"    # all to one port: TLS names the broker (SNI)
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from console.admin.settings import AddressRule, KubeNamespace, Proxy, SshHost, Via
from console.contexts.context import address_of

_SSH = re.compile(r"ssh:(?://)?(?:(?P<user>[^\s@:/-][^\s@:/]*)@)?(?P<at>[^\s@/,-][^\s@/,]*)/?")
_PROXY = re.compile(r"(?P<scheme>socks5h?|http)://(?P<at>[^\s@/,]+)/?")
_KUBE = re.compile(r"kube:(?://)?(?P<parts>[\w.:@-]+(?:/[\w.:@-]+){0,2}/?)", re.ASCII)
_PORTS = {"socks5": 1080, "http": 3128}
_KUBE_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?")
_FORMS = (
    "the way is not ssh:HOST, ssh:USER@HOST, ssh:USER@HOST:PORT (keys go into ~/.ssh/config), socks5://HOST:PORT, "
    "http://HOST:PORT (a login goes into the context) or kube:[CONTEXT/]NAMESPACE[/SERVICE]"
)


def parse_via(text: str) -> Via:
    """Return the way that the text of ``--via`` describes. Raises ValueError: the text is invalid; the message never
    contains it, since it may have a password.
    """
    stripped = text.strip()
    if not text.isprintable():
        raise ValueError(_FORMS)
    if (match := _SSH.fullmatch(stripped)) is not None:
        return _ssh(match["at"], match["user"])
    if (match := _PROXY.fullmatch(stripped)) is not None:
        scheme = match["scheme"].removesuffix("h")
        return Proxy(scheme, *address_of(match["at"], _PORTS[scheme]))
    if (match := _KUBE.fullmatch(stripped)) is not None:
        return _kube(match["parts"].split("/"))
    raise ValueError(_FORMS)


def bootstrap_of(via: Via | None) -> str | None:
    """Return the address of the Kubernetes service in a way, to which kac connects first; None if the way names no
    service.
    """
    if not isinstance(via, KubeNamespace) or via.service is None:
        return None
    return f"{via.service}.{via.namespace}.svc:9092"


def address_rules(table: Mapping[str, object]) -> tuple[AddressRule, ...]:
    """Return the rules of a table of addresses, in the order of the file. Raises ValueError: an entry is invalid; the
    message names it.
    """
    found = []
    for name, place in table.items():
        if not isinstance(place, str):
            raise ValueError(f"{name!r}: the place is a text, HOST:PORT, not {place!r}")
        (host, port), (to_host, to_port) = _end(name), _end(place)
        if "*" in to_host or "?" in to_host:
            raise ValueError(f"{place!r}: a place is one address; * and ? stand for advertised names")
        found.append(AddressRule(host.lower(), port, to_host, to_port))
    return tuple(found)


def _end(text: str) -> tuple[str, int | None]:
    """Return the host and the port of an address in a rule; the port is None if the address has no port."""
    host, port = address_of(text)
    return host, port if re.search(r":[0-9]+\Z", text.strip()) else None


def _ssh(at: str, user: str | None) -> SshHost:
    if ":" not in at:
        return SshHost(at, user=user)
    host, port = address_of(at)
    return SshHost(host, port if not at.endswith("]") else None, user)


def _kube(parts: list[str]) -> KubeNamespace:
    """Return the Kubernetes namespace that a way names. Two parts are the namespace and a service; three parts are
    kubectl's context, the namespace and a service, which may be empty. Raises ValueError: a part is not a valid name
    in Kubernetes.
    """
    context = parts[0] if len(parts) == 3 else None
    namespace, *service = filter(None, parts[1:] if len(parts) == 3 else parts)
    for each in (namespace, *service):
        if _KUBE_NAME.fullmatch(each) is None:
            raise ValueError(f"{each!r} is no name of Kubernetes: it has small letters, digits, - and .")
    return KubeNamespace(namespace, context, service[0] if service else None)
