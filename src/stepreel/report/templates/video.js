"use strict";
// The page of a video: plays steps, and helps when the video cannot be shown.

class VideoPage extends Page {
  constructor(board) {
    super(board, new Player(byId("video"), board.offset, board.duration));
    this.playhead.onUsable = () => this.showStage();
    this.showStage();
  }

  play(step) {
    this.chosen = null;
    if (this.playhead.usable) this.playhead.playSpan(step.start, step.end);
    else this.go(step);
  }

  showCurrent() {
    super.showCurrent();
    if (!this.playhead.usable) this.showStill();
  }

  showStage() {
    const { usable, video } = this.playhead;
    video.hidden = !usable;
    // What cannot play offers no Play.
    document.documentElement.classList.toggle("no-video", !usable);
    const which = byId("which");
    if (which) which.hidden = !usable || Boolean(this.playhead.fileAddress);
    byId("missing").hidden = usable;
    byId("still").hidden = true;
    byId("no-still").hidden = true;
    if (!usable) this.showStill();
    this.warnOfAnotherRecording();
  }

  showStill() {
    // Of a folded kind there is a picture of one visit; it must not stand for another.
    const shown = this.current ? `[data-picture="${this.current.index}"] img` : ".picture img";
    const picture = document.querySelector(shown);
    byId("still").hidden = !picture;
    byId("no-still").hidden = Boolean(picture);
    if (picture) byId("still").src = picture.src;
  }

  warnOfAnotherRecording() {
    const { usable, fileAddress, video } = this.playhead;
    const expected = this.board.duration + this.board.recordingOffset;
    const differs = usable && fileAddress && Math.abs(video.duration - expected) > 2;
    byId("mismatch").hidden = !differs;
    byId("mismatch").textContent =
      `This video lasts ${clock(video.duration || 0)}, but the storyboard was made from one of ` +
      `${clock(expected)}. It may be another recording.`;
  }

  takeFile(file) {
    if (!file) return;
    byId("missing-title").textContent = `${file.name} could not be shown`;
    byId("missing-reason").textContent =
      "This browser cannot play its codec, or it is not a video. The steps and their pictures work without it.";
    this.playhead.useFile(file, this.board.recordingOffset);
  }

  listen() {
    super.listen();
    byId("choose").addEventListener("click", () => byId("chosen").click());
    byId("chosen").addEventListener("change", (event) => this.takeFile(event.target.files[0]));
    this.acceptDrops();
  }

  click(event) {
    const button = event.target.closest("[data-play]");
    if (button) this.play(this.stepNumbered(Number(button.dataset.play)));
    else super.click(event);
  }

  keys(target) {
    const keys = super.keys();
    // The element with the focus keeps the keys that it already handles.
    if (target === this.playhead.video) {
      delete keys.ArrowRight;
      delete keys.ArrowLeft;
    }
    if (this.playhead.usable && !target.closest("button, a, summary, video")) {
      keys[" "] = () => this.playhead.toggle();
      keys.Enter = () => this.current && this.play(this.current);
    }
    return keys;
  }

  acceptDrops() {
    document.addEventListener("dragover", (event) => {
      // Without this the browser would open the dropped file in place of the page.
      event.preventDefault();
      document.body.classList.toggle("dropping", !this.playhead.usable);
    });
    document.addEventListener("dragleave", (event) => {
      if (!event.relatedTarget) document.body.classList.remove("dropping");
    });
    document.addEventListener("drop", (event) => {
      event.preventDefault();
      document.body.classList.remove("dropping");
      if (!this.playhead.usable) this.takeFile(event.dataTransfer.files[0]);
    });
  }
}

new VideoPage(readBoard());
