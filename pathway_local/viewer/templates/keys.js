"use strict";
const links = { ArrowLeft: "prev", k: "prev", ArrowRight: "next", j: "next", u: "up" };
document.addEventListener("keydown", (event) => {
  const writes = event.target.closest("input, select, textarea, summary");
  const rel = links[event.key];
  if (!rel || writes || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
  document.querySelector(`a[rel="${rel}"]`)?.click();
});
