// What all figures share: a shadow root, so that no style or name leaks in or out; colours mixed from the page's own
// text colour; a headline; a bar of controls; sizes that a phone and a room can read; full screen for the projector;
// keys. If anything fails, the still picture stays.

const STYLE = `
:host {
  --ink: currentColor;
  --soft: color-mix(in oklab, currentColor 68%, transparent);
  --line: color-mix(in oklab, currentColor 24%, transparent);
  --panel: color-mix(in oklab, currentColor 5%, transparent);
  --paper: transparent;
  --plus: color-mix(in oklab, #0a7fc4 86%, currentColor);
  --minus: color-mix(in oklab, #d05a10 88%, currentColor);
  --hot: color-mix(in oklab, #d05a10 88%, currentColor);
  --query: color-mix(in oklab, #b64f9b 82%, currentColor);
  --key: color-mix(in oklab, #b37400 86%, currentColor);
  --value: color-mix(in oklab, #009068 84%, currentColor);
  --group0: color-mix(in oklab, #0072b2 82%, currentColor);
  --group1: color-mix(in oklab, #d55e00 82%, currentColor);
  --group2: color-mix(in oklab, #009e73 78%, currentColor);
  --group3: color-mix(in oklab, #cc79a7 82%, currentColor);
  --group4: color-mix(in oklab, #56b4e9 82%, currentColor);
  --group5: color-mix(in oklab, #e69f00 82%, currentColor);
  --group6: currentColor;
  --least: 0px; /* of text; phones and slides ask for more */
  --small: max(0.9em, var(--least));
  display: block;
  max-width: 100%;
  margin: 0.4em 0 1.2em;
  font: 400 15px/1.4 system-ui, -apple-system, "Segoe UI", Roboto, Helvetica, Arial, sans-serif;
  font-variant-numeric: tabular-nums;
  text-align: left;
  white-space: normal;
}
.stage { container-type: inline-size; outline: none; }
.stage.narrow { --least: 11px; }
.stage > svg { margin: auto; }
svg { display: block; max-width: 100%; height: auto; overflow: visible; font-family: inherit; }
text {
  --grown: max(var(--size), var(--least) * var(--unit, 0));
  font-size: var(--grown); translate: 0 calc(var(--down, 0.35) * (var(--grown) - var(--size)));
}
.headline {
  display: var(--headline, block); margin-bottom: 0.5em;
  font-size: 1.15em; font-weight: 650; line-height: 1.3; text-wrap: balance;
}
[data-step] { transition: opacity 0.3s; }
[data-step].later { opacity: 0; }
.flow { stroke-dasharray: 7 6; animation: flow 1s linear 4; }
.later .flow { animation: none; } /* it flows again when its step appears */
@keyframes flow { to { stroke-dashoffset: -13; } }
.bar { display: flex; flex-wrap: wrap; gap: 0.35em 0.7em; align-items: center; margin: 0.4em 0; min-height: 2.1em;
  position: relative; padding-right: 2.6em; }
.bar label { display: inline-flex; gap: 0.6em; align-items: center; }
.bar output { font-weight: 650; }
button {
  font: inherit; font-size: var(--small); line-height: 1.5; color: inherit; cursor: pointer;
  background: var(--panel); border: 1px solid var(--line); border-radius: 7px; padding: 0.16em 0.62em;
}
button:hover, button[aria-pressed="true"] {
  border-color: var(--plus); background: color-mix(in oklab, var(--plus) 16%, transparent);
}
:focus-visible { outline: 2px solid var(--plus); outline-offset: 2px; }
input { accent-color: var(--plus); margin: 0; width: min(220px, 44vw); }
.say { min-height: 2.8em; }
.bar .say { flex: 1 1 16em; min-height: 0; }
.soft { color: var(--soft); }
.unseen { position: absolute; clip-path: inset(50%); width: 1px; height: 1px; overflow: hidden; }
b { font-weight: 650; }
.full { position: absolute; top: 50%; right: 0; translate: 0 -50%; padding: 0.35em 0.5em; line-height: 0; }
:host(:fullscreen) {
  background: var(--page, #fff); color: var(--page-ink, #111); padding: 1.5vh 2vw; margin: 0;
  box-sizing: border-box; overflow: auto; --least: max(11px, 18 / 720 * min(100vh, 56.25vw));
}
:host(:fullscreen) .headline { display: block; }
.fitted > :is(svg, .both, .panels, .body) { width: calc(100% * var(--share)); margin-inline: auto; }
.fitted:has(> .bar > .full:only-child) { position: relative; padding-right: 2.6em; }
.fitted > .bar:has(> .full:only-child) { position: absolute; right: 0; bottom: 0; margin: 0; }
.fitted .bar .say { min-height: 2.7em; align-content: center; }
:host(:fullscreen) .full svg { width: 1.2em; }
@media (forced-colors: active) { :host { forced-color-adjust: none; color: CanvasText; background: Canvas; } }
@media (prefers-reduced-motion: reduce) { .flow { animation: none; } * { transition: none !important; } }
@media print {
  :host { color: #111 !important; background: #fff !important; print-color-adjust: exact; }
  .bar { display: none !important; }
  .later { opacity: 1 !important; }
  .flow { animation: none; stroke-dasharray: none; }
}
`;

