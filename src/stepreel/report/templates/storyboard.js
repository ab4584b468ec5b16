"use strict";
// Ties the video, the timeline and the cards together.

const byId = (id) => document.getElementById(id);

function readBoard() {
  const board = JSON.parse(byId("board").textContent);
  board.spans = board.spans.map(([start, end, kind, step]) => ({ start, end, kind, step }));
  return board;
}

class Page {
  constructor(board) {
    this.board = board;
    this.current = null; // the step at the playhead
    this.chosen = null; // the step last asked for
    this.player = new Player(byId("video"), board.offset, board.duration);
    this.timeline = new Timeline(byId("timeline"), board, (seconds) => this.seek(seconds));
    this.player.onChange = () => this.update();
    this.player.onUsable = () => this.showStage();
    this.listen();
    this.showStage();
    this.update();
  }

  stepNumbered(index) {
    return this.board.steps.find((step) => step.index === index) ?? null;
  }

  stepAt(seconds) {
    // A player lands on a frame near the moment asked for, which may be just outside of the span.
    if (this.chosen && Math.abs(this.chosen.time - seconds) < 0.1) return this.chosen;
    const span = spanAt(this.board.spans, seconds);
    return span?.step ? this.stepNumbered(span.step) : null;
  }

  seek(seconds) {
    this.chosen = null;
    this.player.seek(seconds);
  }

  go(step, { reveal = false } = {}) {
    if (!step) return;
    this.chosen = step;
    this.player.seek(step.time);
    if (reveal) byId(`step-${step.index}`).scrollIntoView({ block: "nearest" });
  }

  play(step) {
    this.chosen = null;
    if (this.player.usable) this.player.playSpan(step.start, step.end);
    else this.go(step);
  }

  move(direction) {
    const { steps } = this.board;
    const now = this.player.now();
    let place = this.current ? steps.indexOf(this.current) + direction : -1;
    if (!this.current && direction > 0) place = steps.findIndex((step) => step.time > now);
    if (!this.current && direction < 0) place = steps.findLastIndex((step) => step.time < now);
    this.go(steps[place], { reveal: true });
  }

  update() {
    const now = this.player.now();
    const step = this.stepAt(now);
    this.timeline.show(now, step);
    if (step === this.current) return;
    this.current = step;
    this.markCurrent(step);
    if (!this.player.usable) this.showStill();
  }

  markCurrent(step) {
    for (const old of document.querySelectorAll("[aria-current]")) old.removeAttribute("aria-current");
    const ours = `[data-step="${step?.index}"], [data-mark="${step?.index}"]`;
    for (const one of document.querySelectorAll(ours)) one.setAttribute("aria-current", "step");
    if (!this.board.steps.length) return;
    byId("now-title").textContent = step ? step.title : "Between steps";
    const extent = step && `${clock(step.start)} – ${clock(step.end)}`;
    byId("now-detail").textContent = step
      ? `Step ${step.index} of ${this.board.steps.length} · ${extent}`
      : `${this.board.steps.length} key steps`;
  }

  showStage() {
    const { usable, video } = this.player;
    video.hidden = !usable;
    byId("missing").hidden = usable;
    byId("still").hidden = true;
    byId("no-still").hidden = true;
    if (!usable) this.showStill();
    this.warnOfAnotherRecording();
  }

  showStill() {
    const step = this.current ?? this.board.steps[0];
    const picture = step && document.querySelector(`#step-${step.index} .picture img`);
    byId("still").hidden = !picture;
    byId("no-still").hidden = Boolean(picture);
    if (picture) byId("still").src = picture.src;
  }

  warnOfAnotherRecording() {
    const expected = this.board.duration + this.board.offset;
    const lasts = this.player.video.duration;
    const differs = this.player.usable && this.player.fileAddress && Math.abs(lasts - expected) > 2;
    byId("mismatch").hidden = !differs;
    byId("mismatch").textContent =
      `This video lasts ${clock(lasts || 0)}, the storyboard was made from one of ${clock(expected)}. ` +
      "It may be another recording.";
  }

  takeFile(file) {
    if (!file) return;
    byId("missing-title").textContent = `${file.name} could not be shown`;
    byId("missing-reason").textContent =
      "This browser does not know its codec, or it is not a video. The steps and their pictures work without it.";
    this.player.useFile(file);
  }

  listen() {
    const on = (id, action) => byId(id)?.addEventListener("click", action);
    on("previous", () => this.move(-1));
    on("next", () => this.move(1));
    on("theme", switchTheme);
    on("help", () => byId("shortcuts").showModal());
    on("choose", () => byId("chosen").click());
    byId("chosen").addEventListener("change", (event) => this.takeFile(event.target.files[0]));
    document.addEventListener("click", (event) => this.click(event));
    document.addEventListener("keydown", (event) => this.press(event));
    this.acceptDrops();
    offerCopying(this.board.chapters);
  }

  click(event) {
    const at = (selector) => event.target.closest(selector);
    if (at("[data-play]")) this.play(this.stepNumbered(Number(at("[data-play]").dataset.play)));
    else if (at("[data-seek]")) this.seek(Number(at("[data-seek]").dataset.seek));
    else if (at("[data-go]")) {
      event.preventDefault();
      this.go(this.stepNumbered(Number(at("[data-go]").dataset.go)), { reveal: true });
    } else if (at("[data-step]")) this.go(this.stepNumbered(Number(at("[data-step]").dataset.step)));
  }

  press(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (document.querySelector("dialog[open]") || event.target.closest("input, textarea")) return;
    // What has the focus keeps the keys it already answers to.
    const onVideo = event.target === this.player.video;
    const onControl = event.target.closest("button, a, summary, video");
    const actions = {
      j: () => this.move(1),
      k: () => this.move(-1),
      "?": () => byId("shortcuts").showModal(),
    };
    if (!onVideo) Object.assign(actions, { ArrowRight: actions.j, ArrowLeft: actions.k });
    if (!onControl) {
      actions[" "] = () => this.player.toggle();
      actions.Enter = () => this.current && this.play(this.current);
    }
    const step = /^[1-9]$/.test(event.key) ? this.stepNumbered(Number(event.key)) : null;
    const action = step ? () => this.go(step, { reveal: true }) : actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  }

  acceptDrops() {
    document.addEventListener("dragover", (event) => {
      // Without this the browser would leave the page for the dropped file.
      event.preventDefault();
      document.body.classList.toggle("dropping", !this.player.usable);
    });
    document.addEventListener("dragleave", (event) => {
      if (!event.relatedTarget) document.body.classList.remove("dropping");
    });
    document.addEventListener("drop", (event) => {
      event.preventDefault();
      document.body.classList.remove("dropping");
      if (!this.player.usable) this.takeFile(event.dataTransfer.files[0]);
    });
  }
}

new Page(readBoard());
