"use strict";
// Plays steps of several takes in one player. Of a take whose video cannot be played, it shows the
// picture of the step, and links to the take's own page.

class TakePlayer {
  constructor(takes) {
    this.takes = takes;
    this.player = new Player(byId("video"), 0, 0);
    this.player.onUsable = () => this.showStage();
    this.shown = null;
    byId("dock-close").addEventListener("click", () => this.close());
    byId("earlier-take").addEventListener("click", () => this.sameStepElsewhere(-1));
    byId("later-take").addEventListener("click", () => this.sameStepElsewhere(1));
  }

  play(number, place) {
    const [take, visit] = [this.takes[number], this.takes[number].visits[place]];
    const isOther = this.shown?.number !== number;
    this.shown = { number, place };
    this.player.offset = take.offset;
    this.player.duration = Math.max(take.duration, visit.end);
    byId("dock").hidden = false;
    document.documentElement.classList.add("docked");
    if (isOther) this.load(take);
    if (this.player.usable) this.player.playSpan(visit.start, visit.end);
    this.showStage();
    this.showWords(take, visit);
    this.markCurrent();
  }

  load(take) {
    const video = this.player.video;
    this.player.usable = Boolean(take.video);
    if (take.video) video.src = take.video;
    else {
      video.pause();
      video.removeAttribute("src");
      video.load();
    }
  }

  showStage() {
    if (!this.shown) return;
    const take = this.takes[this.shown.number];
    const { usable, video } = this.player;
    if (!usable && !video.paused) video.pause();
    video.hidden = !usable;
    byId("missing").hidden = usable;
    const picture = document.querySelector(`.cell[data-play="${this.shown.number}:${this.shown.place}"] img`);
    byId("still").hidden = !picture;
    if (picture) byId("still").src = picture.src;
    byId("missing-words").textContent =
      take.problem ||
      "The video could not be shown: it may have been moved or renamed, or this browser cannot play it.";
  }

  showWords(take, visit) {
    const title = visit.title ? `${visit.letter}, ${visit.title}` : visit.letter;
    byId("dock-words").textContent = `${take.name} · ${title} · ${visit.extent}`;
    const link = byId("dock-page");
    link.hidden = !take.page;
    if (take.page) link.href = `${take.page}#step-${visit.step}`;
    link.textContent = "Open this take at this step";
    const others = this.takes.filter((other) => this.visitLike(other) >= 0).length;
    byId("earlier-take").disabled = byId("later-take").disabled = others < 2;
  }

  // The visit of another take that is the same step: of the same kind, and the same in number.
  visitLike(take) {
    const { number, place } = this.shown;
    const visits = this.takes[number].visits;
    const kind = visits[place].kind;
    const before = visits.slice(0, place).filter((visit) => visit.kind === kind).length;
    const places = take.visits.flatMap((visit, index) => (visit.kind === kind ? [index] : []));
    return places[Math.min(before, places.length - 1)] ?? -1;
  }

  sameStepElsewhere(direction) {
    if (!this.shown) return;
    const count = this.takes.length;
    for (let far = 1; far < count; far += 1) {
      const number = (this.shown.number + direction * far + count * far) % count;
      const place = this.visitLike(this.takes[number]);
      if (place >= 0) return this.play(number, place);
    }
  }

  markCurrent() {
    for (const old of document.querySelectorAll("[data-play][aria-current]")) old.removeAttribute("aria-current");
    if (!this.shown) return;
    const own = `[data-play="${this.shown.number}:${this.shown.place}"]`;
    for (const element of document.querySelectorAll(own)) element.setAttribute("aria-current", "true");
  }

  close() {
    this.player.video.pause();
    this.shown = null;
    byId("dock").hidden = true;
    document.documentElement.classList.remove("docked");
    this.markCurrent();
  }
}
