"""TLS and SASL: from settings to an SSL context and to what aiokafka's connections take."""

from __future__ import annotations

from console.admin.security.sasl import sasl_arguments
from console.admin.security.tls import ssl_context

__all__ = ["sasl_arguments", "ssl_context"]
