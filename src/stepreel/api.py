"""The public functions; `stepreel/__init__.py` publishes them and loads this file when needed."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Literal, get_args, overload

from stepreel import pipeline
from stepreel.api_tune import AnyPath, AnyTitles, as_titles
from stepreel.config import Settings
from stepreel.errors import OutputError, RecordingError
from stepreel.features.recording_files import expand_sources
from stepreel.features.sources import ArraySource, FeatureReading, Source
from stepreel.learn.model import TaskModel, check_has_encoder, read_model
from stepreel.report.video import VideoChoice, check_choice
from stepreel.result import Result
from stepreel.setting_values import clusters_overrides
from stepreel.system.cache import AnyCache, open_cache
from stepreel.system.machine import usable_device
from stepreel.task import Task, load_task
from stepreel.types import FeatureTrack, Progress, as_names, no_progress

log = logging.getLogger(__name__)

AnySource = AnyPath | ArraySource
"""A video, a feature file, or arrays in memory: {"hands": (times, features)}."""

OnError = Literal["raise", "skip"]


@overload
def find_key_steps(  # type: ignore[overload-overlap]  # a str is a sequence of str
    source: AnySource,
    output: AnyPath | None = ...,
    *,
    clusters: int | str | None = ...,
    top: int | None = ...,
    preset: str | None = ...,
    seed: int | None = ...,
    model: Model | AnyPath | None = ...,
    cues: str | Sequence[str] = ...,
    fps: float | None = ...,
    times: AnyPath | None = ...,
    titles: AnyTitles | None = ...,
    force: bool = ...,
    video: VideoChoice = ...,
    device: str = ...,
    cache: AnyCache = ...,
    on_error: OnError = ...,
    progress: Progress | None = ...,
    **settings: object,
) -> Result: ...


@overload
def find_key_steps(
    source: Sequence[AnySource],
    output: AnyPath | None = ...,
    *,
    clusters: int | str | None = ...,
    top: int | None = ...,
    preset: str | None = ...,
    seed: int | None = ...,
    model: Model | AnyPath | None = ...,
    cues: str | Sequence[str] = ...,
    fps: float | None = ...,
    times: AnyPath | None = ...,
    titles: AnyTitles | None = ...,
    force: bool = ...,
    video: VideoChoice = ...,
    device: str = ...,
    cache: AnyCache = ...,
    on_error: OnError = ...,
    progress: Progress | None = ...,
    **settings: object,
) -> list[Result]: ...


def find_key_steps(
    source: AnySource | Sequence[AnySource],
    output: AnyPath | None = None,
    *,
    clusters: int | str | None = None,
    top: int | None = None,
    preset: str | None = None,
    seed: int | None = None,
    model: Model | AnyPath | None = None,
    cues: str | Sequence[str] = (),
    fps: float | None = None,
    times: AnyPath | None = None,
    titles: AnyTitles | None = None,
    force: bool = False,
    video: VideoChoice = "link",
    device: str = "auto",
    cache: AnyCache = None,
    on_error: OnError = "raise",
    progress: Progress | None = None,
    **settings: object,
) -> Result | list[Result]:
    """Find the key steps of one recording, or of several recordings of one task.

    One source gives one `Result`; a list gives a list. Recordings of a list are looked at together,
    so that a step has the same cluster number in each of them. A folder stands for the list of
    recordings in it; write it as ["takes/"] if types are checked.

    source    a video file, a feature file (.npy, .npz, .h5, .safetensors), or arrays in memory:
              {"hands": (times, features)} with times (T,) in seconds and features (T, D) per cue,
              the first cue being the main one; or a folder of files, or a list of these
    output    also write storyboards (and the model) below this folder, as `stepreel run` does
    clusters  number of kinds of steps, 9 or "5..12"; in one recording, the most there may be; if
              left out, it is found
    top       keep only so many steps, the clearest ones (or key_steps__sample="ils", "nearest");
              key_steps__budget_seconds=60 limits their time
    preset    named settings to start from ("quick")
    seed      of everything random (0)
    model     a model, or its folder: its kinds of steps are found again
    cues      arrays of feature files to use, the main one first; all if empty
    fps       moments per second of feature files without times
    times     a file of times, or a folder of such files named like the recordings
    titles    {"B": "Fold the flap"} names a kind of step, {3: "Close the lid"} one step; or a CSV
              file of such pairs
    force     also overwrite storyboards in `output` that were edited by hand
    video     what the pages play: "link", "copy", "proxy" or "embed", as for `Result.write`
    device    "auto", "cpu", "cuda" or "mps"
    cache     folder for features and models (`stepreel info` shows the usual one); False: make
              everything anew, and keep nothing
    on_error  "raise" a RecordingError for the first source that cannot be read, or "skip" it with
              a warning in the log: the list is then shorter, and `result.recording.path` tells
              which is which; a single source always raises
    progress  called as progress(what, done, total) during long work
    settings  any other setting, with two underscores for the dot: key_steps__decoder="kmeans"
              learns an embedding and clusters it, as in the paper

    >>> result = find_key_steps("shelf.mp4")                      # doctest: +SKIP
    >>> result.steps[0].time                                      # doctest: +SKIP
    12.25
    """
    if isinstance(source, Iterable) and not isinstance(source, str | PathLike | Mapping):
        sources, _ = _expand([_as_source(item) for item in source], times)
        is_list = True
    else:
        sources, is_list = _expand([_as_source(source)], times)
    if on_error not in get_args(OnError):
        raise ValueError(f"on_error={on_error!r}; expected {' or '.join(get_args(OnError))}")
    check_choice(video)
    if not sources:
        raise ValueError("no source given; expected a video, a feature file, arrays, or a list")
    named = as_titles(titles, len(sources))
    with open_cache(cache, hold=True) as store:
        task_run = pipeline.run(
            sources,
            store,
            preset=preset,
            overrides=_overrides(clusters, top, seed, settings),
            model=_as_model(model),
            reading=_reading(cues, fps, times),
            output=None if output is None else Path(output),
            titles=named,
            force=force,
            video=video,
            device=usable_device(device),
            progress=progress or no_progress,
            on_loaded=lambda task: _raise_or_skip(task, on_error if is_list else "raise"),
        )
    if task_run.written is not None:
        for reason in [*task_run.written.failures.values(), *task_run.written.unsaved]:
            raise OutputError(reason)
    results = list(task_run.results.values())
    found = [[step.cluster for step in result.steps] for result in results]
    if named and (unused := named.unused_by_all(found)):
        log.warning("%s", unused)
    for result in results:
        result.store = store
    return results if is_list else results[0]


def load_model(folder: AnyPath) -> Model:
    """Read a model: the folder `stepreel train` wrote, or the output folder of a run."""
    return Model(read_model(Path(folder)))


@dataclass(frozen=True, repr=False)
class Model:
    """A model: it knows a task's kinds of steps, and finds them in later recordings."""

    task_model: TaskModel

    @property
    def settings(self) -> Settings:
        """What it was made with."""
        return self.task_model.settings

    @property
    def cues(self) -> dict[str, int]:
        """Its cues and their widths, the main one first."""
        return {cue: card.width for cue, card in self.task_model.card.cues.items()}

    @property
    def n_clusters(self) -> int:
        """How many kinds of steps it knows."""
        return self.task_model.card.n_clusters

    def embed(
        self,
        source: AnySource,
        *,
        cues: Sequence[str] | None = None,
        fps: float | None = None,
        times: AnyPath | None = None,
        device: str = "auto",
        cache: AnyCache = None,
        progress: Progress | None = None,
    ) -> FeatureTrack:
        """Embed a recording: `.times` (T,), `.features` (T, D), `.valid` (T,).

        ModelError if nothing was trained for the model: most decoders need no embedding.

        cues        of the model to embed by, if not those it was trained to use
        fps, times  of feature files without times, as for `find_key_steps`
        cache       folder for features; False: make them anew, and keep nothing
        """
        check_has_encoder(self.task_model)
        from stepreel.learn.inference import embed_with_model

        where = usable_device(device)
        with open_cache(cache, hold=True) as store:
            task = load_task(
                [_as_source(source)],
                store,
                model=self.task_model,
                reading=_reading((), fps, times),
                progress=progress or no_progress,
            )
        _raise_or_skip(task, "raise")
        recordings = list(task.recordings.values())
        (track,) = embed_with_model(self.task_model, recordings, cues=cues, device=where)
        return track

    @overload
    def find_key_steps(
        self, source: AnySource, output: AnyPath | None = ..., **options: Any
    ) -> Result: ...

    @overload
    def find_key_steps(
        self, source: Sequence[AnySource], output: AnyPath | None = ..., **options: Any
    ) -> list[Result]: ...

    def find_key_steps(
        self,
        source: AnySource | Sequence[AnySource],
        output: AnyPath | None = None,
        **options: Any,
    ) -> Result | list[Result]:
        """Find the model's kinds of steps in one recording, or in several.

        options  top, fps, times, video, device, cache, on_error, progress and key_steps__…
                 settings, as for `stepreel.find_key_steps`; what the model was made with cannot
                 change
        """
        results: Result | list[Result] = find_key_steps(source, output, model=self, **options)
        return results

    def __repr__(self) -> str:
        cues = ", ".join(f"{cue} ({width})" for cue, width in self.cues.items())
        return f"Model({cues}; {self.n_clusters} kinds of steps)"


