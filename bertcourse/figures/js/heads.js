// Lecture 2: all heads of a model, on a sentence or on two side by side.
// data: {sentences: [{words, weights}], layers, heads, habits: [[name, [layer][head]]], start: [layer, head],
//        notes: {"layer.head": text}, word: place in the first sentence, or null}.
// Weights: base64 of 16 bits each, 65535 is 1, layer by layer.
function scene({ stage, bar, say, data, narrow, state }) {
  const { layers, heads, habits } = data;
  state.layer ??= data.start[0];
  state.head ??= data.start[1];
  // {sentence, side, place} of the word that is pointed at, and of the one that is if no other is.
  const home = data.word == null ? null : { sentence: 0, side: 0, place: data.word };
  state.pointed ??= home;

  const sentences = data.sentences.map((sentence) => unpacked(sentence, heads));
  const choose = (layer, head) => {
    Object.assign(state, { layer, head, pointed: home });
    const ranked = habits.map(([name, shares]) => [shares[layer][head], name]).sort((a, b) => b[0] - a[0]);
    const [share, name] = ranked[0];
    const nothing = "No simple habit. Point at a word, or tab to it.";
    const found = share > 0.5 ? `Most of its attention goes to: ${name}.` : nothing;
    say.replaceChildren(
      h("b", {}, `Layer ${layer}, head ${head}. `),
      h("span", { class: "soft" }, data.notes[`${layer}.${head}`] ?? found),
    );
    grid.update(layer, head);
    averages.update(layer, head);
    showWords();
  };
  const grid = gridOf(layers, heads, sentences[0], choose);
  const averages = averagesOf(habits, heads, choose);
  const longest = Math.max(6, ...sentences.flatMap(({ words }) => words.map((word) => word.length)));
  const panels = sentences.map((sentence, number) => sentencePanel(sentence, longest, (at) => {
    state.pointed = at ? { sentence: number, ...at } : home;
    showWords();
  }));
  // The other sentence lights up the same word, if it has it.
  const showWords = () => panels.forEach((panel, number) => {
    const { pointed } = state;
    const word = pointed && sentences[pointed.sentence].words[pointed.place];
    const place = pointed?.sentence === number ? pointed.place : sentences[number].words.indexOf(word);
    panel.update(state.layer, state.head, pointed && place >= 0 ? { side: pointed.side, place } : null);
  });
  onKeys(grid.node, Object.fromEntries(
    [["ArrowUp", -1, 0], ["ArrowDown", 1, 0], ["ArrowLeft", 0, -1], ["ArrowRight", 0, 1]].map(([key, down, across]) => [
      key,
      () => {
        choose((state.layer + down + layers) % layers, (state.head + across + heads) % heads);
        grid.focus();
      },
    ])));

  bar.append(say);
  const alone = sentences.length === 1 && !narrow; // then the sentence stands beside both
  const [left, right] = [grid.node, averages.node];
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

/** A sentence with its weights as a function: how much token i attends to token j. */
function unpacked({ words, weights }, heads) {
  const bytes = Uint8Array.from(atob(weights), (c) => c.charCodeAt(0)), L = words.length;
  const weight = (layer, head, i, j) => {
    const at = 2 * (((layer * heads + head) * L + i) * L + j);
    return (bytes[at] + 256 * bytes[at + 1]) / 65535;
  };
  return { words, L, weight };
}

/** A button for each layer and head, with its map of a sentence: only what can be seen, in four shades. */
function gridOf(layers, heads, { L, weight }, choose) {
  const map = (layer, head) => {
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
  const count = (number) => Array.from({ length: number }, (_, i) => i);
  const buttons = count(layers).map((layer) => count(heads).map((head) => {
    const label = `layer ${layer}, head ${head}`;
    return h("button", { "aria-label": label, onclick: () => choose(layer, head) }, map(layer, head));
  }));
  const name = (number) => h("span", { class: "soft" }, number);
  const node = h("div", { class: "heads", role: "group", "aria-label": "a button for each layer and head" },
    h("span"), count(heads).map(name), buttons.map((row, layer) => [name(layer), row]));
  let chosen = buttons[0][0];
  const update = (layer, head) => {
    chosen = buttons[layer][head];
    for (const button of buttons.flat()) {
      button.setAttribute("aria-pressed", button === chosen);
      button.tabIndex = button === chosen ? 0 : -1; // one stop for the tab key, arrows within
    }
  };
  return { node, update, focus: () => chosen.focus() };
}

/** Where a head attends on average; the name of a habit leads to the head that has it most. */
function averagesOf(habits, heads, choose) {
  const rows = habits.map(([name, shares]) => {
    const all = shares.flat(), best = all.indexOf(Math.max(...all));
    const toBest = () => choose(Math.floor(best / heads), best % heads);
    const fill = h("i"), value = h("span", { class: "soft" });
    const button = h("button", { title: "the head that does it most", onclick: toBest }, name);
    const row = h("div", { class: "habit" }, button, h("span", { class: "track" }, fill), value);
    return { row, shares, fill, value };
  });
  const advice = "Where it attends on average. Press a name for the head that does it most.";
  const node = h("div", {}, h("div", { class: "soft small" }, advice), rows.map(({ row }) => row));
  const update = (layer, head) => rows.forEach(({ shares, fill, value }) => {
    fill.style.width = `${100 * shares[layer][head]}%`;
    value.textContent = fixed(shares[layer][head], 3);
  });
  return { node, update };
}

/** A sentence twice, who asks and who is attended to, with a line for each weight; `point` hears of {side, place}. */
function sentencePanel({ words, L, weight }, longest, point) {
  const step = 25, number = 36, name = 8 * longest + 8, y = (i) => 34 + i * step;
  const left = number + name, right = left + 118, middle = (left + right) / 2, width = right + name + number;

  const listed = [0, 1].map((side) => words.map((word, place) => {
    const show = () => point({ side, place }), leave = () => point(null);
    return h("text", {
      x: side ? right + 8 : left - 8, y: y(place) + 5, "text-anchor": side ? "start" : "end", "font-size": 14,
      fill: "var(--ink)", tabindex: 0, role: "button",
      "aria-label": `${word}: ${side ? "who attends to it" : "whom it attends to"}`,
      onpointerenter: show, onpointerleave: leave, onfocus: show, onblur: leave, onclick: show,
    }, word);
  }));
  const heading = (text, x, anchor) =>
    h("text", { x, y: 12, "text-anchor": anchor, "font-size": 12, fill: "var(--soft)" }, text);
  const lines = h("g", { fill: "none", stroke: "var(--plus)", "stroke-linecap": "round" });
  const numbers = h("g", { class: "numbers", "font-size": 11.5, fill: "var(--soft)" });
  const svg = h("svg", {
    viewBox: `0 0 ${width} ${y(L - 1) + 18}`, class: "sentence", role: "group", "aria-label": words.join(" "),
  }, heading("this token …", left - 8, "end"), heading("… attends to", right + 8, "start"), lines, listed, numbers);

  const lineOf = (w, i, j, strong) => h("path", {
    d: `M${left} ${y(i)}C${middle} ${y(i)} ${middle} ${y(j)} ${right} ${y(j)}`,
    "stroke-width": (0.6 + 5 * w).toFixed(2),
    "stroke-opacity": (strong ? 0.25 + 0.75 * w : 0.1 + 0.85 * w).toFixed(2),
  });
  const numberOf = (w, i, j, side) =>
    h("text", side ? { x: 2, y: y(i) + 4 } : { x: width - 2, y: y(j) + 4, "text-anchor": "end" }, fixed(w, 3));
  const update = (layer, head, at) => {
    const paths = [], texts = [];
    for (let i = 0; i < L; i++) {
      for (let j = 0; j < L; j++) {
        const w = weight(layer, head, i, j);
        const chosen = at && at.place === (at.side ? j : i);
        if (at ? chosen && w >= 0.005 : w > 0.03) paths.push(lineOf(w, i, j, at));
        if (chosen && w >= 0.005) texts.push(numberOf(w, i, j, at.side));
      }
    }
    lines.replaceChildren(...paths);
    numbers.replaceChildren(...texts);
    listed.forEach((column, side) => column.forEach((node, place) =>
      node.setAttribute("font-weight", at?.side === side && at.place === place ? 700 : 400)));
  };
  return { svg, update };
}
