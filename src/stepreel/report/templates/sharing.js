"use strict";
// Copying chapters, and saying briefly that something happened.

let toastTimer = 0;

function say(text) {
  const toast = document.getElementById("toast");
  toast.textContent = text;
  toast.classList.add("shown");
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => toast.classList.remove("shown"), 2000 + 40 * text.length);
}

async function copyChapters(chapters) {
  try {
    await navigator.clipboard.writeText(chapters.text);
    say(chapters.problem ? `Copied. ${chapters.problem}` : "Copied to the clipboard.");
  } catch {
    // Denied, or not offered outside of secure pages: let the reader copy by hand.
    const text = document.getElementById("copy-text");
    text.value = chapters.text;
    document.getElementById("copy-dialog").showModal();
    text.focus();
    text.select();
    if (chapters.problem) say(chapters.problem);
  }
}

function offerCopying(chapters) {
  for (const button of document.querySelectorAll("[data-copy]")) {
    button.addEventListener("click", () => copyChapters(chapters[button.dataset.copy]));
  }
}