def _as_source(source: AnySource) -> Source:
    if isinstance(source, Mapping):
        return source
    if isinstance(source, str | PathLike):
        return Path(source)
    raise TypeError(
        f"a source is a path or a dict of arrays, not {type(source).__name__}: "
        'find_key_steps("shelf.mp4") or find_key_steps({"hands": (times, features)})'
    )


def _expand(named: Sequence[Source], times: AnyPath | None) -> tuple[list[Source], bool]:
    """Replace folders and wildcards by recordings; return also whether there were any."""
    other_files = [] if times is None else [Path(times)]
    sources: list[Source] = []
    is_several = False
    for source in named:
        if not isinstance(source, Path):
            sources.append(source)
            continue
        paths, folders = expand_sources([source], other_files=other_files)
        is_several = is_several or paths != [source]
        sources += paths
        for contents in folders:
            log.info("%s", contents)
    return sources, is_several


def _reading(cues: str | Sequence[str], fps: float | None, times: AnyPath | None) -> FeatureReading:
    return FeatureReading(as_names(cues), fps, None if times is None else Path(times))


def _as_model(model: Model | AnyPath | None) -> TaskModel | None:
    if model is None:
        return None
    return model.task_model if isinstance(model, Model) else read_model(Path(model))


def _overrides(
    clusters: int | str | None, top: int | None, seed: int | None, settings: Mapping[str, object]
) -> dict[str, object]:
    named = {"key_steps.top": top, "train.seed": seed}
    overrides: dict[str, object] = {n: value for n, value in named.items() if value is not None}
    return (
        overrides
        | clusters_overrides(clusters)
        | {name.replace("__", ".", 1): value for name, value in settings.items()}
    )


def _raise_or_skip(task: Task, on_error: OnError) -> None:
    for reason in task.failures.values():
        if on_error == "raise":
            raise RecordingError(reason)
        log.warning("left out: %s", reason)
    if not task.recordings:
        raise RecordingError("; ".join(task.failures.values()))
