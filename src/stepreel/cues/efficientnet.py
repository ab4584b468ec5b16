"""EfficientNet-Lite0 up to its last convolution, as an ONNX graph.

Tan and Le, *EfficientNet: Rethinking Model Scaling for Convolutional Neural Networks*, ICML 2019;
the Lite variants have neither squeeze-and-excitation nor swish. Put together here, because PyTorch
and its exporter take ten seconds for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import onnx

PIXELS = 224
WIDTH = 1280
MEAN, SCALE = 127.0, 128.0  # of pixels, as in training
NORM_EPSILON = 1e-3
OPSET, IR_VERSION = 18, 10  # as old as possible: every ONNX Runtime that is supported reads them


class _Stage(NamedTuple):
    """Repeated blocks; the first of them has the stride."""

    repeats: int
    kernel: int
    stride: int
    expands: bool


STAGES = (
    _Stage(1, 3, 1, expands=False),
    _Stage(2, 3, 2, expands=True),
    _Stage(2, 5, 2, expands=True),
    _Stage(3, 3, 2, expands=True),
    _Stage(3, 5, 1, expands=True),
    _Stage(4, 5, 2, expands=True),
    _Stage(1, 3, 1, expands=True),
)


def efficientnet_lite0(weights: Mapping[str, NDArray[np.generic]]) -> bytes:
    """Return a graph of `images` (n, 224, 224, 3) uint8 RGB → `features` (n, 1280)."""
    graph = _GraphBuilder(weights)
    x = graph.add("Transpose", "images", perm=[0, 3, 1, 2])
    x = graph.add("Cast", x, to=1)  # float32
    x = graph.add("Sub", x, graph.constant("mean", np.float32(MEAN)))
    x = graph.add("Div", x, graph.constant("scale", np.float32(SCALE)))
    x = graph.convolution(x, "_conv_stem", "_bn0", stride=2)
    number = 0
    for stage in STAGES:
        for repeat in range(stage.repeats):
            stride = stage.stride if repeat == 0 else 1
            x = _block(graph, x, f"_blocks.{number}.", stage, stride, has_shortcut=repeat > 0)
            number += 1
    x = graph.convolution(x, "_conv_head", "_bn1")
    x = graph.add("GlobalAveragePool", x)
    graph.add("Flatten", x, output="features")
    return graph.serialise()


def _block(
    graph: _GraphBuilder, x: str, name: str, stage: _Stage, stride: int, *, has_shortcut: bool
) -> str:
    """Add an inverted bottleneck: expand, filter each channel by itself, project."""
    y = x
    if stage.expands:
        y = graph.convolution(y, f"{name}_expand_conv", f"{name}_bn0")
    y = graph.convolution(y, f"{name}_depthwise_conv", f"{name}_bn1", stride=stride)
    y = graph.convolution(y, f"{name}_project_conv", f"{name}_bn2", is_clipped=False)
    return graph.add("Add", y, x) if has_shortcut else y


class _GraphBuilder:
    """Collects nodes and the weights they use; every node is named after its output."""

    def __init__(self, weights: Mapping[str, NDArray[np.generic]]) -> None:
        self._weights = weights
        self._nodes: list[onnx.NodeProto] = []
        self._constants: dict[str, onnx.TensorProto] = {}

    def add(self, operation: str, *inputs: str, output: str = "", **attributes: Any) -> str:
        """Add a node; return the name of its output."""
        from onnx import helper

        name = output or f"{operation}-{len(self._nodes)}"
        node = helper.make_node(operation, inputs, [name], name=name, **attributes)
        self._nodes.append(node)
        return name

    def constant(self, name: str, numbers: NDArray[np.generic] | np.float32) -> str:
        """Add numbers under a name; return it."""
        from onnx import numpy_helper

        if name not in self._constants:
            self._constants[name] = numpy_helper.from_array(np.asarray(numbers), name)
        return name

    def convolution(
        self, x: str, weight: str, norm: str, *, stride: int = 1, is_clipped: bool = True
    ) -> str:
        """Add a convolution, its batch norm, and ReLU6 if its output `is_clipped`.

        Its sides are padded as TensorFlow does: an odd pixel goes to the right and the bottom.
        """
        kernels = self._weights[f"{weight}.weight"]
        per_group, kernel = kernels.shape[1:3]
        padding = kernel - stride  # every picture here is a multiple of the stride
        before, after = padding // 2, padding - padding // 2
        y = self.add(
            "Conv",
            x,
            self.constant(f"{weight}.weight", kernels),
            group=len(kernels) if per_group == 1 else 1,
            kernel_shape=[kernel, kernel],
            pads=[before, before, after, after],
            strides=[stride, stride],
        )
        names = [f"{norm}.{part}" for part in ("weight", "bias", "running_mean", "running_var")]
        norms = [self.constant(name, self._weights[name]) for name in names]
        y = self.add("BatchNormalization", y, *norms, epsilon=NORM_EPSILON)
        if not is_clipped:
            return y
        limits = self.constant("zero", np.float32(0)), self.constant("six", np.float32(6))
        return self.add("Clip", y, *limits)

    def serialise(self) -> bytes:
        """Return the graph as an ONNX file."""
        from onnx import TensorProto, helper

        images = helper.make_tensor_value_info(
            "images", TensorProto.UINT8, ["n", PIXELS, PIXELS, 3]
        )
        features = helper.make_tensor_value_info("features", TensorProto.FLOAT, ["n", WIDTH])
        constants = list(self._constants.values())
        graph = helper.make_graph(
            self._nodes, "efficientnet-lite0", [images], [features], constants
        )
        opset = helper.make_opsetid("", OPSET)
        model = helper.make_model(graph, opset_imports=[opset], ir_version=IR_VERSION)
        content: bytes = model.SerializeToString()
        return content
