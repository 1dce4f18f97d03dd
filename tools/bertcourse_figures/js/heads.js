// Lecture 2: all heads of a model, on a sentence or on two side by side; drawn with views.js.
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
  const grid = headGrid(layers, heads, sentences[0], choose);
  const averages = averagesOf(habits, heads, choose);
  const longest = Math.max(6, ...sentences.flatMap(({ words }) => words.map((word) => word.length)));
  const panels = sentences.map((sentence, number) => attentionLines(sentence, longest, (at) => {
    state.pointed = at ? { sentence: number, ...at } : home;
    showWords();
    told.textContent = at ? pointedAt(sentence, state.layer, state.head, at) : "";
  }));
  // The other sentence lights up the same word, if it has it.
  const showWords = () => panels.forEach((panel, number) => {
    const { pointed } = state;
    const word = pointed && sentences[pointed.sentence].words[pointed.place];
    const place = pointed?.sentence === number ? pointed.place : sentences[number].words.indexOf(word);
    panel.update(state.layer, state.head, pointed && place >= 0 ? { side: pointed.side, place } : null);
  });

  const told = h("div", { class: "unseen", "aria-live": "polite" });
  bar.append(say);
  const two = sentences.length > 1;
  const choice = h("div", { class: two || narrow ? "choice" : "" }, grid.node, averages.node);
  stage.append(
    h("style", {}, VIEW_STYLE, `
      .body { display: grid; grid-template-columns: ${narrow ? "1fr" : "1fr 1fr"}; gap: 0.8em 1.8em;
        align-items: start; }
      .choice { display: contents; }
      .fitted .choice { display: block; }
      .fitted .body { grid-template-columns: ${narrow ? "1fr" : two ? "1.1fr 1fr 1fr" : "1fr 1fr"}; }
      .small { font-size: var(--small); }
      .habit { display: grid; grid-template-columns: 7.4em 1fr 3em; gap: 0.6em; align-items: center;
        font-size: var(--small); margin: 0.2em 0; }
      .habit button { text-align: left; }`),
    bar, told, h("div", { class: "body" }, choice, panels.map(({ svg }) => svg)),
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
