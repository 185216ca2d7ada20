"""Messages about causes for receivers outside of kac, and metrics for a Prometheus."""
