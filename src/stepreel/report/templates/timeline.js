"use strict";
// The timeline: a slider over the whole recording, with a preview at the pointer.

const PREVIEW_WIDTH = 192;
const PRINTED_WIDTH = 680;

function clock(seconds) {
  const whole = Math.floor(seconds + 0.0005);
  const two = (number) => String(number).padStart(2, "0");
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60];
  const tail = two(whole % 60);
  return hours ? `${hours}:${two(minutes)}:${tail}` : `${minutes}:${tail}`;
}

function spanAt(spans, seconds) {
  return spans.find((span) => span.start <= seconds && seconds < span.end) ?? null;
}

class Timeline {
  constructor(root, board, seek) {
    this.root = root;
    this.board = board;
    this.seek = seek;
    this.preview = document.getElementById("preview");
    this.playhead = document.getElementById("playhead");
    this.listen();
    this.fitLabels(root.clientWidth);
  }

  useBoard(board) {
    this.board = board;
    this.fitLabels(this.root.clientWidth);
  }

  listen() {
    const on = (name, action) => this.root.addEventListener(name, action);
    on("pointerdown", (event) => this.press(event));
    on("pointermove", (event) => this.hover(event));
    on("pointerleave", () => this.hidePreview());
    on("pointerup", (event) => event.pointerType !== "mouse" && this.hidePreview());
    on("pointercancel", () => this.hidePreview());
    on("keydown", (event) => this.pressKey(event));
    new ResizeObserver(() => this.fitLabels(this.root.clientWidth)).observe(this.root);
    addEventListener("beforeprint", () => this.fitLabels(PRINTED_WIDTH));
    addEventListener("afterprint", () => this.fitLabels(this.root.clientWidth));
  }

  secondsAt(event) {
    const box = this.root.getBoundingClientRect();
    const part = (event.clientX - box.left) / box.width;
    return Math.min(Math.max(part, 0), 1) * this.board.duration;
  }

  press(event) {
    if (event.button !== 0) return;
    this.root.setPointerCapture(event.pointerId);
    this.seek(this.secondsAt(event));
  }

  hover(event) {
    const seconds = this.secondsAt(event);
    if (event.buttons & 1) this.seek(seconds);
    this.showPreview(seconds);
  }

  pressKey(event) {
    const size = event.shiftKey ? 10 : 1;
    const moves = {
      ArrowRight: this.seconds + size,
      ArrowUp: this.seconds + size,
      ArrowLeft: this.seconds - size,
      ArrowDown: this.seconds - size,
      PageUp: this.seconds + 10,
      PageDown: this.seconds - 10,
      Home: 0,
      End: this.board.duration,
    };
    if (!(event.key in moves) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    this.seek(Math.min(Math.max(moves[event.key], 0), this.board.duration));
  }

  show(seconds, step) {
    this.seconds = seconds;
    const part = this.board.duration ? Math.min(seconds / this.board.duration, 1) : 0;
    this.playhead.style.left = `${100 * part}%`;
    const where = step ? `, step ${step.index}: ${step.title}` : "";
    this.root.setAttribute("aria-valuenow", seconds.toFixed(1));
    this.root.setAttribute("aria-valuetext", `${clock(seconds)} of ${clock(this.board.duration)}${where}`);
  }

  showPreview(seconds) {
    const span = spanAt(this.board.spans, seconds);
    document.getElementById("preview-time").textContent = clock(seconds);
    document.getElementById("preview-title").textContent = this.describe(span);
    if (this.board.strip) this.showTile(seconds);
    this.preview.hidden = false;
    const width = this.root.clientWidth;
    const half = this.preview.offsetWidth / 2;
    const centre = (seconds / this.board.duration) * width;
    this.preview.style.left = `${Math.min(Math.max(centre, half), width - half)}px`;
  }

  describe(span) {
    if (!span) return "";
    const step = this.board.steps.find((candidate) => candidate.index === span.step);
    if (step) return `${step.index} · ${step.title}${span.kind === "uncertain" ? " (uncertain)" : ""}`;
    return { background: "no step", uncertain: "uncertain", "left-out": "left out" }[span.kind] ?? "";
  }

  showTile(seconds) {
    const strip = this.board.strip;
    const tile = Math.min(Math.round(seconds / strip.interval_seconds), strip.count - 1);
    const scale = Math.min(PREVIEW_WIDTH / strip.tile_width, 150 / strip.tile_height);
    const [width, height] = [strip.tile_width * scale, strip.tile_height * scale];
    const style = document.getElementById("preview-picture").style;
    style.width = `${width}px`;
    style.height = `${height}px`;
    style.backgroundSize = `${strip.columns * width}px auto`;
    const [row, column] = [Math.floor(tile / strip.columns), tile % strip.columns];
    style.backgroundPosition = `${-column * width}px ${-row * height}px`;
  }

  hidePreview() {
    this.preview.hidden = true;
  }

  fitLabels(width) {
    const middle = (element) => (parseFloat(element.getAttribute("x")) / 100) * width;
    let free = -Infinity;
    for (const mark of this.root.querySelectorAll(".mark")) {
      const half = 4 + 3.5 * mark.textContent.trim().length;
      const crowded = middle(mark) - half < free;
      mark.classList.toggle("crowded", crowded);
      if (!crowded) free = middle(mark) + half;
    }
    hideCrowded(this.root.querySelectorAll(".letter"), () => width);
  }
}
