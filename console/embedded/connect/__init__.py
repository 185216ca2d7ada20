"""Kafka Connect next to the embedded cluster: workers with REST APIs that share one state."""
