// Lecture 2: all heads of a model, on a sentence or on two side by side.
// data: {sentences: [{words, weights}], layers, heads, habits: [[name, [layer][head]]], start: [layer, head],
//        notes: {"layer.head": text}}. Weights: base64 of 16 bits each, 65535 is 1, layer by layer.
function scene({ stage, bar, say, data, narrow, state }) {
  const { layers, heads, habits } = data;
  state.layer ??= data.start[0];
  state.head ??= data.start[1];
  state.shown ??= null; // {sentence, side, place} of the word that is pointed at

  const sentences = data.sentences.map(({ words, weights }) => {
    const bytes = Uint8Array.from(atob(weights), (c) => c.charCodeAt(0));
    const L = words.length;
    const weight = (layer, head, i, j) => {
      const at = 2 * (((layer * heads + head) * L + i) * L + j);
      return (bytes[at] + 256 * bytes[at + 1]) / 65535;
    };
    return { words, L, weight };
  });

  // A button for each head, with its map of the first sentence: only what can be seen, in four shades.
  const map = (layer, head) => {
    const { L, weight } = sentences[0];
    const shades = ["", "", "", ""];
    for (let i = 0; i < L; i++) {
      for (let j = 0; j < L; j++) {
        const w = weight(layer, head, i, j);
        if (w > 0.06) shades[Math.min(3, Math.floor(4 * w))] += `M${j} ${i}.5h1`;
      }
    }
    return h("svg", { viewBox: `0 0 ${L} ${L}`, "aria-hidden": true },
      shades.map((d, shade) => h("path", { d, stroke: "var(--plus)", "stroke-opacity": 0.25 + 0.25 * shade })));
  };
  const buttons = [];
  const grid = h("div", { class: "heads", role: "group", "aria-label": "a button for each layer and head" },
    h("span"), Array.from({ length: heads }, (_, head) => h("span", { class: "soft" }, head)));
  for (let layer = 0; layer < layers; layer++) {
    grid.append(h("span", { class: "soft" }, layer));
    for (let head = 0; head < heads; head++) {
      const name = `layer ${layer}, head ${head}`;
      const button = h("button", { "aria-label": name, onclick: () => choose(layer, head) }, map(layer, head));
      buttons.push(button);
      grid.append(button);
    }
  }
  const step = (down, across) => {
    choose((state.layer + down + layers) % layers, (state.head + across + heads) % heads);
    buttons[state.layer * heads + state.head].focus();
  };
  onKeys(grid, {
    ArrowUp: () => step(-1, 0), ArrowDown: () => step(1, 0), ArrowLeft: () => step(0, -1), ArrowRight: () => step(0, 1),
  });

  // What heads do on average; the name of a habit leads to the head that does it most.
  const habitRows = habits.map(([name, shares]) => {
    const fill = h("i"), value = h("span", { class: "soft" });
    const flat = shares.flat(), best = flat.indexOf(Math.max(...flat));
    const toBest = () => choose(Math.floor(best / heads), best % heads);
    const button = h("button", { title: "the head that does it most", onclick: toBest }, name);
    const show = () => {
      const share = shares[state.layer][state.head];
      fill.style.width = `${100 * share}%`;
      value.textContent = fixed(share, 3);
    };
    return { row: h("div", { class: "habit" }, button, h("span", { class: "track" }, fill), value), show };
  });

  // A sentence twice: on the left who asks, on the right who is attended to.
  const longest = Math.max(6, ...sentences.flatMap(({ words }) => words.map((word) => word.length)));
  const STEP = 25, NUMBER = 36, WORD = 8 * longest + 8, y = (i) => 34 + i * STEP;
  const LEFT = NUMBER + WORD, RIGHT = LEFT + 118, WIDTH = RIGHT + WORD + NUMBER;
  const panels = sentences.map(({ words, L, weight }, sentence) => {
    const lines = h("g", { fill: "none", stroke: "var(--plus)", "stroke-linecap": "round" });
    const numbers = h("g", { "font-size": 11.5, fill: "var(--soft)", class: "numbers" });
    const listed = [0, 1].map((side) => words.map((word, place) => {
      const point = () => { state.shown = { sentence, side, place }; paint(); };
      const leave = () => { state.shown = null; paint(); };
      return h("text", {
        x: side ? RIGHT + 8 : LEFT - 8, y: y(place) + 5, "text-anchor": side ? "start" : "end", "font-size": 14,
        fill: "var(--ink)", tabindex: 0, role: "button",
        "aria-label": `${word}: ${side ? "who attends to it" : "whom it attends to"}`,
        onpointerenter: point, onpointerleave: leave, onfocus: point, onblur: leave, onclick: point,
      }, word);
    }));
    const title = (text, x, anchor) =>
      h("text", { x, y: 12, "text-anchor": anchor, "font-size": 12, fill: "var(--soft)" }, text);
    const svg = h("svg", {
      viewBox: `0 0 ${WIDTH} ${y(L - 1) + 18}`, class: "sentence", role: "group", "aria-label": words.join(" "),
    }, title("this token …", LEFT - 8, "end"), title("… attends to", RIGHT + 8, "start"), lines, listed, numbers);
    // The other sentence lights up the same word, if it has it.
    const pointed = () => {
      if (!state.shown) return null;
      const { side, place } = state.shown;
      const from = state.shown.sentence;
      const own = from === sentence ? place : words.indexOf(sentences[from].words[place]);
      return own < 0 ? null : { side, place: own };
    };
    const draw = () => {
      const at = pointed(), paths = [], texts = [];
      for (let i = 0; i < L; i++) {
        for (let j = 0; j < L; j++) {
          const w = weight(state.layer, state.head, i, j);
          const chosen = at && at.place === (at.side ? j : i);
          if ((at ? chosen : w > 0.03) && w > 0.005) {
            const middle = (LEFT + RIGHT) / 2;
            paths.push(h("path", {
              d: `M${LEFT} ${y(i)}C${middle} ${y(i)} ${middle} ${y(j)} ${RIGHT} ${y(j)}`,
              "stroke-width": (0.6 + 5 * w).toFixed(2),
              "stroke-opacity": (at ? 0.25 + 0.75 * w : 0.1 + 0.85 * w).toFixed(2),
            }));
          }
          if (chosen && w >= 0.005) {
            const place = at.side ? { x: 2, y: y(i) + 4 } : { x: WIDTH - 2, y: y(j) + 4, "text-anchor": "end" };
            texts.push(h("text", place, fixed(w, 3)));
          }
        }
      }
      lines.replaceChildren(...paths);
      numbers.replaceChildren(...texts);
      listed.forEach((column, side) => column.forEach((node, place) =>
        node.setAttribute("font-weight", at && at.side === side && at.place === place ? 700 : 400)));
    };
    return { svg, draw };
  });
  const paint = () => panels.forEach((panel) => panel.draw());

  const title = h("b");
  const about = h("span", { class: "soft" });
  const choose = (layer, head) => {
    Object.assign(state, { layer, head, shown: null });
    buttons.forEach((button, i) => {
      const chosen = i === layer * heads + head;
      button.setAttribute("aria-pressed", chosen);
      button.tabIndex = chosen ? 0 : -1;
    });
    title.textContent = `Layer ${layer}, head ${head}. `;
    const ranked = habits.map(([name, shares]) => [shares[layer][head], name]).sort((a, b) => b[0] - a[0]);
    const [share, name] = ranked[0];
    about.textContent = data.notes[`${layer}.${head}`]
      ?? (share > 0.5 ? `Most of its attention goes to: ${name}.` : "No simple habit. Point at a word, or tab to it.");
    habitRows.forEach((row) => row.show());
    paint();
  };
  say.append(title, about);
  bar.append(say);
  const left = h("div", {}, grid);
  const advice = "Where it attends, on average. Press a name for the head that does it most.";
  const right = h("div", {}, h("div", { class: "soft small" }, advice), habitRows.map(({ row }) => row));
  const alone = sentences.length === 1 && !narrow; // then the sentence stands beside both
  const body = [alone ? h("div", {}, left, right) : [left, right], panels.map(({ svg }) => svg)];
  stage.append(
    h("style", {}, `
      .body { display: grid; grid-template-columns: ${narrow ? "1fr" : "1fr 1fr"}; gap: 0.8em 1.8em;
        align-items: start; }
      .heads { display: grid; grid-template-columns: 1.3em repeat(${heads}, 1fr); gap: 3px; align-items: center;
        font-size: 0.75em; text-align: center; max-width: ${3.2 * heads + 2}em; margin-bottom: 0.6em; }
      .heads button { padding: 1px; border-radius: 3px; line-height: 0; background: none; }
      .heads button[aria-pressed="true"] { outline: 2px solid var(--hot); border-color: transparent; background: none; }
      .heads svg { width: 100%; }
      .sentence { width: 100%; max-width: 28em; margin: 0 auto; }
      :host(:fullscreen) .sentence { max-height: ${sentences.length > 1 ? 46 : 80}vh; }
      :host(:fullscreen) .heads { max-width: ${2.4 * heads + 2}em; }
      .small { font-size: 0.88em; }
      .habit { display: grid; grid-template-columns: 7.4em 1fr 3em; gap: 0.6em; align-items: center;
        font-size: 0.88em; margin: 0.2em 0; }
      .habit button { text-align: left; }
      .track { height: 8px; background: var(--panel); border-radius: 4px; overflow: hidden; }
      .track i { display: block; height: 100%; background: var(--plus); transition: width 0.2s; }
      text[role="button"] { cursor: pointer; }
      text[role="button"]:focus-visible { outline: 2px solid var(--plus); border-radius: 3px; }`),
    bar, h("div", { class: "body" }, body),
  );
  choose(state.layer, state.head);
}