const SVG_TAGS = new Set(["svg", "g", "path", "rect", "circle", "line", "text", "tspan", "title"]);

/** An element of HTML or SVG, with attributes, listeners (their names begin with "on") and children. */
function h(tag, attributes = {}, ...children) {
  const node = SVG_TAGS.has(tag)
    ? document.createElementNS("http://www.w3.org/2000/svg", tag)
    : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== false && value != null) {
      if (name === "font-size") node.style.setProperty("--size", `${value}px`);
      node.setAttribute(name, value === true && !name.startsWith("aria-") ? "" : value);
    }
  }
  node.append(...children.flat(Infinity));
  return node;
}

/** A number as Python's figures print it: a true minus, and no minus before a zero. */
function fixed(value, digits) {
  const text = value.toFixed(digits);
  return (/[1-9]/.test(text) ? text : text.replace("-", "")).replace("-", "−");
}

/** A number of any size to three digits, such as 12.3, 0.0123 or 1.23e−7. */
function threeDigits(value) {
  if (value === 0) return "0";
  const size = Math.floor(Math.log10(Math.abs(value)));
  return size < -4 ? value.toExponential(2).replaceAll("-", "−") : fixed(value, Math.max(0, 2 - size));
}

/** Softmax of those scores that are allowed; all zeros if none is. */
function softmax(scores, allowed = scores.map(() => true)) {
  const top = Math.max(...scores.filter((_, i) => allowed[i]));
  const raised = scores.map((score, i) => (allowed[i] ? Math.exp(score - top) : 0));
  const total = raised.reduce((sum, value) => sum + value, 0) || 1;
  return raised.map((value) => value / total);
}

/** A slider with its value beside it; `name` turns the value into words. */
function slider(label, { min, max, value, name, change }) {
  const output = h("output", { style: "min-width: 4.4em" }, name(value));
  const input = h("input", { type: "range", min, max, value, "aria-label": label, "aria-valuetext": name(value) });
  input.addEventListener("input", () => {
    output.textContent = name(+input.value);
    input.setAttribute("aria-valuetext", name(+input.value));
    change(+input.value);
  });
  return h("label", {}, output, input);
}

/** A slider that plays, and its button: [button, slider]. One step every `pause` milliseconds, until its last place. */
function player(label, { last, value, name, pause, state, change }) {
  clearTimeout(state.clock); // of a drawing that this one replaces
  state.clock = null;
  const stop = () => {
    clearTimeout(state.clock);
    state.clock = null;
    start.textContent = "▶ play";
  };
  const control = slider(label, { min: 0, max: last, value, name, change: (at) => { stop(); change(at); } });
  const input = control.querySelector("input");
  const play = (at) => {
    input.value = at;
    input.dispatchEvent(new Event("input")); // which stops what has played so far
    if (at === last) return;
    state.clock = setTimeout(play, pause, at + 1);
    start.textContent = "❚❚ stop";
  };
  const toggle = () => (state.clock ? stop() : play(+input.value < last ? +input.value : 0));
  const start = h("button", { onclick: toggle }, "▶ play");
  return [start, control];
}

