"""What a person should know about how a video was read: only what can change the result."""

from __future__ import annotations

from collections.abc import Sequence

from stepreel.types import VideoFile
from stepreel.video.decode import Decoding, Gap
from stepreel.video.moments import LONGEST_STILL_SECONDS


def reading_notes(video: VideoFile, decoding: Decoding) -> list[str]:
    """Return notes about parts of the file that could not be used, and other videos in it."""
    notes = []
    if video.n_streams > 1:
        notes.append(
            f"The file contains {video.n_streams} videos, such as two cameras. "
            "Only the one that players show first was used."
        )
    notes += _end_note(video, decoding)
    if decoding.gaps:
        notes.append(_gap_note(decoding.gaps))
    if decoding.damaged_packets:
        notes.append(
            "Parts of the video are damaged. Pictures there may be missing or wrong, and so may "
            "steps."
        )
    if decoding.misplaced_frames:
        seconds = decoding.misplaced_frames / (video.fps or 30.0)
        notes.append(
            f"The clock of the video jumps back. About {seconds:.1f} s of it were left out, and "
            "steps there are missing."
        )
    return notes


def _end_note(video: VideoFile, decoding: Decoding) -> list[str]:
    """Return a note if the video goes on after the part that was read."""
    declared, read = video.declared_seconds, decoding.end_seconds
    if decoding.stopped_early:
        return [
            f"Only the first {read:.1f} s of the video were used: {decoding.stopped_early}. "
            "Later steps are missing."
        ]
    if declared - read > max(1.0, 0.02 * declared):
        return [
            f"Only the first {read:.1f} s of {declared:.1f} s could be read: the file is cut off "
            "or damaged. Later steps are missing."
        ]
    return []


def _gap_note(gaps: Sequence[Gap]) -> str:
    """Describe the parts without frames; the first three by their times."""
    stretches = [f"{gap.start_seconds:.0f} s to {gap.end_seconds:.0f} s" for gap in gaps[:3]]
    more = f" and {len(gaps) - 3} more" if len(gaps) > 3 else ""
    return (
        f"The video has no new picture for more than {LONGEST_STILL_SECONDS:.0f} s, and the rest "
        f"of that time belongs to no step: {', '.join(stretches)}{more}."
    )
