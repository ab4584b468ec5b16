"use strict";
// Copy chapters, and show a short message.

let toastTimer = 0;

function showMessage(text) {
  const toast = document.getElementById("toast");
  toast.textContent = text;
  toast.classList.add("shown");
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => toast.classList.remove("shown"), 2000 + 40 * text.length);
}

async function copyChapters(chapters) {
  try {
    await navigator.clipboard.writeText(chapters.text);
    showMessage(chapters.problem ? `Copied. ${chapters.problem}` : "Copied to the clipboard.");
  } catch {
    // Denied, or not available outside of secure pages: let the reader copy by hand.
    const text = document.getElementById("copy-text");
    text.value = chapters.text;
    document.getElementById("copy-dialog").showModal();
    text.focus();
    text.select();
    if (chapters.problem) showMessage(chapters.problem);
  }
}

function offerCopying(chaptersNow) {
  for (const button of document.querySelectorAll("[data-copy]")) {
    button.addEventListener("click", () => copyChapters(chaptersNow()[button.dataset.copy]));
  }
}
