"""The published contract, storyboard.json, and how a storyboard is assembled."""

from stepreel.storyboard.schema import Storyboard, read_storyboard

__all__ = ["Storyboard", "read_storyboard"]
