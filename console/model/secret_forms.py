"""Finds secrets in a text by their form, such as tokens and private keys, whatever key precedes them.

`console.sensitive` has the names of keys of secrets; its `without_secrets` uses both. Every pattern runs in time
proportional to the length of the text, since the texts are untrusted.
"""

from __future__ import annotations

import re
from binascii import Error, a2b_base64
from collections.abc import Callable
from typing import NamedTuple

Cut = Callable[["re.Match[str]", str], str]


def _behind(found: re.Match[str], hidden: str) -> str:
    return f"{found[1]}{hidden}"


class Form(NamedTuple):
    """One form of secrets.

    Attributes:
        marks: texts in lower case, one of which is in every secret of this form: a search for them is many times faster
            than the pattern.
        pattern: matches a candidate for a secret.
        cut: a function from a match and a replacement to the match's text with the secret replaced, unchanged if it is
            no secret. By default it replaces everything after the first group.
    """

    marks: tuple[str, ...]
    pattern: re.Pattern[str]
    cut: Cut = _behind


_MOST_BASE64 = 4096
"""Maximum number of base64 characters that are decoded to find ``name:password``."""


def _user_and_password(found: re.Match[str], hidden: str) -> str:
    """Return the match with the text after ``Basic`` replaced if it is ``name:password`` in base64; unchanged
    otherwise, as in a sentence with the word "basic".
    """
    text = found[2].rstrip("=").replace("-", "+").replace("_", "/")[:_MOST_BASE64]
    try:
        pair = a2b_base64(text[: len(text) - (len(text) % 4 == 1)] + "=" * (-len(text) % 4))
        is_secret = b":" in pair and pair.decode().isprintable()
    except (Error, UnicodeDecodeError):
        is_secret = False
    return _behind(found, hidden) if is_secret else found[0]


def _signed_token(found: re.Match[str], hidden: str) -> str:
    """Return the match with a JSON Web Token in it replaced; unchanged if there is none. A token begins with an object
    in base64url, ``{"…`` → ``eyJ…``, followed by a dot.
    """
    run = found[0]
    start = run.find("eyJ")
    is_token = start >= 0 and run.find(".", start) >= start + _SHORTEST_HEADER
    return run[:start] + hidden if is_token else run


_SHORTEST_HEADER = 15
"""Length in characters of ``{"alg":"a"}`` in base64url."""
_QUOTE = r"""(?:\\{0,15}["'])?"""
"""Matches a quote, which may be escaped, as in JSON within JSON."""
_OF_SENTENCES = (
    r"(?:tokens?|auth|authentication|authorization|credentials?|scheme|header|realm|is|was|not)(?![\w.~+/=-])"
)
_PORT = r"\d{1,5}"
_NAMED = (
    r"x-amz-(?:signature|credential|security-token)|x-goog-(?:signature|credential)"
    r"|sig|signature|sharedaccesssignature"
)

