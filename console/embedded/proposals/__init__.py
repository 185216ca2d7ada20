"""Handlers of the requests that only proposals define."""
