"use strict";
// Runs before the page is drawn, so that a remembered choice does not flash.
// Storage may be denied for pages opened from disk; then the system's choice stands.

function rememberedTheme() {
  try {
    return localStorage.getItem("stepreel-theme");
  } catch {
    return null;
  }
}

function rememberTheme(theme) {
  try {
    localStorage.setItem("stepreel-theme", theme);
  } catch {
    // The choice then lasts as long as the page is open.
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
  rememberTheme(theme);
}

if (["light", "dark"].includes(rememberedTheme())) {
  document.documentElement.dataset.theme = rememberedTheme();
}
