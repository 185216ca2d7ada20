"""Secrets that kac fetches only when a context is used: from a command, a keyring, Kubernetes, or the operator.

``${exec:COMMAND}``, ``${keyring:SERVICE:USER}``, ``${kube:NAMESPACE/SECRET/KEY}``, ``${prompt}`` and ``${prompt:TEXT}``
replace a secret, or a part of it. Such a secret is not fetched while contexts are read and listed; only the used
context fetches its own. So kac never prompts for the passwords of other clusters, and runs none of their commands. The
overview of all clusters uses all contexts except those that prompt.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import fields, replace

from console.contexts.context import Context, ContextError
from console.model.secret import Secret

COMMAND_SECONDS = 30.0
"""Timeout in seconds for a command or a keyring; during that time the operator may have to touch a key or type a
passphrase.
"""

LOCKED = re.compile(r"\$\{(?:(exec|keyring|kube):([^}]*+)|(prompt)(?::([^}]*+))?)(?:\}|\Z)")

S = TypeVar("S", bound=Struct)


class Locked(Secret):
    """A secret that is not fetched yet.

    Attributes:
        text: the text with its references.
        where: the place and the key, for messages.
        folder: the folder of the file, in which its commands run.
        plain: a function that replaces references to other sources, such as environment variables and files.
    """

    __slots__ = ("folder", "plain", "text", "where")

    def __init__(self, text: str, where: str, folder: Path, plain: Callable[[str], str]) -> None:
        super().__init__(text)
        self.text = text
        self.where = where
        self.folder = folder
        self.plain = plain

    def reveal(self) -> str:
        """Raise LookupError, because the secret must be fetched first (`unlocked_secret`)."""
        raise LookupError(f"{self.where}: the secret is not fetched")


def is_locked(settings: Struct) -> bool:
    """Return whether the settings contain a secret that is not fetched yet."""
    return any(True for _ in _locked_in(settings))


def asks_operator(settings: Struct) -> bool:
    """Return whether the settings contain a secret that kac has to ask the operator for."""
    return any(match[3] for each in _locked_in(settings) for match in LOCKED.finditer(each.text))


def _locked_in(settings: Struct) -> Iterator[Locked]:
    values = (getattr(settings, each.name) for each in fields(settings))
    for value in values:
        for one in value if isinstance(value, tuple) else (value,):
            if isinstance(one, Locked):
                yield one
            elif isinstance(one, Struct):
                yield from _locked_in(one)


def unlocked(context: Context, *, ask: bool, limit: float = COMMAND_SECONDS) -> Context:
    """Return the context with its secrets fetched, each once, in the order of the settings. Blocks meanwhile.

    Args:
        ask: whether kac can prompt the operator on the terminal now.
        limit: the timeout of each command, in seconds.

    Raises:
        ContextError: a secret can't be fetched; one line with the place of the secret, without the secret.
    """
    if not is_locked(context.settings):
        return context
    return replace(context, settings=_unlocked(context.settings, context.name, ask, limit, {}))


def unlocked_settings(settings: S, name: str, *, ask: bool) -> S:
    """Return the settings of a service with its secrets fetched; raises and blocks as `unlocked`. name: the name of the
    service, for prompts.
    """
    return _unlocked(settings, name, ask, COMMAND_SECONDS, {})


def unlocked_secret(locked: Locked, name: str, *, ask: bool) -> Secret:
    """Fetch a secret and return it; raises and blocks as `unlocked`. name: the name of the secret's owner, for
    prompts.
    """
    return _fetch(locked, name, ask, COMMAND_SECONDS, {})


def _unlocked(settings: S, context: str, ask: bool, limit: float, fetched: dict[str, str]) -> S:
    changes: dict[str, Any] = {}
    for each in fields(settings):
        value = getattr(settings, each.name)
        if isinstance(value, Locked):
            changes[each.name] = _fetch(value, context, ask, limit, fetched)
        elif isinstance(value, Struct):
            changes[each.name] = _unlocked(value, context, ask, limit, fetched)
        elif isinstance(value, tuple):
            changes[each.name] = tuple(
                _unlocked(one, context, ask, limit, fetched) if isinstance(one, Struct) else one for one in value
            )
    return replace(settings, **changes)


def _fetch(locked: Locked, context: str, ask: bool, limit: float, fetched: dict[str, str]) -> Secret:
    def one(match: re.Match[str]) -> str:
        reference = match[0]
        if not reference.endswith("}"):
            raise ValueError(f"${{{match[1] or match[3]}… has no end; write }} after it")
        if reference not in fetched:
            if match[1] == "exec":
                fetched[reference] = _of_command(match[2], locked.folder, ask, limit)
            elif match[1] == "keyring":
                fetched[reference] = _of_keyring(match[2], ask, limit)
            elif match[1] == "kube":
                fetched[reference] = _of_kube(match[2], ask, limit)
            else:
                fetched[reference] = _of_operator(match[4] or f"Password for {context} ({locked.where})", ask)
        return fetched[reference]

    try:
        # A fetched secret may contain "${", which is not expanded again.
        parts = [locked.plain(part) for part in _between(locked.text)]
        found = [one(match) for match in LOCKED.finditer(locked.text)]
    except ValueError as error:
        raise ContextError(f"{locked.where}: {error}") from None
    return Secret("".join(part + secret for part, secret in zip(parts, [*found, ""], strict=True)))


def _between(text: str) -> list[str]:
    """Return the parts of a text before, between and after its references: one part more than there are references."""
    ends = [0, *(end for match in LOCKED.finditer(text) for end in match.span()), len(text)]
    return [text[start:end] for start, end in zip(ends[::2], ends[1::2], strict=True)]


def _of_command(command: str, folder: Path, ask: bool, limit: float) -> str:
    from console.programs import ProgramFailed, name_of, output_of

    try:
        output = output_of(command, limit, folder, terminal=ask)
    except ProgramFailed as error:
        raise ValueError(f"no secret: {error}") from None
    return _one_secret(output, name_of(command))


def _one_secret(output: bytes, source: str) -> str:
    """Return the output of a command without its last line end, as text. Raises ValueError: it is empty, or
    not UTF-8.
    """
    try:
        text = re.sub(r"\r?\n\Z", "", output.decode())
    except UnicodeDecodeError:
        raise ValueError(f"no secret: what {source} wrote is not text in UTF-8") from None
    if not text:
        raise ValueError(f"no secret: {source} wrote nothing")
    return text


def _of_keyring(target: str, ask: bool, limit: float) -> str:
    """Return a secret from the Python package keyring if it is installed, else from the program secret-tool, which
    finds what the package has stored in the Secret Service. Raises ValueError: neither is installed, or the keyring
    does not return the secret.
    """
    service, _, user = target.rpartition(":")
    if not service or not user:
        raise ValueError("a keyring's secret is ${keyring:SERVICE:USER}")
    import shlex

    from console.programs import home_folder, is_found

    try:
        keyring = import_module("keyring")
    except ImportError:
        if not is_found("secret-tool"):
            raise ValueError(
                "no keyring: neither the Python package keyring nor secret-tool (libsecret-tools) is installed"
            ) from None
        try:
            looked_up = shlex.join(("secret-tool", "lookup", "service", service, "username", user))
            return _of_command(looked_up, home_folder(), ask, limit)
        except ValueError as error:
            raise ValueError(f"{error}; store it: secret-tool store service {service} username {user}") from None
    try:
        found = keyring.get_password(service, user)
    except Exception as error:  # noqa: BLE001 each backend has its own
        raise ValueError(f"the keyring can't be read: {type(error).__name__} {error}".rstrip()) from None
    if not found:
        raise ValueError(f"the keyring has no secret of {user} for {service}; store it: keyring set {service} {user}")
    return str(found)


def _of_kube(target: str, ask: bool, limit: float) -> str:
    """Return the value of a key of a Kubernetes Secret, which kubectl reads. Raises ValueError: the target is not
    NAMESPACE/SECRET/KEY, or kubectl fails.
    """
    import base64
    import binascii
    import shlex

    from console.programs import home_folder

    match = re.fullmatch(r"\A([a-z0-9.-]+)/([a-z0-9.-]+)/([\w.-]+)", target, re.ASCII)
    if match is None:
        raise ValueError("a Secret of Kubernetes is ${kube:NAMESPACE/SECRET/KEY}")
    namespace, name, key = match.groups()
    path = "{.data['" + key.replace(".", "\\.") + "']}"
    words = ("kubectl", "--namespace", namespace, "get", "secret", name, "-o", f"jsonpath={path}")
    try:
        found = _of_command(shlex.join(words), home_folder(), ask, limit)
    except ValueError as error:
        raise ValueError(f"{error}; look at it: kubectl -n {namespace} describe secret {name}") from None
    try:
        return base64.b64decode(found, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        raise ValueError(f"the key {key} of the Secret {namespace}/{name} is no text in UTF-8") from None


def _of_operator(prompt: str, ask: bool) -> str:
    if not ask:
        raise ValueError("the secret can be asked for only at the start, and on a terminal")
    from console.terminal import ask_secret

    try:
        typed = ask_secret(f"{prompt}: ")
    except EOFError:
        typed = ""
    if not typed:
        raise ValueError("no secret was typed")
    return typed
