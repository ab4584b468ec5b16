"use strict";
// Keeps the playhead, the timeline and the cards together.

const byId = (id) => document.getElementById(id);

function readBoard() {
  const board = JSON.parse(byId("board").textContent);
  for (const version of [board, ...board.alternatives]) {
    version.spans = version.spans.map(([start, end, kind, step]) => ({ start, end, kind, step }));
  }
  return board;
}

function unfold(button) {
  const isCut = byId(button.dataset.unfold).classList.toggle("cut");
  button.setAttribute("aria-expanded", String(!isCut));
  button.textContent = isCut ? button.dataset.more : "Show fewer";
}

class Page {
  constructor(board, playhead) {
    this.board = board;
    this.playhead = playhead;
    this.current = null; // the step at the playhead
    this.chosen = null; // the step the reader last chose
    this.timeline = new Timeline(byId("timeline"), board, (seconds) => this.seek(seconds));
    this.versions = new Versions(board, (version) => this.useBoard(version));
    this.playhead.onChange = () => this.update();
    this.listen();
    this.update();
    this.versions.showNamed();
  }

  useBoard(board) {
    this.board = board;
    this.chosen = null;
    this.current = undefined; // so that everything is shown anew
    this.timeline.useBoard(board);
    this.update();
  }

  stepNumbered(index) {
    return this.board.steps.find((step) => step.index === index) ?? null;
  }

  stepAt(seconds) {
    // A video player shows the frame nearest to the moment, which may be just outside of the span.
    if (this.chosen && Math.abs(this.chosen.time - seconds) < 0.1) return this.chosen;
    const span = spanAt(this.board.spans, seconds);
    return span?.step ? this.stepNumbered(span.step) : null;
  }

  seek(seconds) {
    this.chosen = null;
    this.playhead.seek(seconds);
  }

  go(step, { reveal = false } = {}) {
    if (!step) return;
    this.chosen = step;
    this.playhead.seek(step.time);
    if (reveal) byId(`step-${step.index}`).scrollIntoView({ block: "nearest" });
  }

  move(direction) {
    const { steps } = this.board;
    const now = this.playhead.now();
    let place = this.current ? steps.indexOf(this.current) + direction : -1;
    if (!this.current && direction > 0) place = steps.findIndex((step) => step.time > now);
    if (!this.current && direction < 0) place = steps.findLastIndex((step) => step.time < now);
    this.go(steps[place], { reveal: true });
  }

  update() {
    const now = this.playhead.now();
    const step = this.stepAt(now);
    this.timeline.show(now, step);
    if (step === this.current) return;
    this.current = step;
    this.showCurrent();
  }

  showCurrent() {
    const step = this.current;
    for (const old of document.querySelectorAll("[aria-current]")) old.removeAttribute("aria-current");
    const shown = `[data-step="${step?.index}"], [data-mark="${step?.index}"]`;
    for (const element of document.querySelectorAll(shown)) element.setAttribute("aria-current", "step");
    if (!this.board.steps.length) return;
    byId("now-title").textContent = step ? step.title : "Between steps";
    byId("now-detail").textContent = step
      ? `Step ${step.index} of ${this.board.steps.length} · ${step.extent}`
      : `${this.board.steps.length} key ${this.board.steps.length === 1 ? "step" : "steps"}`;
  }

  listen() {
    const on = (id, action) => byId(id)?.addEventListener("click", action);
    on("previous", () => this.move(-1));
    on("next", () => this.move(1));
    on("theme", switchTheme);
    on("help", () => byId("shortcuts").showModal());
    document.addEventListener("click", (event) => this.click(event));
    document.addEventListener("keydown", (event) => this.press(event));
    offerCopying(() => this.board.chapters);
  }

  click(event) {
    const at = (selector) => event.target.closest(selector);
    if (at("button[data-version]")) this.versions.show(Number(at("button[data-version]").dataset.version));
    else if (at("[data-unfold]")) unfold(at("[data-unfold]"));
    else if (at("[data-seek]")) this.seek(Number(at("[data-seek]").dataset.seek));
    else if (at("[data-go]")) {
      event.preventDefault();
      this.go(this.stepNumbered(Number(at("[data-go]").dataset.go)), { reveal: true });
    } else if (at("[data-step]")) this.go(this.stepNumbered(Number(at("[data-step]").dataset.step)));
  }

  press(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (document.querySelector("dialog[open]") || event.target.closest("input, textarea")) return;
    const step = /^[1-9]$/.test(event.key) ? this.stepNumbered(Number(event.key)) : null;
    const action = step ? () => this.go(step, { reveal: true }) : this.keys(event.target)[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  }

  keys() {
    const [next, previous] = [() => this.move(1), () => this.move(-1)];
    return {
      j: next,
      k: previous,
      ArrowRight: next,
      ArrowLeft: previous,
      "?": () => byId("shortcuts").showModal(),
    };
  }
}
