"""The fault laboratory: makes faults on real brokers, and records the causes that triage names."""
