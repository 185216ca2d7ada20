"""Lint: rules over a snapshot that find wrong or risky settings before they cause harm. Pure."""
