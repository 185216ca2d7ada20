"""Helpers of the tests, the benchmarks and the demo: real brokers, their certificates, their request log."""
