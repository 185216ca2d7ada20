"""Tests of attacks on kac: clusters that lie, and consumers that write arbitrary bytes."""
