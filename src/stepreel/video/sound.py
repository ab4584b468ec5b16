"""The sound of a recording as AAC, in step with its pictures."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import ExitStack
from fractions import Fraction
from types import TracebackType

import av
from av.audio.frame import AudioFrame
from av.audio.stream import AudioStream
from av.container import OutputContainer

from stepreel.types import VideoFile
from stepreel.video.containers import open_video, packets

log = logging.getLogger(__name__)

RATE = 48_000
AAC_SAMPLES = 1024  # samples per AAC frame


class SoundTrack:
    """Encodes a recording's sound beside its pictures; silent if there is none to decode.

    A fault in the sound ends the sound, and never the pictures.
    """

    def __init__(self, video: VideoFile, *, bits_per_second: int) -> None:
        self._files = ExitStack()
        self._video = video
        self._bits = bits_per_second
        self._next: AudioFrame | None = None
        self._stream: AudioStream | None = None
        self._last_ticks = -1
        self._frames = self._decoded()
        self._advance()

    def __enter__(self) -> SoundTrack:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._files.close()

    def add_to(self, output: OutputContainer) -> None:
        """Add a stream for the sound, if there is any."""
        if self._next is not None and self._bits:
            stream = output.add_stream("aac", rate=RATE, layout="stereo")
            stream.bit_rate = self._bits
            self._stream = stream

    def write_until(self, seconds: float, output: OutputContainer) -> None:
        """Encode and write the sound before a time, so that the file is well interleaved."""
        while self._stream is not None and self._next is not None:
            pts = self._next.pts or 0
            if pts >= seconds * RATE:
                return
            if pts > self._last_ticks:
                self._last_ticks = pts
                output.mux(self._stream.encode(self._next))
            self._advance()

    def finish(self, output: OutputContainer) -> None:
        """Write what the encoder still holds."""
        if self._stream is not None:
            output.mux(self._stream.encode(None))

    def _advance(self) -> None:
        try:
            self._next = next(self._frames, None)
        except (av.error.FFmpegError, ValueError, OSError) as problem:
            log.info("%s: the sound ends: %s", self._video.name, problem)
            self._next = None

    def _decoded(self) -> Iterator[AudioFrame]:
        """Yield frames of 1024 samples; their times count from the first picture."""
        container = self._files.enter_context(open_video(self._video.path))
        known = [s for s in container.streams.audio if s.codec_context is not None]
        if not known:
            return
        resampler = av.AudioResampler("fltp", "stereo", RATE, frame_size=AAC_SAMPLES)
        for packet in packets(container, known[0]):
            try:
                frames = packet.decode()
            except av.error.InvalidDataError:
                continue  # a damaged packet
            for frame in frames:
                assert isinstance(frame, AudioFrame)
                if not self._place(frame):
                    continue
                yield from resampler.resample(frame)
        yield from resampler.resample(None)

    def _place(self, frame: AudioFrame) -> bool:
        """Set a frame's time; False if it has none, or is heard before the first picture."""
        if frame.pts is None or frame.time_base is None:
            return False
        seconds = float(frame.pts * frame.time_base) - self._video.first_frame_seconds
        if seconds < 0:
            return False
        frame.pts = round(seconds * frame.sample_rate)
        frame.time_base = Fraction(1, frame.sample_rate)
        return True