/** Where in a drawing, in its own units, the pointer is. Safari's getScreenCTM knows nothing of a scaled slide. */
function pointIn(svg, { clientX, clientY }) {
  const { left, top, width, height } = svg.getBoundingClientRect(), view = svg.viewBox.baseVal;
  const scale = Math.min(width / view.width, height / view.height); // what is left over is on both sides
  return {
    x: view.x + (clientX - left - (width - scale * view.width) / 2) / scale,
    y: view.y + (clientY - top - (height - scale * view.height) / 2) / scale,
  };
}

/** Let a part of a drawing be dragged, by mouse or finger; `move` is called with the pointer's place in the drawing. */
function onDrag(node, move) {
  node.addEventListener("pointerdown", (event) => {
    node.setPointerCapture(event.pointerId);
    node.focus();
    event.preventDefault(); // no text is selected
  });
  node.addEventListener("pointermove", (event) => {
    if (node.hasPointerCapture(event.pointerId)) move(pointIn(node.ownerSVGElement, event));
  });
}

/** Call a function at a key. The page, or JupyterLab, does not see the key. */
function onKeys(node, actions) {
  node.addEventListener("keydown", (event) => {
    if (!actions[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    actions[event.key](event);
    event.preventDefault();
    event.stopPropagation();
  });
}

const decode = (uri) => new TextDecoder().decode(Uint8Array.from(atob(uri.split(",").pop()), (c) => c.charCodeAt(0)));

/** What is behind the figure and its text colour on the page are the same on the projector. */
function rememberColors(host) {
  host.style.setProperty("--page-ink", getComputedStyle(host).color);
  for (let node = host; node; node = node.parentElement) {
    const color = getComputedStyle(node).backgroundColor;
    if (!/^rgba\(.*, 0\)$|^transparent$/.test(color)) return host.style.setProperty("--page", color);
  }
}

function fullScreenButton(host) {
  const toggle = () => {
    if (document.fullscreenElement === host) return document.exitFullscreen();
    rememberColors(host);
    host.requestFullscreen?.()?.catch(() => {});
  };
  const corners = "M1 5V1h4M9 1h4v4M13 9v4H9M5 13H1V9"; // drawn, as few fonts have a sign for it
  const icon = h("svg", { viewBox: "0 0 14 14", width: 14, height: 14, "aria-hidden": true },
    h("path", { d: corners, fill: "none", stroke: "currentColor", "stroke-width": 1.6 }));
  return h("button", { class: "full", title: "full screen (f)", "aria-label": "full screen", onclick: toggle }, icon);
}

/** What `say` says, for a screen reader: once it has not changed for a moment, not at every step of a slider. */
function announcerOf(say) {
  const node = h("div", { class: "unseen", "aria-live": "polite" }, say.textContent);
  let clock = null;
  const later = () => {
    clearTimeout(clock);
    clock = setTimeout(() => {
      if (node.textContent !== say.textContent) node.textContent = say.textContent;
    }, 400);
  };
  new MutationObserver(later).observe(say, { childList: true, characterData: true, subtree: true });
  return node;
}

/** How many times as large as it was drawn, for the sake of --least, a text is. */
const growth = (text) => parseFloat(getComputedStyle(text).fontSize) / parseFloat(text.getAttribute("font-size")) || 1;

/** What keeps a drawing's text as large as --least: each text's own size, and how much of the drawing is a pixel. */
function measure(stage) {
  const { left, right, width: wide } = stage.getBoundingClientRect(), scale = wide / stage.offsetWidth; // of its slide
  const texts = [...stage.querySelectorAll("text[font-size]")];
  for (const text of texts) {
    if (!text.style.getPropertyValue("--size")) text.style.setProperty("--size", `${text.getAttribute("font-size")}px`);
    text.style.fontSize = "";
  }
  for (const svg of stage.querySelectorAll("svg[viewBox]")) {
    const { width, height } = svg.getBoundingClientRect(), view = svg.viewBox.baseVal;
    const unit = scale * Math.max(view.width / width, view.height / height);
    if (width) svg.style.setProperty("--unit", unit.toFixed(4));
  }
  const edges = texts.map((text) => text.getBoundingClientRect());
  texts.forEach((text, i) => { // rather too small than cut off
    if (edges[i].left < left - 6 || edges[i].right > right + 6) text.style.fontSize = "var(--size)";
  });
}

/** Make drawings as wide as a stage of this height allows, with smaller words only if need be; false if none fits. */
function fit(stage, height, scale) {
  for (const [size, least] of [[22, 0.7], [20, 0.7], [19, 0.7], [22, 0.5], [19, 0.3]]) {
    stage.style.fontSize = `${size * scale}px`;
    for (let share = 1; share > least; share -= 0.02) {
      stage.style.setProperty("--share", share);
      if (stage.offsetHeight <= height) return true;
    }
  }
  stage.style.setProperty("--share", 1); // and one scrolls
  return false;
}

/**
 * Bring each figure with this key to life that is not alive yet.
 *
 * `scene({stage, bar, say, data, still, narrow, state, host})` puts what it draws into `stage`, its controls into `bar`
 * (both must be appended) and what just happened into `say`. `still` is the picture's SVG, `narrow` whether it is on a
 * phone; then the scene is called again when that changes, with the same `state`. It may return a function that is
 * called when its drawings have got another size.
 *
 * `host` is the figure's element. A slide calls its `fitInto(height)`, and what the scene adds to it.
 */
function bringToLife(key, data, scene) {
  for (const host of document.querySelectorAll(`[data-figure="${key}"]:not([data-live])`)) {
    const image = host.querySelector("img"), headline = host.querySelector("strong");
    const state = {};
    const isNarrow = () => host.clientWidth > 0 && host.clientWidth < 520;
    const build = (narrow) => {
      const stage = h("div", { class: "stage", role: "group", "aria-label": image.alt, tabindex: -1 });
      stage.classList.toggle("narrow", narrow);
      const bar = h("div", { class: "bar" });
      const say = h("div", { class: "say", "aria-hidden": true });
      const resized = scene({ stage, bar, say, data, still: decode(image.src), narrow, state, host });
      say.after(announcerOf(say));
      if (headline) stage.prepend(h("div", { class: "headline" }, headline.cloneNode(true)));
      const full = fullScreenButton(host);
      bar.append(full);
      onKeys(stage, { f: () => full.click() });
      return { stage, resized };
    };
    try {
      let narrow = isNarrow(), { stage, resized } = build(narrow), slide = null, fits = false;
      const root = host.attachShadow({ mode: "open" });
      root.append(h("style", {}, STYLE), stage);
      host.dataset.live = "";
      const isFull = () => document.fullscreenElement === host;
      const room = () => (isFull() ? 0.97 * innerHeight : slide);
      const measured = () => {
        measure(stage);
        resized?.();
      };
      const refit = () => {
        const scale = isFull() ? Math.max(15 / 22, Math.min(innerWidth / 1280, innerHeight / 720)) : 1;
        stage.classList.toggle("fitted", Boolean(room()));
        stage.style.fontSize = "";
        fits = Boolean(room()) && fit(stage, room(), scale);
        measured();
      };
      host.fitInto = (height) => { slide = height; refit(); };
      host.addEventListener("fullscreenchange", refit);
      const sized = new ResizeObserver(() => {
        if (fits && stage.offsetHeight > room()) refit(); // a caption has grown by a line
        measured();
      });
      sized.observe(stage);
      new ResizeObserver(() => {
        if (!host.clientWidth || isNarrow() === narrow || isFull()) return;
        narrow = !narrow;
        sized.disconnect();
        const before = stage;
        ({ stage, resized } = build(narrow));
        before.replaceWith(stage);
        sized.observe(stage);
      }).observe(host);
    } catch (error) {
      console.error(error);
    }
  }
}
