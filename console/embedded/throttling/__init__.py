"""Quotas at work: rates measured as Kafka measures them, and clients held back who are above theirs."""
