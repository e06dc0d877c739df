// The chosen theme, before anything is painted. Storage may be closed to pages that are opened as files.
"use strict";

function rememberedTheme() {
  try {
    return localStorage.getItem("theme") || "system";
  } catch {
    return "system";
  }
}

function showTheme(theme) {
  document.documentElement.style.colorScheme = theme === "system" ? "" : theme;
}

showTheme(rememberedTheme());
