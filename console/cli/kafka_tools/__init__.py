"""Kafka's other command lines on this client: their options' rules, and their output line for line."""
