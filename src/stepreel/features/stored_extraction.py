"""What the store has of the extraction of one recording: finished tracks, shards, and facts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from stepreel.system.source_hashes import describe_code
from stepreel.system.store import Store, read_facts, write_facts
from stepreel.types import FeatureTrack, VideoFile
from stepreel.video.decode import Decoding, Gap
from stepreel.video.hdr import TONE_MAPPING_VERSION
from stepreel.video.previews import PREVIEWS, Previews
from stepreel.video.unchanged import UnchangedVideo

if TYPE_CHECKING:  # not at run time: a change of one cue must not make those of another stale
    from stepreel.cues import Cue

BATCH_MOMENTS = 16
MOMENTS_VERSION = 1  # increase it when the same file would give different moments


@dataclass(frozen=True)
class Extracted:
    """What the store has of one recording."""

    facts: Mapping[str, Any]
    tracks: dict[str, FeatureTrack]
    previews: Previews


class StoredExtraction:
    """The store entries of one recording, and which shards are still missing."""

    def __init__(
        self,
        video: VideoFile,
        extractors: Sequence[Cue],
        store: Store,
        rate: float,
        shard_seconds: float,
        *,
        code_of: str,
    ) -> None:
        """List the entries; they depend on the code of the module `code_of` and of each cue."""
        self.video = video
        self.unchanged = UnchangedVideo(video)
        self.backbones = store.backbones
        self.rate = float(rate)
        self.shard_moments = max(1, round(shard_seconds * rate / BATCH_MOMENTS)) * BATCH_MOMENTS
        self.extractors = {extractor.name: extractor for extractor in extractors}
        self.sampling = {"rate": self.rate, "moments": MOMENTS_VERSION}
        # Only in the cache: a model serves ordinary and HDR recordings alike.
        hdr = {"tone_mapping": TONE_MAPPING_VERSION} if video.is_hdr else {}
        cached = {**self.sampling, **hdr}
        source = video.fingerprint
        self.entries = {
            e.name: store.recording_entry(
                source,
                e.name,
                {**e.settings(), **cached},
                code=describe_code(code_of, type(e).__module__),
                shard_rows=self.shard_moments,
            )
            for e in extractors
        }
        code = describe_code(code_of)
        self.facts_entry = store.recording_entry(source, "facts", cached, code=code)
        self.damage_entry = store.recording_entry(source, "damage", cached, code=code)

    def load(self) -> Extracted | None:
        """Return everything from the store; None if any of it is missing or damaged."""
        facts = read_facts(self.facts_entry)
        # All of them are tried: what is damaged is removed, and extracted again in one go.
        loaded = {
            name: entry.load_track(self.video.name)
            for name, entry in self.entries.items()
            if name != PREVIEWS
        }
        tracks = {name: track for name, track in loaded.items() if track is not None}
        previews = Previews.open(self.entries[PREVIEWS])
        if facts is None or previews is None or len(tracks) < len(loaded):
            return None
        return Extracted(facts, tracks, previews)

    def missing_in(self, shard: int) -> list[str]:
        """Return the names of extractors that have neither a finished file nor this shard."""
        return [
            name
            for name, entry in self.entries.items()
            if not entry.exists() and entry.rows_in_shard(shard) is None
        ]

    def first_shard_missing(self, n_shards: int) -> int | None:
        """Return the first of `n_shards` shards that is missing for some extractor."""
        return next((s for s in range(n_shards) if self.missing_in(s)), None)

    def full_shards(self) -> int:
        """Count the leading complete shards of all extractors, when the length is unknown."""
        unfinished = [entry for entry in self.entries.values() if not entry.exists()]
        shard = 0
        while unfinished and all(e.rows_in_shard(shard) == self.shard_moments for e in unfinished):
            shard += 1
        return shard

    def remember_damage(self, decoding: Decoding) -> None:
        """Save the damage found so far: a resumed extraction does not decode those parts again."""
        found = {
            "packets": decoding.damaged_packets,
            "frames": decoding.misplaced_frames,
            "gaps": decoding.gaps,
        }
        write_facts(self.damage_entry, found)

    def recall_damage(self) -> Decoding | None:
        """Return the damage found by earlier attempts at this recording, if it is known."""
        found = read_facts(self.damage_entry)
        if found is None or "gaps" not in found:
            return None
        return Decoding(
            damaged_packets=found["packets"],
            misplaced_frames=found["frames"],
            gaps=[Gap(*gap) for gap in found["gaps"]],
        )

    def join_shards(self, n_shards: int) -> None:
        """Join the shards of every extractor; a damaged shard is removed, and then missing."""
        for entry in self.entries.values():
            if not entry.exists():
                entry.join_shards(n_shards)

    def count_shards(self, facts: Mapping[str, Any]) -> int:
        """Return the number of shards of a recording whose length is known."""
        return -(-int(facts["n_moments"]) // self.shard_moments)
