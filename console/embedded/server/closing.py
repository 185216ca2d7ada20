"""Why a broker ends a connection."""

from __future__ import annotations


class CloseConnection(Exception):
    """The connection is to end now, without an answer; the text is the line for the log.

    Raises nothing further: it is how Kafka treats requests that it can't read or won't have (Processor.close).
    """
