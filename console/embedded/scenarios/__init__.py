"""What a cluster starts with, and what happens in it."""
