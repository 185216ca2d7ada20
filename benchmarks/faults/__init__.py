"""The fault laboratory: faults made on real brokers, and what triage names of them."""
