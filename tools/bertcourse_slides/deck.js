// What the deck adds to reveal.js: light or dark, figures as large as the slide allows, keys that a figure keeps.

const FIGURE = "[data-figure][data-live]";

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

/** Whether a figure can be seen as a part of its slide: another slide's has no place now, and one may fill the screen. */
function isOnSlide(host) {
  return host.parentElement.clientHeight > 0 && !document.fullscreenElement?.matches(FIGURE);
}

/** Fit each figure that can be seen and does not yet fit the room that it has. */
function fitFigures() {
  for (const host of [...document.querySelectorAll(FIGURE)].filter(isOnSlide)) {
    const room = host.parentElement.clientHeight;
    if (Number(host.dataset.room) === room) continue;
    host.dataset.room = room;
    host.fitInto?.(room); // a figure from an older notebook has its own size
  }
}

const fragmentsOf = (host) => [...host.parentElement.querySelectorAll(".fragment.step")];

/** Each step of a schematic after the first is a fragment: a clicker and the speaker view go through them. */
function addSteps() {
  for (const host of document.querySelectorAll(FIGURE)) {
    for (let step = 2; step <= host.steps; step += 1) {
      const mark = document.createElement("span");
      mark.className = "fragment step";
      host.parentElement.append(mark);
    }
  }
}

function showSteps() {
  for (const host of document.querySelectorAll(FIGURE)) {
    if (host.steps) host.showStep(1 + fragmentsOf(host).filter((mark) => mark.classList.contains("visible")).length);
  }
}

/** A step that somebody chose in the figure itself is where a clicker goes on. */
function followFigure({ target, detail }) {
  const [first, ...others] = fragmentsOf(target).map((mark) => Number(mark.dataset.fragmentIndex));
  if (first !== undefined) window.deck.navigateFragment([first - 1, first, ...others][detail - 1]);
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
  addSteps();
  for (const moved of ["ready", "pdf-ready", "slidechanged", "fragmentshown", "fragmenthidden"]) {
    reveal.on(moved, showSteps);
    reveal.on(moved, fitFigures);
  }
  reveal.on("slidechanged", leaveFigure);
  document.addEventListener("step", followFigure);
  document.fonts.ready.then(() => reveal.initialize()).then(fitFigures);
  window.deck = reveal;
  addEventListener("keydown", keepForClicker, true);
}
