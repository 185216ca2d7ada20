"""The result of `analyze`: lines with bars, and the analysis as JSON."""

from __future__ import annotations

from collections.abc import Sequence

from console.answers.results import Detail
from console.language.unparse import unparse
from console.language.verbs.analyze import Analyze
from console.model.record_masks import MaskPath
from console.model.topic_analysis import Analysed
from console.present.text import plain
from console.present.topic_analysis import analysis_data, analysis_lines

WIDTH = 96
"""The width of the lines in cells; narrower terminals wrap them."""


def analysis_result(statement: Analyze, found: Analysed, *, masked: bool, fields: Sequence[MaskPath] = ()) -> Detail:
    """Return the analysis of a topic as a result.

    Args:
        found: the analysis; its keys are in the form that may be shown.
        masked: whether keys and names of headers are hidden.
        fields: the paths of the fields that the context masks.
    """
    lines = [plain(line) for line in analysis_lines(found, WIDTH, masked=masked)]
    if masked and (found.keys or found.headers):
        lines += ["", "contents are hidden in this context: --reveal shows them"]
    if fields and found.keys:
        lines += ["", f"fields are masked in this context: {', '.join(path.text for path in fields)}"]
    return Detail(unparse(statement), analysis_data(found, masked=masked), tuple(lines))
