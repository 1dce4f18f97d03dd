// Lecture 0: word2vec's window moves over a sentence: the pairs that it makes, and the words drawn against each.
// data: {words: [text], window: the widest, negatives: [centre][slot][drawn], names: [before, after] or none,
//        probabilities: [state of the model][centre][slot][0: the neighbour, 1…: the drawn words], or none,
//        start: [centre, window], neighbour: of the first pair}. A slot is a place around the centre: −W … −1, 1 … W.
function scene({ stage, bar, say, data, narrow, state }) {
  const { words, negatives, names, probabilities } = data, last = words.length - 1;
  state.centre ??= data.start[0];
  state.window ??= data.start[1];
  state.offset ??= data.neighbour ?? 1;

  const slotOf = (offset) => offset + data.window - (offset > 0);
  const around = (centre, window) => Array.from({ length: 2 * window + 1 }, (_, i) => i - window)
    .filter((offset) => offset && centre + offset >= 0 && centre + offset <= last);
  const pairsOf = (window) => words.reduce((sum, _, centre) => sum + around(centre, window).length, 0);
  const chance = (offset, which) => probabilities.map((all) => all[state.centre][slotOf(offset)][which]);

  const chips = words.map((word, centre) => h("button", { class: "chip", onclick: () => move(centre) }, word));
  const sentence = h("div", { class: "sentence", role: "group", "aria-label": "the sentence" }, chips);
  const pulled = h("div", { class: "rows" }), pushed = h("div", { class: "rows" });
  const pullTitle = h("div", { class: "title" }), pushTitle = h("div", { class: "title" });
  const choose = (offset) => () => {
    state.offset = offset;
    update();
    pulled.querySelector('[aria-pressed="true"]').focus(); // the button that was pressed is gone
  };

  const update = () => {
    const { centre, window } = state, offsets = around(centre, window);
    if (!offsets.includes(state.offset)) state.offset = offsets.includes(1) ? 1 : -1;
    const other = words[centre + state.offset], drawn = negatives[centre][slotOf(state.offset)];
    chips.forEach((chip, place) => {
      const near = offsets.includes(place - centre);
      chip.className = place === centre ? "chip centre" : near ? "chip near" : "chip";
      chip.setAttribute("aria-label", place === centre ? `${words[place]}: the centre` : near
        ? `${words[place]}: in the window` : words[place]);
    });
    pullTitle.textContent = `occur with “${words[centre]}”: pull`;
    pulled.replaceChildren(...offsets.map((offset) => h("button", {
      class: "pair", onclick: choose(offset), "aria-pressed": `${offset === state.offset}`,
    }, rowOf(words[centre + offset], chance(offset, 0), 1, names))));
    pushTitle.textContent = `drawn against “${other}”: push`;
    pushed.replaceChildren(...drawn.map((word, i) =>
      h("div", { class: "pair" }, rowOf(word, chance(state.offset, 1 + i), 0, names))));
    const number = offsets.length, examples = number * (1 + drawn.length);
    say.replaceChildren(
      h("b", {}, `“${words[centre]}”: ${number} pair${number === 1 ? "" : "s"}, with ${drawn.length} drawn `,
        `word${drawn.length === 1 ? "" : "s"} each: ${examples} examples. `),
      `The whole sentence has ${pairsOf(window)} pairs. `, ...(names.length ? told(other, drawn) : []),
    );
  };
  const told = (other, drawn) => {
    const [before, after] = chance(state.offset, 0);
    const of = (which) => drawn.map((_, i) => chance(state.offset, 1 + i)[which]);
    const mean = (values) => fixed(values.reduce((sum, value) => sum + value, 0) / values.length, 2);
    return [`With “${other}”, p went from ${fixed(before, 2)} (${names[0]}) to ${fixed(after, 2)} (${names[1]}); `,
      `with the drawn words, on average, from ${mean(of(0))} to ${mean(of(1))}.`];
  };

  const move = (centre) => {
    state.centre = Math.min(Math.max(centre, 0), last);
    const input = place.querySelector("input");
    input.value = state.centre;
    input.setAttribute("aria-valuetext", nameOf(state.centre));
    place.querySelector("output").textContent = nameOf(state.centre);
    update();
  };
  const nameOf = (centre) => `word ${centre + 1}`;
  const place = slider("centre of the window", { min: 0, max: last, value: state.centre, name: nameOf, change: move });
  const wide = slider("size of the window", {
    min: 1, max: data.window, value: state.window, name: (window) => `window ${window}`,
    change: (window) => { state.window = window; update(); },
  });
  bar.append(place, data.window > 1 ? wide : "");
  stage.append(
    h("style", {}, `
      .sentence { display: flex; flex-wrap: wrap; gap: 5px; margin: 0.3em 0 0.6em; }
      .chip.near { border: 1.5px solid var(--plus); background: color-mix(in oklab, var(--plus) 20%, transparent); }
      .chip.centre { border: 2px solid var(--hot); background: color-mix(in oklab, var(--hot) 26%, transparent);
        font-weight: 650; }
      .both { display: grid; grid-template-columns: 1fr 1fr; gap: 0.4em 2em; align-items: start; }
      .both.narrow { grid-template-columns: 1fr; }
      .title { font-weight: 650; margin: 0.2em 0; }
      .pair { display: grid; grid-template-columns: 7em 1fr ${names.length ? "7em" : "3em"}; gap: 0.6em;
        align-items: center; width: 100%; box-sizing: border-box; text-align: left; padding: 0.1em 0.5em;
        border: 1px solid transparent; background: none; font-size: var(--small); line-height: 1.5; }
      .pair .word { overflow: hidden; text-overflow: ellipsis; }
      .pair svg { width: 100%; max-width: 300px; }
      .numbers { text-align: right; white-space: nowrap; }
      .legend { font-size: var(--small); margin: 0.4em 0; }
      .bar input { width: min(200px, 40vw); }
      .say { margin-bottom: 0.5em; }`),
    bar, sentence, say,
    h("div", { class: narrow ? "both narrow" : "both" },
      h("div", {}, pullTitle, pulled), h("div", {}, pushTitle, pushed)),
    names.length ? h("div", { class: "legend soft" }, `p = σ(u·v), from 0 to 1: ○ ${names[0]}, ● ${names[1]}. `,
      "A pair that occurs is pulled to 1 by what is missing, 1 − p; a drawn one is pushed to 0 by p.") : "",
  );
  const step = (by) => () => {
    move(state.centre + by);
    chips[state.centre].focus();
  };
  onKeys(sentence, { ArrowRight: step(1), PageDown: step(1), ArrowLeft: step(-1), PageUp: step(-1) });
  update();
}

