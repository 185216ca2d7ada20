"""Tokens for SASL/OAUTHBEARER: where they come from, and when a new one is needed."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

from console.admin.errors import AdminError, Unreachable
from console.admin.jwt import (
    UNSECURED_LIFE,
    Token,
    checked,
    is_expired,
    life_of,
    no_token,
    shown_token,
    token_in_file,
    unsecured_token,
)
from console.admin.settings import SaslSettings
from console.admin.token_endpoint import ENDPOINT_TIMEOUT, NAMES, refuse_clear_text, request_token, token_in
from console.model.failure import Failure
from console.programs import ProgramFailed, name_of, output_of

RENEWED_AFTER = 0.8
"""Share of its life after which a token is renewed (sasl.login.refresh.window.factor)."""
LEAST_SECONDS = 5.0
"""Seconds before its end by which it is renewed in any case: with less, a session is not worth to begin."""
KEPT_SHARE, KEPT_SECONDS = 0.05, 3.0
"""Share of its life and seconds before its end until which a token is used if no new one is to be had."""
AGAIN_SECONDS = 10.0
"""Seconds after which a new token is asked for again, after a failure."""

_EXTENSION = "extension_"

log = logging.getLogger(__name__)


class TokenProvider:
    """Provides a token to each connection; a valid one is used again. For use on one event loop."""

    def __init__(
        self,
        fetch: Callable[[], Token],
        extensions: Mapping[str, str],
        limit: float = ENDPOINT_TIMEOUT,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._fetch = fetch
        self._extensions = dict(extensions)
        self._limit = limit
        self._clock = clock
        self._lock = asyncio.Lock()
        self._token = ""
        self._renewed_at = self._good_until = float("-inf")

    async def token(self) -> str:
        """Return a token, requested in another thread. The former one while it is valid, if there is no new one.

        Raises AdminError."""
        async with self._lock:
            asked = self._clock()
            if asked >= self._renewed_at:
                try:
                    token = await self._fetched()
                except AdminError as error:
                    if asked >= self._good_until:
                        raise
                    log.warning("the former token is used: %s", error.failure)
                    self._renewed_at = min(asked + AGAIN_SECONDS, self._good_until)
                else:
                    self._token = token.text
                    life = token.life or 0.0
                    self._renewed_at = asked + min(RENEWED_AFTER * life, max(0.0, life - LEAST_SECONDS))
                    self._good_until = asked + life - max(KEPT_SHARE * life, KEPT_SECONDS)
            return self._token

    async def _fetched(self) -> Token:
        try:
            async with asyncio.timeout(self._limit):
                return await asyncio.to_thread(self._fetch)
        except TimeoutError:
            message = f"no token within {self._limit:g} s: the token endpoint does not answer"
            remedy = "Check sasl.oauthbearer.token.endpoint.url, and the network to it."
            raise Unreachable(Failure("UNREACHABLE", message, remedy)) from None

    def shown(self) -> str:
        """Return what the last token says of itself, without the token."""
        return shown_token(self._token)

    def is_over(self) -> bool:
        """Return whether the last token is expired by this host's clock."""
        return is_expired(self._token)

    def extensions(self) -> dict[str, str]:
        """Return SASL extensions (KIP-342), sent with the token."""
        return dict(self._extensions)


def token_provider(sasl: SaslSettings, limit: float = ENDPOINT_TIMEOUT) -> TokenProvider:
    """Return the provider for these settings (see SaslSettings). limit: seconds that a token may take.

    Raises AdminError for settings that can't work.
    """
    extensions = {name[len(_EXTENSION) :]: value for name, value in sasl.options.items() if name.startswith(_EXTENSION)}
    if command := sasl.options.get("token.command"):
        return TokenProvider(lambda: token_of_command(command, limit), extensions, limit + 1)
    url = sasl.options.get("token.endpoint.url")
    if url is None:
        given = sasl.password
        if given is not None:
            return TokenProvider(lambda: Token(checked(given.reveal(), "the token"), None), extensions)
        return TokenProvider(lambda: Token(unsecured_token(sasl.username or ""), UNSECURED_LIFE), extensions)
    if urlsplit(url).scheme == "file":
        path = Path(unquote(urlsplit(url).path))
        return TokenProvider(lambda: _from_file(path), extensions)
    refuse_clear_text(url)
    return TokenProvider(lambda: request_token(sasl, url, limit), extensions, limit)


def token_of_command(command: str, limit: float) -> Token:
    """Return the token that a command writes: alone, or as the JSON of a token endpoint. Runs without a shell. Blocks.

    Raises AdminError with the program's name, its exit code and the last line of its standard error.
    """
    remedy = "Run sasl.oauthbearer.token.command by hand; it writes a token, or JSON with access_token."
    name = name_of(command)
    try:
        output = output_of(command, limit)
    except ProgramFailed as error:
        if error.hangs:
            raise Unreachable(Failure("UNREACHABLE", f"no token: {error}", remedy)) from None
        raise no_token(f"the token's command {error}", remedy) from None
    if output.lstrip().startswith(b"{"):
        # Scripts that were written for kafkactl call it token.
        return token_in(output, f"the token's command {name}", remedy, (*NAMES, "token"))
    text = checked(output.decode("ascii", "replace").strip(), f"what {name} wrote as the token")
    return Token(text, life_of(text))


def _from_file(path: Path) -> Token:
    try:
        text = token_in_file(path)
    except (OSError, ValueError):
        raise no_token(f"the token in {path} can't be read", "Check sasl.oauthbearer.token.endpoint.url.") from None
    return Token(checked(text, f"the token in {path}"), None)
