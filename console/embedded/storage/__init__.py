"""The state in a file: written whole or not at all."""
