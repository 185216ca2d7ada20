"""Messages about causes to receivers outside of kac, such as a chat or a pager, and metrics for Prometheus."""
