"""Request logs without Spark: what a line is, its time, what each API changes, how far a file was read."""
