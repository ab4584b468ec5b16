"""The published contract, storyboard.json, and how a storyboard is assembled."""
