"""READ FIRST: the whole line, from recordings of one task to their storyboards.

    Recording ─cues─▶ FeatureTrack ─learning─▶ embedding ─cluster, pauses─▶ Clustering
                                    Storyboard ◀─assemble─ KeySteps ◀─keysteps─┘

Every room takes what the one before hands on; an embedding is just another FeatureTrack, and the
storyboard is the only thing that leaves the house.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from stepreel.assemble import assemble_storyboard
from stepreel.cluster import cluster_recordings
from stepreel.config import Settings
from stepreel.cues import make_cues
from stepreel.errors import OutputError, RecordingError, StoreError
from stepreel.extract import Extraction, extract_tracks
from stepreel.folders import name_folders
from stepreel.keysteps import find_steps
from stepreel.learning import learn_embeddings, learning_notes
from stepreel.pauses import find_pauses
from stepreel.report import write_index, write_report
from stepreel.store import Store
from stepreel.storyboard import Storyboard
from stepreel.types import Clustering, FeatureTrack, Progress, no_progress
from stepreel.video import probe


@dataclass
class TaskResult:
    """What became of every recording: a storyboard, or the reason why there is none."""

    boards: dict[Path, Storyboard] = field(default_factory=dict)
    folders: dict[Path, Path] = field(default_factory=dict)
    failures: dict[Path, str] = field(default_factory=dict)


def run_task(
    paths: Sequence[Path],
    settings: Settings,
    store: Store,
    *,
    output: Path | None = None,
    progress: Progress = no_progress,
) -> TaskResult:
    """Find the key steps of all recordings of one task; write them below `output` if given."""
    result = TaskResult()
    extractions = _watch(paths, settings, store, result, progress)
    if not extractions:
        return result
    embeddings = learn_embeddings(list(extractions.values()), settings, store, progress=progress)
    clusterings = _group(embeddings, list(extractions.values()), settings)
    if output is not None:
        result.folders = name_folders(list(extractions), output)
    for (path, extraction), clustering in zip(extractions.items(), clusterings, strict=True):
        try:
            result.boards[path] = _tell(extraction, clustering, settings, result.folders.get(path))
        except (OutputError, StoreError) as problem:
            result.failures[path] = str(problem)
    if output is not None and len(paths) > 1 and result.boards:
        _write_index(output, result)
    return result


def _write_index(output: Path, result: TaskResult) -> None:
    boards = [(result.folders[path].name, board) for path, board in result.boards.items()]
    failed = [(path.name, reason) for path, reason in result.failures.items()]
    try:
        write_index(output, boards, failed=failed)
    except OutputError as problem:  # the storyboards are there all the same
        result.failures[output / "index.html"] = str(problem)


def _watch(
    paths: Sequence[Path], settings: Settings, store: Store, result: TaskResult, progress: Progress
) -> dict[Path, Extraction]:
    """Extract the tracks of every recording that can be read; note why the others cannot."""
    cues = make_cues(settings.extract.cues)
    extractions = {}
    for number, path in enumerate(paths, start=1):
        of_how_many = f" {number}/{len(paths)}" if len(paths) > 1 else ""

        def tell(what: str, done: float, total: float, suffix: str = of_how_many) -> None:
            progress(what + suffix, done, total)

        try:
            extractions[path] = extract_tracks(
                probe(path),
                cues,
                store,
                rate=settings.extract.moments_per_second,
                shard_seconds=settings.extract.shard_seconds,
                progress=tell,
            )
        except (RecordingError, StoreError) as problem:
            result.failures[path] = str(problem)
    return extractions


def _group(
    embeddings: Sequence[FeatureTrack], extractions: Sequence[Extraction], settings: Settings
) -> list[Clustering]:
    """Cluster all recordings; where steps turn out to be parted by pauses, again without those."""
    n_clusters, seed = settings.key_steps.n_clusters, settings.train.seed
    clusterings = cluster_recordings(embeddings, n_clusters, seed=seed)
    if settings.key_steps.leave_out_pauses:
        pauses = find_pauses([extraction.tracks for extraction in extractions], clusterings)
        if any(mask.any() for mask in pauses):
            return cluster_recordings(embeddings, n_clusters, seed=seed, pauses=pauses)
    return clusterings


def _tell(
    extraction: Extraction, clustering: Clustering, settings: Settings, folder: Path | None
) -> Storyboard:
    """Pick the key steps of one recording and, with a folder, write its storyboard there."""
    found = find_steps(clustering, settings.key_steps, moment_seconds=extraction.moment_seconds)
    strip, strip_jpeg = extraction.previews.strip(extraction.times) if folder else (None, None)
    board = assemble_storyboard(
        extraction,
        clustering,
        found,
        settings,
        folder=folder,
        strip=strip,
        notes=learning_notes(extraction, settings),
    )
    if folder is not None:
        pictures = {
            index: extraction.previews.jpeg(segment.nearest)
            for index, segment in enumerate(found.segments, start=1)
        }
        write_report(board, folder, pictures=pictures, strip=strip_jpeg)
    return board
