"""The language between operators and plans: its text, and what stands in a shell's words. Pure."""
