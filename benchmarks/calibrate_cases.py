"""Steps of labelled recordings, the evidence for each, and whether it is right."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from scipy.ndimage import gaussian_filter1d
from scipy.optimize import linear_sum_assignment

from stepreel.config import Settings, load_settings
from stepreel.evaluation.datasets.base import Request
from stepreel.evaluation.datasets.catalog import DATASETS
from stepreel.evaluation.datasets.sample import Sample, make_sample, read_sample_steps
from stepreel.evaluation.metrics.timed_steps import true_segments
from stepreel.evaluation.prepare import PreparedTask, prepare_task
from stepreel.evaluation.truth.annotation import BACKGROUND, Problems, labels_of_spans
from stepreel.features.feature_files import FeatureRecording
from stepreel.pipeline import learn_task
from stepreel.steps.confidence import chance_inputs
from stepreel.steps.decoders.base import Decoded
from stepreel.steps.evidence import EVIDENCE, TaskSteps, Values, is_white_noise, overlaps
from stepreel.steps.key_steps import pick_key_steps
from stepreel.system.store import Store
from stepreel.task import Task, load_task
from stepreel.types import Recording, Seconds, moment_seconds

RATE = 5.0  # moments per second, about as many as videos have
SHUFFLED, RANDOM, WALK = "shuffled", "random", "random walk"
SMOOTH = {"smooth, 1 s": 1.0, "smooth, 5 s": 5.0, "smooth, 20 s": 20.0}  # standard deviations
NOISE = (SHUFFLED, RANDOM, *SMOOTH, WALK)
NOISE_RECORDINGS = 3  # of each task
LATER = "later"
FEWEST_FOR_LATER = 4  # takes: half of them are learned, the others come later


@dataclass(frozen=True)
class Source:
    """A dataset with labels: its format, folders, cues, K and σ, as in docs/results.md."""

    name: str
    format: str
    folders: tuple[str, ...]
    n_clusters: int
    window_seconds: float
    cues: tuple[str, ...] = ()


SOURCES = (
    Source(
        "JIGSAWS",
        "npz",
        ("jigsaws/Suturing", "jigsaws/Knot_Tying"),
        7,
        3.0,
        cues=("left_arm", "right_arm"),
    ),
    Source("Bimacs", "npz", ("bimacs_zed",), 6, 1.0),
    Source("CAD-120", "npz", ("cad120",), 5, 1.0, cues=("skeleton",)),
    Source("OpenPack", "npz", ("openpack/boxes",), 10, 5.0),
    Source("Breakfast", "breakfast", ("breakfast_coffee",), 5, 3.0),
    Source("CaptainCook4D", "npz", ("captaincook4d",), 10, 10.0),
)

SAMPLES = Source("Sample", "", (), 7, 3.0)
SAMPLE_SEEDS = range(11, 17)  # others are scored by demo_scores.py
ANNOTATIONS = Source("EgoProceL", "egoprocel", ("egoprocel",), 0, 0.0)
NUMBERS = (2, 3, 4, 6, 8, 12, 17, 25, 35, 50, 75, 110, 160, 240)  # of equal parts


@dataclass(frozen=True)
class Case:
    """The shown steps of one recording; arrays have one value per step.

    variant      task: learned with the others of its task; single: by itself; later: found with a
                 model of other takes, as with `--model`; or a kind of noise
    evidence     by name
    chance       inputs of the estimate of p₀
    right        whether the step is right
    true_step    the true step it is matched with, BACKGROUND if none
    chance_rate  the share of as many equal parts that are right
    is_white     whether the features were recognised as noise
    found        whether the decoder found more than equal parts; None if it does not say
    """

    source: str
    variant: str
    evidence: dict[str, Values]
    chance: dict[str, Values]
    right: np.ndarray
    true_step: np.ndarray
    cluster: np.ndarray
    chance_rate: float
    is_white: bool
    found: bool | None

    @property
    def is_noise(self) -> bool:
        """Whether the features say nothing about the steps."""
        return self.variant in NOISE


def cases_of(source: Source, data: Path, store: Store, *, quick: bool = False) -> Iterator[Case]:
    """Yield the cases of all recordings of a source; a task together, some alone, and noise."""
    for prepared in _tasks(source, data):
        recordings, truth = prepared.recordings, prepared.truth
        assert recordings is not None
        groups = [("task", range(len(recordings)))]
        step = max(1, len(recordings) // 4)
        groups += [("single", [number]) for number in range(0, len(recordings), step)]
        groups += [(kind, range(min(NOISE_RECORDINGS, len(recordings)))) for kind in NOISE]
        for variant, positions in groups[:1] + groups[-1:] if quick else groups:
            chosen = [recordings[position] for position in positions]
            if variant in NOISE:
                chosen = [noisy(recording, variant) for recording in chosen]
            yield from _judge(
                source, variant, chosen, [truth[position] for position in positions], store
            )
        if len(recordings) >= FEWEST_FOR_LATER:
            half = len(recordings) // 2
            earlier, later = recordings[:half], recordings[half:]
            yield from _judge(source, LATER, later, truth[half:], store, learned_from=earlier)


def samples(work: Path, store: Store) -> Iterator[Case]:
    """Yield cases of generated recordings, whose steps are clearer than those of real ones."""
    made = [make_sample_once(work / f"sample-{seed}", seed) for seed in SAMPLE_SEEDS]
    loaded = load_task([sample.video for sample in made], store)
    recordings = list(loaded.recordings.values())
    truth = [
        labels_of_spans(
            [(step.start, step.end, step.step) for step in read_sample_steps(sample.truth)],
            recording.times,
            BACKGROUND,
        )
        for sample, recording in zip(made, recordings, strict=True)
    ]
    yield from _judge(SAMPLES, "task", recordings, truth, store)
    for recording, labels in zip(recordings, truth, strict=True):
        yield from _judge(SAMPLES, "single", [recording], [labels], store)


def make_sample_once(folder: Path, seed: int) -> Sample:
    """Generate a recording, or use the one that is there."""
    sample = Sample(*(folder / f"work-bench.{end}" for end in ("mp4", "gaze.csv", "steps.csv")))
    return sample if sample.truth.exists() else make_sample(folder, seed=seed)


def _tasks(source: Source, data: Path) -> Iterator[PreparedTask]:
    for folder in source.folders:
        problems = Problems(lenient=True)
        request = Request(data / folder, problems, cues=source.cues)
        for task in DATASETS[source.format].read(request):
            first = task.recordings[0].features
            rate = RATE if first is not None and first().moment_seconds < 1 / RATE else None
            yield prepare_task(task, problems, labels_rate=RATE, rate=rate)


def noisy(recording: FeatureRecording, kind: str) -> FeatureRecording:
    """Return a recording of the same length whose features say nothing about its steps."""
    # Recordings of one task must not have the same noise.
    rng = np.random.default_rng(list(f"{recording.fingerprint} {kind}".encode()))
    order = rng.permutation(len(recording.times))
    tracks = {}
    for cue, track in recording.tracks.items():
        if kind == SHUFFLED:
            tracks[cue] = replace(track, features=track.features[order], valid=track.valid[order])
            continue
        features = rng.normal(size=track.features.shape)
        if kind in SMOOTH:
            width = SMOOTH[kind] / recording.moment_seconds
            features = gaussian_filter1d(features, width, axis=0)
        elif kind == WALK:
            features = features.cumsum(axis=0)
        tracks[cue] = replace(track, features=features.astype(np.float32))
    return replace(recording, tracks=tracks, fingerprint=f"{recording.fingerprint}-{kind}")


@dataclass(frozen=True)
class ChanceCase:
    """How often equal parts of one recording are right; needs nothing but its labels."""

    source: str
    inputs: dict[str, float]
    rate: float


def chance_cases(data: Path) -> Iterator[ChanceCase]:
    """Yield cases of all sources, and of EgoProceL, of which only annotations are available."""
    for source in (*SOURCES, ANNOTATIONS):
        for task in _tasks(source, data):
            for times, labels in zip(task.times, task.truth, strict=True):
                segments = segments_of(times, labels)[0]
                seconds = float(times[-1] - times[0]) + moment_seconds(times)
                for count in NUMBERS if len(segments) else ():
                    inputs = {k: float(v[0]) for k, v in chance_inputs(count, seconds).items()}
                    rate = rate_of_equal_parts(segments, seconds, count)
                    yield ChanceCase(source.name, inputs, rate)


def _judge(
    source: Source,
    variant: str,
    recordings: Sequence[Recording],
    truth: Sequence[np.ndarray],
    store: Store,
    *,
    learned_from: Sequence[Recording] = (),
) -> Iterator[Case]:
    settings = load_settings(
        overrides={
            "key_steps.n_clusters": source.n_clusters,
            "loss.window_seconds": source.window_seconds,
        }
    )
    decoded = _find_kinds(recordings, settings, store, learned_from)
    key_steps = [
        pick_key_steps(clustering, settings.key_steps, moment_seconds=recording.moment_seconds)
        for clustering, recording in zip(decoded.clusterings, recordings, strict=True)
    ]
    task = TaskSteps(recordings, decoded.again, key_steps, settings)
    for position, (recording, labels) in enumerate(zip(recordings, truth, strict=True)):
        segments, steps = segments_of(recording.times, labels)
        extents = task.extents(position)
        if not len(segments) or not len(extents):
            continue
        matched = match(extents, segments)
        yield Case(
            source=source.name,
            variant=variant,
            evidence={name: measure(task, position) for name, measure in EVIDENCE.items()},
            chance=chance_inputs(len(extents), recording.duration_seconds),
            right=matched >= 0,
            true_step=np.where(matched >= 0, steps[matched], BACKGROUND),
            cluster=np.array([segment.cluster for segment in key_steps[position].segments]),
            chance_rate=rate_of_equal_parts(segments, recording.duration_seconds, len(extents)),
            is_white=is_white_noise(task, position),
            found=decoded.decision.found_structure if decoded.decision else None,
        )


def _find_kinds(
    recordings: Sequence[Recording],
    settings: Settings,
    store: Store,
    learned_from: Sequence[Recording],
) -> Decoded:
    """Decode recordings; with the model of others, if there are any."""
    first = learn_task(_task(learned_from or recordings, settings), store, device="cpu")
    if not learned_from:
        return first.decoded
    return learn_task(_task(recordings, settings), store, model=first.model, device="cpu").decoded


def _task(recordings: Sequence[Recording], settings: Settings) -> Task:
    return Task(settings, dict(enumerate(recordings)), failures={})


def segments_of(times: Seconds, labels: np.ndarray) -> tuple[Values, np.ndarray]:
    """Return (start, end) of every run of one true step, and the step's id."""
    segments = true_segments(labels, times)
    return np.stack([segments.starts, segments.ends], axis=1), segments.ids


def rate_of_equal_parts(segments: Values, seconds: float, count: int) -> float:
    """Return the share of `count` equal parts of a recording that are right."""
    edges = np.linspace(0, seconds, count + 1)
    return float((match(np.stack([edges[:-1], edges[1:]], axis=1), segments) >= 0).mean())


def match(extents: Values, segments: Values) -> np.ndarray:
    """Return the true segment that each extent is right about, -1 if none; one-to-one."""
    right = overlaps(extents, segments) >= 0.5 - 1e-9
    rows, columns = linear_sum_assignment(right, maximize=True)
    matched = np.full(len(extents), -1)
    matched[rows] = np.where(right[rows, columns], columns, -1)
    return matched
