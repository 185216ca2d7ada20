"""What the embedded cluster knows: tables of values, changed in one place and logged."""
