"""Example storyboards, small enough to check by hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import cv2
import numpy as np

from stepreel.storyboard.schema import (
    ConfidenceScale,
    KeyStep,
    RecordingReference,
    Span,
    Storyboard,
    Strip,
    TimelineSpan,
)

# (start, moment, end, cluster), in seconds
Extent = tuple[float, float, float, int]
FOUR_STEPS: tuple[Extent, ...] = (
    (0.0, 2.0, 4.0, 0),
    (4.0, 6.0, 8.0, 1),
    (10.0, 12.0, 14.0, 0),
    (14.0, 17.0, 20.0, 2),
)


def make_board(
    extents: Sequence[Extent] = FOUR_STEPS,
    *,
    titles: Sequence[str] = (),
    title: str = "Fold a box",
    file: str = "../box.mp4",
    duration: float = 20.0,
    offset: float = 0.0,
    size: tuple[int, int] = (320, 180),
    background: Sequence[tuple[float, float]] = (),
) -> Storyboard:
    """Make a storyboard whose steps have the given extents."""
    names = [*titles, *(f"Step {number}" for number in range(len(titles) + 1, len(extents) + 1))]
    in_all = Counter(cluster for *_, cluster in extents)
    so_far: Counter[int] = Counter()
    steps = []
    for index, (start, time, end, cluster) in enumerate(extents, start=1):
        so_far[cluster] += 1
        steps.append(
            KeyStep(
                index=index,
                title=names[index - 1],
                time=time,
                start=start,
                end=end,
                cluster=cluster,
                occurrence=so_far[cluster],
                occurrences=in_all[cluster],
                distance=0.125,
                is_repeat=so_far[cluster] > 1,
                confidence=0.75,
                margin=0.5,
                picture=f"pictures/step-{index:02}.jpg",
            )
        )
    return Storyboard(
        title=title,
        confidence=ConfidenceScale(meaning="How reliable a step is.", clear=0.25, repeat=0.5),
        recording=RecordingReference(
            kind="video",
            name=file.rsplit("/", 1)[-1],
            file=file,
            fingerprint="sha256:00ff",
            duration_seconds=duration,
            width=size[0],
            height=size[1],
            fps=25.0,
            first_frame_seconds=0.0,
            player_offset_seconds=offset,
        ),
        steps=steps,
        timeline=_timeline(steps, duration),
        uncertain=[],
        background=[Span(start=start, end=end) for start, end in background],
        strip=Strip(
            file="pictures/strip.jpg",
            count=20,
            columns=10,
            tile_width=32,
            tile_height=18,
            interval_seconds=max(duration, 1.0) / 20,
        ),
        notes=["Made up for a test."],
        stepreel_version="0.1.0",
    )


def _timeline(steps: list[KeyStep], duration: float) -> list[TimelineSpan]:
    """Fill the recording with the steps, cut where they overlap, and background between them."""
    spans: list[TimelineSpan] = []
    now = 0.0
    for step in steps:
        if step.start > now:
            spans.append(TimelineSpan(start=now, end=step.start, kind="background"))
        start = max(now, step.start)
        now = max(now, step.end)
        spans.append(
            TimelineSpan(start=start, end=now, kind="step", cluster=step.cluster, step=step.index)
        )
    if now < duration:
        spans.append(TimelineSpan(start=now, end=duration, kind="background"))
    return spans


def with_background(board: Storyboard) -> Storyboard:
    """List the background stretches of the timeline, as the finder does."""
    spans = [
        Span(start=span.start, end=span.end) for span in board.timeline if span.kind == "background"
    ]
    return board.model_copy(update={"background": spans})


def as_features(board: Storyboard, *, file: str | None = None) -> Storyboard:
    """Return the same steps found in features: no video, no pictures; `file` None is in memory."""
    recording = board.recording.model_copy(
        update={"kind": "features", "name": "take7", "file": file, "width": None, "height": None}
    )
    steps = [step.model_copy(update={"picture": None}) for step in board.steps]
    update = {"recording": recording, "steps": steps, "strip": None}
    return Storyboard.model_validate(board.model_copy(update=update).model_dump())


def pictures_of(board: Storyboard) -> dict[int, bytes]:
    """Return a plain grey JPEG for every step, each of another brightness; none for features."""
    return {step.index: jpeg(40 + 10 * step.index % 200) for step in board.steps if step.picture}


def jpeg(brightness: int, *, width: int = 32, height: int = 18) -> bytes:
    """Encode a plain grey picture."""
    encoded: bytes = cv2.imencode(".jpg", np.full((height, width, 3), brightness, np.uint8))[
        1
    ].tobytes()
    return encoded
