"""Lint: rules that find wrong or risky configs and other settings in a snapshot before they cause harm. Pure."""
