"""Texts that a cluster may send and that kac must not print as they are, and a function that finds such characters in
output.
"""

import unicodedata

SEQUENCES = (
    "\x1b[2J\x1b[31mred", "\x1b]0;title\x07", "\x1b]52;c;ZXZpbA==\x07", "\x1bP+q\x1b\\", "\x9b31m", "\x9d0;t\x9c",
    "\x85", "a\rb", "a\nkac: forged", "a\b\b\bz", "\x07", "\x00", "\x7f", "\x0b\x0c", "a\tb",
)  # fmt: skip
INVISIBLE = (
    *map(chr, (*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200B, 0x200C, 0x200D, 0x200E, 0x200F, 0x2060)),
    "\ufeff", "\u2028", "\u2029", "\u00ad", "\u180e", "\U000e0041\U000e007f", "\U000e0100", "\ufe0f", "\u3164",
    "\u115f", "\u2800", "\ue000", "\U000f0000", "\uffff", "\U0001f3fb",
)  # fmt: skip
SURROGATES = ("\ud800", "\udfff")
MARKUP = ("[red]red[/red]", "[bold", "[/]", "[@click=app.quit]x[/]", "<b>", "{0}", "%s")
FORMULAS = ("=1+1", "+1+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1")
HOSTILE = (*SEQUENCES, *(f"x{one}y" for one in INVISIBLE), *SURROGATES, *MARKUP, *FORMULAS)
SENT = "".join((*SEQUENCES, *INVISIBLE, *MARKUP))
"""One text of all control sequences, invisible characters and markup above, without lone surrogates, which UTF-8 can't
encode.
"""

_DRAWN_WITHOUT_WIDTH = frozenset("\u115f\u1160\u3164\uffa0\u2800\u034f\ufe0f\U000e0100\U0001f3fb")


def acted_upon(text: str) -> str:
    """Return the characters of a text that a terminal would interpret or not show: control, format and unassigned
    characters, unusual spaces. Line feeds are not returned; "" if there are no such characters.
    """
    return "".join(
        char
        for char in text
        if char != "\n"
        and (
            unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
            or char in _DRAWN_WITHOUT_WIDTH
            or (char != " " and unicodedata.category(char) == "Zs")
        )
    )
