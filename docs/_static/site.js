// What keeps people who use a keyboard or a screen reader from using the theme.
"use strict";

for (const [part, label] of [
  [".sidebar-drawer", "All pages"],
  [".toc-drawer", "This page"],
]) {
  document.querySelector(part)?.setAttribute("aria-label", label);
}
for (const caption of document.querySelectorAll(".caption[role=heading]")) {
  caption.ariaLevel = "2";
}
for (const box of document.querySelectorAll("pre, .table-wrapper")) {
  if (box.scrollWidth > box.clientWidth) {
    box.tabIndex = 0;
  }
}