FORMS = (
    # PEM: hide up to the end of the key, or of a truncated text.
    Form(
        ("private key",),
        re.compile(r"(-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----).*?(?=-----END|\Z)", re.DOTALL),
    ),
    # URLs: a token in place of the user, and the password before the @. A password may have a slash, unless it looks
    # like a port. A URL may have escaped slashes, as some JSON encoders write them, or be part of another URL.
    Form(("://",), re.compile(r"(://)[\w.~-]{20,}+(?=(?::(?:x-oauth-basic)?)?@)", re.ASCII)),
    Form(
        ("//", "\\/"),
        re.compile(
            r"""(:(?:\\{0,31}/){2}(?!\[)[^\s/:@"'<>\\]*+:)"""
            rf"""(?:[^\s/"'<>]+(?=@)|(?!{_PORT}(?:[/?#,;\\'"]|\Z))[^\s"<>]{{1,200}}?(?=@))"""
        ),
    ),
    Form(
        ("%3a%2f%2f",),
        re.compile(
            rf"""(%3A%2F%2F[^\s/:@"'<>%]{{0,100}}+%3A)(?!{_PORT}(?:%2F|%3F|[\s&"']|\Z))[^\s"'<>&]{{1,200}}?(?=%40)""",
            re.IGNORECASE,
        ),
    ),
    Form(
        ("-u", "--"),
        re.compile(r"""((?<![\w-])(?:-u|--(?:proxy-)?user)[ =]["']?[^\s:"']{1,100}:)[^\s"']+"""),
    ),
    Form(
        ("cookie",),
        re.compile(
            rf"""(\b(?:set-)?cookie2?{_QUOTE}\s{{0,8}}[:=]\s{{0,8}}{_QUOTE})(?=[^\s=;"']{{1,100}}=)[^\r\n"']{{4,}}+""",
            re.IGNORECASE,
        ),
    ),
    # HTTP headers. Schemes that are also common words count only before a base64 pair; a header without a known scheme
    # counts, too.
    Form(
        ("bearer",),
        re.compile(rf"""(\bbearer\s++{_QUOTE})(?![=:]|{_OF_SENTENCES})[^\s"',;\\}}]++""", re.IGNORECASE),
    ),
    Form(("basic",), re.compile(r"(\bbasic\s++)([A-Za-z0-9+/_-]{4,}+={0,2})", re.IGNORECASE), _user_and_password),
    Form(
        ("authorization",),
        re.compile(
            rf"""(\bauthorization{_QUOTE}\s{{0,8}}[:=]\s{{0,8}}{_QUOTE}"""
            rf"""(?:(?:basic|digest|negotiate|ntlm|token|apikey|key|oauth|sso-?key|splunk)\s{{1,8}})?)"""
            rf"""(?!basic\b|bearer\b)(?=[^\s"',;\\}}\d]{{0,200}}\d)[^\s"',;\\}}]{{8,}}+""",
            re.IGNORECASE,
        ),
    ),
    # Signed URLs, and headers with such parameters; also within the query of another URL.
    Form(
        ("sig", "x-amz-", "x-goog-", "sharedaccess"),
        re.compile(
            rf"""((?:(?<![\w-])|(?<=%26)|(?<=%3F))(?:{_NAMED})(?:=|%3D){_QUOTE})[^\s&"'<>,;\\]{{4,}}+""", re.IGNORECASE
        ),
    ),
    Form(("eyj",), re.compile(r"[A-Za-z0-9_.-]{20,}+"), _signed_token),
    # Tokens that begin with the prefix of a service; behind it they have digits, unlike the names of topics.
    Form(
        (
            *("ghp_", "gho_", "ghr_", "ghs_", "ghu_", "github_pat_", "glpat-", "xox", "aiza", "hvs.", "dapi", "_live_"),
            *("npm_", "pypi-", "hf_", "dop_v1_", "sg.", "ya29.", "sk-"),
        ),
        re.compile(
            r"(?<![A-Za-z0-9])(?:gh[oprsu]_[A-Za-z0-9]{20,}+|github_pat_[A-Za-z0-9_]{20,}+|glpat-[\w-]{20,}+"
            r"|AIza[\w-]{35}|dapi[0-9a-f]{32}|npm_[A-Za-z0-9]{30,}+|pypi-AgEI[\w-]{20,}+|hf_[A-Za-z0-9]{30,}+"
            r"|dop_v1_[0-9a-f]{64}|SG\.[\w-]{22}\.[\w-]{40,}+|ya29\.[\w-]{20,}+"
            r"|(?:xox[abeprs]-(?=[a-z-]{0,40}\d)|(?:hvs\.|sk-(?:proj-|ant-)?|[rs]k_live_)(?=[A-Za-z_-]{0,40}\d))"
            r"[\w-]{16,}+)",
            re.ASCII,
        ),
        lambda _, hidden: hidden,
    ),
    Form(("hooks.slack.com",), re.compile(r"(hooks\.slack\.com/(?:services|workflows|triggers)/)[\w/-]+")),
)


def without_looks(text: str, hidden: str) -> str:
    """Return a text with every secret that has one of the known forms replaced by `hidden`."""
    lower = text.lower()
    for marks, pattern, cut in FORMS:
        if any(mark in lower for mark in marks):
            text = pattern.sub(lambda found, cut=cut: cut(found, hidden), text)  # type: ignore[misc]
    return text
