"""Takes of one task compared: storyboards of one run in, a `Comparison` and its page out."""
