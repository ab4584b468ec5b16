"""Draw the loss curve, if matplotlib is installed."""

from __future__ import annotations

import io
from collections.abc import Sequence
from importlib.util import find_spec


def can_draw() -> bool:
    """Return whether matplotlib is installed, an optional extra used only for this picture."""
    return find_spec("matplotlib") is not None


def loss_curve(losses: Sequence[float]) -> bytes:
    """Plot the loss of every epoch; return a PNG."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.add_subplot()
    epochs = range(1, len(losses) + 1)
    axes.plot(epochs, losses, color="#2563a8", linewidth=1.5, marker="." if len(losses) < 3 else "")
    axes.set(xlabel="epoch", ylabel="loss (mean over its steps)", xlim=(0, len(losses) + 1))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    axes.annotate(f"{losses[-1]:.3f}", (len(losses), losses[-1]), ha="right", va="bottom")
    file = io.BytesIO()
    # No version or date in the metadata, so that the same training gives the same file.
    canvas = FigureCanvasAgg(figure)
    canvas.print_png(file, metadata={"Software": None})  # type: ignore[no-untyped-call]
    return file.getvalue()
