"""Python Data Sources and readers: what comes from outside, as DataFrames."""
