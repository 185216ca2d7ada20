"""Tests of kac against attackers: clusters whose answers lie, and consumers that write arbitrary bytes."""
