"""What was found in one recording: its storyboard, and the data behind it."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from stepreel.config import Settings
from stepreel.errors import ModelError, OutputError, StoreError
from stepreel.features.video_recording import VideoRecording
from stepreel.steps.decoders.base import Decision
from stepreel.steps.key_steps import KeySteps
from stepreel.storyboard.assemble import as_alternative, assemble_storyboard
from stepreel.storyboard.editing import check_not_edited, seal
from stepreel.storyboard.folders import path_from
from stepreel.storyboard.picture_files import small_picture_file
from stepreel.storyboard.schema import KeyStep, Storyboard
from stepreel.storyboard.titles import Titles
from stepreel.system.locks import lock_output
from stepreel.system.store import Store
from stepreel.tuning.card import forget
from stepreel.tuning.keep import FoundDecoding, FoundSteps, keep
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
    from stepreel.report.written_before import WrittenBefore
    from stepreel.video.previews import ThumbnailSheet

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Together:
    """How the steps of a recording were found, for those who choose them again (`stepreel tune`).

    recordings  all that were looked at together: (name, fingerprint)
    decoder     the one that did the work
    of_model    whether kinds of an earlier model were found again
    again       what decoding a part of what was known gave, if that was asked; tells how stable
                steps are
    """

    recordings: tuple[tuple[str, str], ...]
    decoder: str
    of_model: bool
    again: tuple[Clustering, ...]


@dataclass(frozen=True)
class OtherNumber:
    """What the same recording gives in another natural number of steps.

    label   what it is called: 8 steps
    option  of `stepreel tune` that chooses it: --steps 8
    is_met  whether what was demanded of the steps is met; if not, it is kept but not shown
    """

    label: str
    option: str
    result: Result
    is_met: bool = True


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
    other_numbers    other natural numbers of steps
    written_before   an earlier storyboard of the recording, whose video is played by the new one
    together         what is known of how it was found; None unless it was looked for by a run
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
    together: Together | None = None
    other_numbers: tuple[OtherNumber, ...] = ()
    written_before: WrittenBefore | None = None
    store: Store | None = None

    @cached_property
    def storyboard(self) -> Storyboard:
        """The storyboard as it was written last; before that, without any pictures."""
        return self._assembled()

    def _assembled(
        self, folder: Path | None = None, thumbnails: ThumbnailSheet | None = None
    ) -> Storyboard:
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
        others = [
            as_alternative(
                other.result._assembled(folder, thumbnails), board, other.label, other.option
            )
            for other in self.shown_numbers
        ]
        return board.model_copy(update={"alternatives": others}) if others else board

    @property
    def shown_numbers(self) -> list[OtherNumber]:
        """The other numbers of steps that the page offers."""
        return [other for other in self.other_numbers if other.is_met]

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

        thumbnails = self._thumbnails()
        board = self._assembled(folder, thumbnails)
        boards: Iterable[Storyboard] = [board]
        if isinstance(self.recording, VideoRecording):
            file, before = self.recording.video, self.written_before
            if before is None:
                boards = boards_with_video(board, file, folder, video, progress)
            else:
                boards = [before.with_same_video(board, file, folder)]
        strip = None if thumbnails is None else thumbnails.jpeg
        for number, board in enumerate(map(seal, boards)):
            write_report(
                board,
                folder,
                pictures=self.pictures(),
                other_pictures=self._small_pictures(),
                strip=strip,
            )
            if number == 0:  # making a video can take long, and be stopped
                self._keep(folder)
        self.storyboard = board  # only now: its pictures are there
        return board

    def _thumbnails(self) -> ThumbnailSheet | None:
        if not isinstance(self.recording, VideoRecording):
            return None
        before = None if self.written_before is None else self.written_before.thumbnails()
        return before or self.recording.previews.thumbnails(self.recording.times)

    def _keep(self, folder: Path) -> None:
        """Keep what `stepreel tune` needs; without it, everything else is as good."""
        if self.together is None:
            return
        others = [
            replace(other.result._decoding(), label=other.label, option=other.option)
            for other in self.other_numbers
        ]
        found = FoundSteps(
            recording=self.recording,
            embedding=self.embedding_track,
            decodings=[self._decoding(), *others],
            task=self.together.recordings,
            of_model=self.together.of_model,
            learning_notes=self.learning_notes,
            kind_titles={} if self.titles is None else dict(self.titles.kinds),
        )
        path = self.recording.path
        try:
            keep(found, folder, file=None if path is None else path_from(folder, path))
        except (OutputError, StoreError, OSError) as problem:
            forget(folder)  # what an earlier run kept does not fit to this storyboard
            log.warning("%s; `stepreel tune` will not work there", problem)

    def _decoding(self) -> FoundDecoding:
        assert self.together is not None, "steps were looked for"
        return FoundDecoding(
            [self.clustering, *self.together.again],
            self.decision,
            self.together.decoder,
            self.settings.model_dump(mode="json"),
        )

    def pictures(self) -> dict[int, bytes]:
        """Return the JPEG of every step by the step's index; none for features."""
        if not isinstance(self.recording, VideoRecording):
            return {}
        previews = self.recording.previews
        segments = enumerate(self.key_steps.segments, start=1)
        return {index: previews.jpeg(segment.nearest) for index, segment in segments}

    def _small_pictures(self) -> dict[str, bytes]:
        """Return the JPEG of every moment that only other numbers of steps show, by file."""
        if not isinstance(self.recording, VideoRecording):
            return {}
        previews = self.recording.previews
        shown = {segment.nearest for segment in self.key_steps.segments}
        others = {
            s.nearest for other in self.shown_numbers for s in other.result.key_steps.segments
        }
        times = self.recording.times
        return {
            small_picture_file(round(float(times[moment]), 3)): previews.small_jpeg(moment)
            for moment in sorted(others - shown)
        }

    def __repr__(self) -> str:
        steps = "1 step" if len(self.steps) == 1 else f"{len(self.steps)} steps"
        return f"Result({self.recording.name!r}, {steps}, {self.recording.duration_seconds:.1f} s)"

    def _repr_html_(self) -> str:
        """Show the steps in a notebook: static, everything escaped, no script."""
        from stepreel.report.notebook import render_notebook

        return render_notebook(self.storyboard, self.pictures())
