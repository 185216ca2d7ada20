"""Kafka Connect for the embedded cluster: workers with REST APIs that share one state."""
