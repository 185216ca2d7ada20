"""The interactive shell (KIP-21's): the language at a prompt, for terminals that can't show a screen, and for pipes."""
