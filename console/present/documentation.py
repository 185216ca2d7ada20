"""A config's documentation as brokers send it (HTML) as plain text."""

from __future__ import annotations

import re

from console.present.sanitize import clean

LIMIT = 6_000
_BREAKS = re.compile(r"<\s*/?\s*(?:p|br|ul|ol|div|table|tr|pre|h[1-6])\b[^>]*>", re.IGNORECASE)
_ITEM = re.compile(r"<\s*li\b[^>]*>", re.IGNORECASE)
_CODE = re.compile(r"<\s*/?\s*(?:code|tt)\b[^>]*>", re.IGNORECASE)
_TAG = re.compile(r"<\s*/?\s*[a-zA-Z][^<>]*>")
_PLACEHOLDER = re.compile(
    r"<(?!\s*/?\s*(?:p|br|ul|ol|li|div|table|tr|td|th|pre|h[1-6]|code|tt|a|b|i|em|strong|span)\b)"
)


def plain_text(html: str) -> tuple[str, ...]:
    """Paragraphs of the documentation, sanitised: list items begin with ``•``, code stands as it is.

    Kafka's texts also hold angle brackets that are no tags (``<listener>``): those stay.
    """
    from html import unescape

    text = html[:LIMIT].replace("\n", " ").replace("\t", " ")
    text = _PLACEHOLDER.sub("\0", text)
    text = _ITEM.sub("\n• ", _BREAKS.sub("\n", text))
    text = _TAG.sub("", _CODE.sub("", text)).replace("\0", "<")
    lines = (clean(re.sub(r" {2,}", " ", unescape(line)).strip(), LIMIT) for line in text.split("\n"))
    return tuple(line for line in lines if line and line != "•")
