"use strict";
// Runs before the page is drawn, so that a stored choice does not flash.
// Pages opened from disk may be denied storage; then the system's setting applies.

function storedTheme() {
  try {
    return localStorage.getItem("stepreel-theme");
  } catch {
    return null;
  }
}

function storeTheme(theme) {
  try {
    localStorage.setItem("stepreel-theme", theme);
  } catch {
    // Then the choice lasts until the page is closed.
  }
}

function shownTheme() {
  const chosen = document.documentElement.dataset.theme;
  if (chosen) return chosen;
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

function switchTheme() {
  const theme = shownTheme() === "dark" ? "light" : "dark";
  document.documentElement.dataset.theme = theme;
  storeTheme(theme);
}

if (["light", "dark"].includes(storedTheme())) {
  document.documentElement.dataset.theme = storedTheme();
}
