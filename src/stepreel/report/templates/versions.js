"use strict";
// The storyboard and its alternatives with other numbers of steps: one of them is on the page.

const PARTS = ["count", "drawing", "legend", "steps"];

class Versions {
  constructor(board, use) {
    this.boards = [board, ...board.alternatives.map((other) => ({ ...board, ...other }))];
    this.use = use;
    this.shown = 0;
    const templates = document.querySelectorAll("template[data-version]");
    this.parts = [this.partsIn(document), ...[...templates].map((each) => this.partsIn(each.content))];
    for (const parts of this.parts.slice(1)) this.sharePictures(parts.steps);
  }

  partsIn(root) {
    return Object.fromEntries(PARTS.map((name) => [name, root.querySelector(`[data-part="${name}"]`)]));
  }

  sharePictures(steps) {
    for (const image of steps.querySelectorAll("img[data-same-as]")) {
      const same = this.parts[0].steps.querySelector(`[data-picture="${image.dataset.sameAs}"] img`);
      if (same) image.src = same.src;
    }
  }

  show(number) {
    if (number === this.shown || !this.boards[number]) return;
    for (const name of PARTS) this.parts[this.shown][name].replaceWith(this.parts[number][name]);
    this.shown = number;
    for (const button of document.querySelectorAll("button[data-version]")) {
      button.setAttribute("aria-pressed", String(Number(button.dataset.version) === number));
    }
    for (const hint of document.querySelectorAll("[data-keep]")) {
      hint.hidden = Number(hint.dataset.keep) !== number;
    }
    this.use(this.boards[number]);
    // So that reloading, or a link to the page, shows the same.
    history.replaceState(null, "", number ? `#number-${number}` : location.pathname);
  }

  showNamed() {
    const named = /^#number-(\d)$/.exec(location.hash);
    if (named) this.show(Number(named[1]));
  }
}
