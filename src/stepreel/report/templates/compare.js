"use strict";
// The page of a comparison: the layouts of the timelines, and what a click plays.

const byId = (id) => document.getElementById(id);
const LEAST_COLUMN = 26;

function layOut(layout) {
  const lanes = byId("lanes");
  for (const element of lanes.querySelectorAll("[data-at]")) {
    const [x, width] = element.dataset.at.split(" ").slice(2 * layout, 2 * layout + 2).map(Number);
    if (element.tagName === "text") {
      element.setAttribute("x", `${x + width / 2}%`);
      element.dataset.room = width;
    } else {
      element.setAttribute("x", `${x}%`);
      element.setAttribute("width", `${width}%`);
    }
  }
  for (const axis of lanes.querySelectorAll("[data-axis]")) {
    axis.toggleAttribute("hidden", Number(axis.dataset.axis) !== layout);
  }
  for (const button of document.querySelectorAll("[data-layout]")) {
    button.setAttribute("aria-pressed", String(Number(button.dataset.layout) === layout));
  }
  const needed = layout === 2 ? LEAST_COLUMN * Number(lanes.dataset.columns) : 0;
  lanes.querySelector(".wide").style.minWidth = `${needed}px`;
  lanes.dataset.shown = layout;
  fitLetters();
}

function fitLetters() {
  const width = document.querySelector("#lanes .wide").clientWidth;
  hideCrowded(document.querySelectorAll("#lanes .letter"), () => width);
}

// One stop of the Tab key per timeline; arrows move inside.
function moveInside(bar, direction) {
  const bars = [...bar.parentElement.querySelectorAll(".bar")];
  const next = bars[bars.indexOf(bar) + direction];
  if (!next) return;
  bar.setAttribute("tabindex", "-1");
  next.setAttribute("tabindex", "0");
  next.focus();
}

// Says beside the player what is missing where it plays.
class ComparedPlayer extends TakePlayer {
  note = "";

  show(element) {
    this.note = element.dataset.note ?? "";
    this.play(...element.dataset.play.split(":").map(Number));
    this.note = "";
  }

  showWords(take, visit) {
    super.showWords(take, visit);
    byId("dock-note").textContent = this.note;
    byId("dock-note").hidden = !this.note;
  }
}

function listen(player) {
  const play = (element) => player.show(element);
  document.addEventListener("click", (event) => {
    const layout = event.target.closest("[data-layout]");
    const step = event.target.closest("[data-play]");
    if (layout) layOut(Number(layout.dataset.layout));
    else if (step) play(step);
  });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const bar = event.target.closest("#lanes .bar");
    if (event.key === "Escape" && player.shown) player.close();
    else if (bar && event.key === "ArrowRight") moveInside(bar, 1);
    else if (bar && event.key === "ArrowLeft") moveInside(bar, -1);
    else if (bar?.dataset.play && [" ", "Enter"].includes(event.key)) play(bar);
    else return;
    event.preventDefault();
  });
  byId("theme").addEventListener("click", switchTheme);
  addEventListener("resize", fitLetters);
}

// What is folded is printed; afterwards it is folded again.
function unfoldForPaper() {
  let unfolded = [];
  addEventListener("beforeprint", () => {
    unfolded = [...document.querySelectorAll("details:not([open])")];
    for (const one of unfolded) one.open = true;
  });
  addEventListener("afterprint", () => {
    for (const one of unfolded) one.open = false;
  });
}

unfoldForPaper();
listen(new ComparedPlayer(JSON.parse(byId("comparison").textContent).takes));
fitLetters();
