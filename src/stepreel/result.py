"""What was found in one recording: its storyboard, and the data behind it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from stepreel.config import Settings
from stepreel.errors import ModelError
from stepreel.features.video_recording import VideoRecording
from stepreel.steps.decoders.base import Decision
from stepreel.steps.key_steps import KeySteps
from stepreel.storyboard.assemble import assemble_storyboard
from stepreel.storyboard.editing import check_not_edited, seal
from stepreel.storyboard.schema import KeyStep, Storyboard
from stepreel.storyboard.titles import Titles
from stepreel.system.locks import lock_output
from stepreel.system.store import Store
from stepreel.types import (
    Clustering,
    FeatureTrack,
    Floats,
    Progress,
    Recording,
    Seconds,
    no_progress,
)

if TYPE_CHECKING:
    from stepreel.report.video import VideoChoice


@dataclass(repr=False, eq=False)
class Result:
    """The key steps of one recording.

    recording        what they were found in
    clustering       which cluster every moment belongs to, and how well it fits there
    key_steps        the segments shown as steps
    settings         with which they were found
    embedding_track  the learned embedding; None unless the decoder needs one
    decision         what the decoder found out about the task; None if there was nothing to decide
    learning_notes   what a reader should know about how the embedding was learned
    titles           of steps, given by a person
    store            from which pictures are read; a temporary one exists as long as it is kept here
    """

    recording: Recording
    clustering: Clustering
    key_steps: KeySteps
    settings: Settings
    embedding_track: FeatureTrack | None = None
    decision: Decision | None = None
    learning_notes: tuple[str, ...] = ()
    titles: Titles | None = None
    store: Store | None = None

    @cached_property
    def storyboard(self) -> Storyboard:
        """The storyboard as it was written last; before that, without any pictures."""
        return assemble_storyboard(
            self.recording,
            self.clustering,
            self.key_steps,
            self.settings,
            titles=self.titles,
            decision=self.decision,
            notes=self.learning_notes,
        )

    @property
    def steps(self) -> list[KeyStep]:
        """The key steps in time order; `steps[0].time` is in seconds."""
        return self.storyboard.steps

    @property
    def times(self) -> Seconds:
        """(T,) seconds since the recording's first moment."""
        return self.recording.times

    @property
    def embedding(self) -> Floats:
        """(T, D), one row per moment of `times`; ModelError where none was learned."""
        if self.embedding_track is None:
            raise ModelError(
                f"{self.recording.name}: no embedding was learned, because the decoder "
                f"{self.settings.key_steps.decoder} needs none; --decoder kmeans "
                "(key_steps__decoder='kmeans') learns one"
            )
        return self.embedding_track.features

    def write(
        self,
        folder: Path | str,
        *,
        video: VideoChoice = "link",
        force: bool = False,
        progress: Progress = no_progress,
    ) -> Storyboard:
        """Write the page, storyboard.json, pictures and every export into `folder`.

        Return the storyboard as written: it names its pictures, and its video's path from there.

        video  what the page plays: "link" (the recording where it is, or a copy in H.264 if
               browsers cannot play it), "copy", "proxy" (a copy in H.264) or "embed" (a small one
               inside the page)
        force  also overwrite a storyboard that was edited by hand
        """
        from stepreel.report.video import check_choice

        check_choice(video)

        folder = Path(folder)
        # `stepreel render` locks the same folder, not the one of the whole task.
        with lock_output(folder, progress):
            if not force:
                check_not_edited(folder)
            return self._write(folder, video, progress)

    def _write(self, folder: Path, video: VideoChoice, progress: Progress) -> Storyboard:
        from stepreel.report import write_report
        from stepreel.report.video import boards_with_video

        thumbnails = None
        if isinstance(self.recording, VideoRecording):
            thumbnails = self.recording.previews.thumbnails(self.recording.times)
        board = assemble_storyboard(
            self.recording,
            self.clustering,
            self.key_steps,
            self.settings,
            folder=folder,
            thumbnails=thumbnails,
            titles=self.titles,
            decision=self.decision,
            notes=self.learning_notes,
        )
        boards: Iterable[Storyboard] = [board]
        if isinstance(self.recording, VideoRecording):
            boards = boards_with_video(board, self.recording.video, folder, video, progress)
        strip = None if thumbnails is None else thumbnails.jpeg
        for board in map(seal, boards):
            write_report(board, folder, pictures=self.pictures(), strip=strip)
        self.storyboard = board  # only now: its pictures are there
        return board

    def pictures(self) -> dict[int, bytes]:
        """Return the JPEG of every step by the step's index; none for features."""
        if not isinstance(self.recording, VideoRecording):
            return {}
        previews = self.recording.previews
        segments = enumerate(self.key_steps.segments, start=1)
        return {index: previews.jpeg(segment.nearest) for index, segment in segments}

    def __repr__(self) -> str:
        steps = "1 step" if len(self.steps) == 1 else f"{len(self.steps)} steps"
        return f"Result({self.recording.name!r}, {steps}, {self.recording.duration_seconds:.1f} s)"

    def _repr_html_(self) -> str:
        """Show the steps in a notebook: static, everything escaped, no script."""
        from stepreel.report.notebook import render_notebook

        return render_notebook(self.storyboard, self.pictures())
