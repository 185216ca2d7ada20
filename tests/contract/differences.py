"""Where the embedded cluster does not do what Kafka does, on purpose: a name that a test uses, and the reason.

A test that asks inside ``target.differing(name)`` holds that the answers do differ; any other difference fails.
"""

from __future__ import annotations

from collections.abc import Mapping

ON_PURPOSE: Mapping[str, str] = {}
