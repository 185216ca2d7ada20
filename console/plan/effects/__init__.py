"""What a plan means beyond its own lines: who else is changed, and what is legal but wrong. Pure."""