/** A word, where p was and is between 0 and 1, and both numbers; without numbers, what the pair's label is. */
function rowOf(word, chances, goal, names) {
  const name = h("span", { class: "word" }, word);
  if (!names.length) return [name, h("span", {}), h("span", { class: "numbers soft" }, goal ? "→ ←" : "← →")];
  const color = goal ? "var(--plus)" : "var(--minus)", [before, after] = chances.map((p) => 8 + 184 * p);
  const ends = h("path", { d: "M8 9H192M8 5V13M192 5V13", stroke: "var(--line)", fill: "none" });
  const aim = h("path", { d: `M${goal ? 194 : 6} 3V15`, stroke: color, "stroke-width": 3.5 });
  const edge = before + Math.sign(after - before) * Math.min(4, Math.abs(after - before));
  const way = h("path", { d: `M${edge.toFixed(1)} 9H${after.toFixed(1)}`, stroke: color, "stroke-width": 3 });
  const from = h("circle", { cx: before.toFixed(1), cy: 9, r: 4, fill: "none", stroke: color, "stroke-width": 1.8 });
  const to = h("circle", { class: "after", cx: after.toFixed(1), cy: 9, r: 5, fill: color });
  const axis = h("svg", { viewBox: "0 0 200 18", role: "img",
    "aria-label": `p from ${fixed(chances[0], 2)} to ${fixed(chances[1], 2)}` }, ends, aim, way, from, to);
  return [name, axis, h("span", { class: "numbers" }, `${fixed(chances[0], 2)} → ${fixed(chances[1], 2)}`)];
}
