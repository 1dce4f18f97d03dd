// What the deck adds to reveal.js: light or dark, figures as large as the slide allows, keys that a figure keeps.

const FIGURE = "[data-figure][data-live]";
const WIDEST = 1160;
const NARROWEST = 560;
const ZOOMS = [1, 0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.65, 0.6];

/** Light or dark: first as the system has it, then as the D key says. Paper is light. */
function chooseTheme() {
  const isPrinted = location.search.includes("print-pdf");
  const dark = matchMedia("(prefers-color-scheme: dark)").matches && !isPrinted;
  document.documentElement.dataset.theme = dark ? "dark" : "light";
}

function switchTheme() {
  const root = document.documentElement;
  root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
}

/** In its shadow root a figure's drawing has a size of its own. On a slide it fills the width that it is given. */
function enlarge(host) {
  if (host.shadowRoot.querySelector("style.slide")) return;
  const style = document.createElement("style");
  style.className = "slide";
  style.textContent = ":host(:not(:fullscreen)) .stage > svg { width: 100%; } .bar .say { min-height: 2.7em; align-content: center; }";
  host.shadowRoot.append(style);
  grown.observe(host);
}

/** The widest form of a figure that is no taller than its place, in the middle; smaller as a whole only if none is. */
function fitFigure(host) {
  const room = host.parentElement.clientHeight;
  host.dataset.room = room;
  for (const zoom of ZOOMS) {
    host.style.zoom = zoom;
    for (let width = WIDEST; width >= NARROWEST; width -= 20) {
      host.style.width = `${width / zoom}px`;
      const left = room - host.offsetHeight * zoom;
      host.style.marginTop = `${Math.max(0, left) / 2 / zoom}px`;
      if (left >= 0) return;
    }
  }
}

/** Whether a figure can be seen as a part of its slide: another slide's has no place now, and one may fill the screen. */
function isOnSlide(host) {
  return host.parentElement.clientHeight > 0 && !document.fullscreenElement?.matches(FIGURE);
}

function sticksOut(host) {
  return host.getBoundingClientRect().bottom > host.parentElement.getBoundingClientRect().bottom + 1;
}

/** A caption may grow by a line when the figure is used; then the figure becomes smaller, and stays so. */
const grown = new ResizeObserver((entries) => {
  for (const { target } of entries) if (isOnSlide(target) && sticksOut(target)) fitFigure(target);
});

/** Fit each figure that can be seen and does not yet fit the room that it has. */
function fitFigures() {
  for (const host of [...document.querySelectorAll(FIGURE)].filter(isOnSlide)) {
    if (Number(host.dataset.room) === host.parentElement.clientHeight) continue;
    enlarge(host);
    fitFigure(host);
  }
}

/** Keys belong to the figure that has the focus, but those of a clicker; Escape gives them back to the slides. */
function isForSlides(event) {
  const path = event.composedPath?.() ?? []; // a key of the speaker view is no event, only its code
  const host = path.find((node) => node.matches?.(FIGURE));
  if (!host) return true;
  if (event.key === "Escape") leaveFigure();
  return event.key === "PageDown" || event.key === "PageUp";
}

function leaveFigure() {
  let node = document.activeElement;
  if (!node?.matches(FIGURE)) return;
  while (node.shadowRoot?.activeElement) node = node.shadowRoot.activeElement; // what has the focus within the figure
  node.blur();
}

/** A clicker moves the slides, even if a figure has the focus; one that fills the screen keeps its keys. */
function keepForClicker(event) {
  const move = { PageDown: "next", PageUp: "prev" }[event.key];
  if (!move || document.fullscreenElement?.matches(FIGURE)) return;
  if (!event.composedPath().some((node) => node.matches?.(FIGURE))) return;
  event.preventDefault();
  event.stopPropagation();
  window.deck[move]();
}

/** Start the deck. */
function present(settings) {
  chooseTheme();
  const reveal = new Reveal({ ...settings, keyboardCondition: isForSlides, plugins: [RevealNotes] });
  reveal.addKeyBinding({ keyCode: 68, key: "D", description: "Light or dark" }, switchTheme);
  reveal.on("ready", fitFigures);
  reveal.on("pdf-ready", fitFigures);
  reveal.on("slidechanged", leaveFigure);
  reveal.on("slidechanged", fitFigures);
  document.fonts.ready.then(() => reveal.initialize()).then(fitFigures);
  window.deck = reveal;
  addEventListener("keydown", keepForClicker, true);
}
