"""From all steps of a recording to those that are shown; one idea per file."""
