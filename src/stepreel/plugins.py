"""What plug-ins import; docs/extend.md has an example of each kind.

    entry point group     an object of                        found as
    stepreel.cues         a class like Cue                    --set extract.cues=NAME
    stepreel.datasets     DatasetFormat                       stepreel evaluate NAME
    stepreel.methods      Method                              stepreel evaluate --methods NAME
    stepreel.exports      Export                              a file beside every storyboard
    stepreel.decoders     Decoder                             stepreel run --decoder NAME
    stepreel.samplers     Sampler                             stepreel run --top 10 --sample NAME

Each has `api_version`, the version of its group that it was written for (`API_VERSIONS`).
"""

from __future__ import annotations

from stepreel.cues import Cue
from stepreel.evaluation.datasets.base import (
    DatasetFormat,
    LabelledRecording,
    LabelledTask,
    Request,
)
from stepreel.evaluation.methods.base import Method, MethodRun, Prediction
from stepreel.evaluation.truth.annotation import Annotation, TrueStep
from stepreel.features.feature_files import FeatureRecording, read_features, recording_from_arrays
from stepreel.report.exports import Export
from stepreel.steps.decoders.base import Decision, Decoded, Decoder, Takes, from_labels
from stepreel.steps.samplers.base import Candidates, Sampler
from stepreel.storyboard.schema import Storyboard
from stepreel.system.registry import API_VERSIONS
from stepreel.types import Clustering, FeatureTrack, Recording
from stepreel.video.moments import Moment

__all__ = [
    "API_VERSIONS",
    "Annotation",
    "Candidates",
    "Clustering",
    "Cue",
    "DatasetFormat",
    "Decision",
    "Decoded",
    "Decoder",
    "Export",
    "FeatureRecording",
    "FeatureTrack",
    "LabelledRecording",
    "LabelledTask",
    "Method",
    "MethodRun",
    "Moment",
    "Prediction",
    "Recording",
    "Request",
    "Sampler",
    "Storyboard",
    "Takes",
    "TrueStep",
    "from_labels",
    "read_features",
    "recording_from_arrays",
]
