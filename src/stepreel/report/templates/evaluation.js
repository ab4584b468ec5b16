// The page is complete without this script, which hides what was not chosen.

for (const control of document.querySelectorAll("[data-needs-script]")) control.hidden = false;

const protocol = document.getElementById("protocol");

function showProtocol() {
  for (const table of document.querySelectorAll("[data-protocol]")) {
    table.hidden = table.dataset.protocol !== protocol.value;
  }
}

function showMethod(box) {
  const lanes = box.closest(".barcodes").querySelectorAll(`[data-method="${box.value}"]`);
  for (const lane of lanes) lane.hidden = !box.checked;
}

// Pressed steps keep their colour; with none pressed, all do.
function showSteps(barcodes) {
  const pressed = [...barcodes.querySelectorAll(".key[aria-pressed=true]")];
  const kept = pressed.map((key) => `kind-${key.dataset.kind}`);
  for (const bar of barcodes.querySelectorAll(".lanes [class*=kind-]")) {
    const isKept = kept.length === 0 || kept.some((name) => bar.classList.contains(name));
    bar.classList.toggle("faded", !isKept);
  }
}

protocol.addEventListener("change", showProtocol);
showProtocol(); // a reloaded page may remember an earlier choice

for (const box of document.querySelectorAll(".choices input")) {
  box.addEventListener("change", () => showMethod(box));
  showMethod(box);
}

for (const key of document.querySelectorAll("button.key")) {
  key.addEventListener("click", () => {
    key.setAttribute("aria-pressed", key.getAttribute("aria-pressed") !== "true");
    showSteps(key.closest(".barcodes"));
  });
}

// Letters are fitted to what can be seen.
for (const folded of document.querySelectorAll("details")) {
  folded.addEventListener("toggle", fitLetters);
}
