// Lecture 3: byte-pair encoding, forwards and backwards, and what it makes of a text that the reader types.
// data: {merges: a line for each, "left right", stops: [number of merges], alphabet: text, marker, markFirst, text,
//        start: a place in stops,
//        corpus: null or {counts: [word], spellings: [stop][word][symbol], pairs: [stop][[left, right, count]]}}.
function scene({ stage, bar, say, data, narrow, state }) {
  const { stops, corpus } = data, merges = data.merges.split("\n").map((line) => line.split(" "));
  const read = readerOf(merges, data);
  state.place ??= data.start ?? 0;
  state.text ??= data.text;

  const learned = corpus ? corpusPanel(corpus) : null;
  const tokens = h("div", { class: "tokens reading" });
  const vocabulary = h("div", { class: "tokens vocabulary" });
  const account = h("div", { class: "account soft", style: "margin-top: 0.5em" });
  const field = h("input", { class: "typed", type: "text", maxlength: 160, value: state.text, spellcheck: "false",
    "aria-label": "type your own words", oninput: () => { state.text = field.value; update(); },
    onkeydown: (event) => event.stopPropagation() }); // its letters and arrows are no commands

  const nameOf = (place) => `${stops[place].toLocaleString("en")} merge${stops[place] === 1 ? "" : "s"}`;
  const controls = walk(stage, "number of merges", {
    max: stops.length - 1, value: state.place, name: nameOf, change: (place) => { state.place = place; update(); },
  });

  const update = () => {
    const done = stops[state.place];
    const words = read(state.text, done), all = words.flat();
    // Where merges are skipped, all that they made of this text is new; else the last merge's symbol.
    const earlier = new Set(state.place ? read(state.text, stops[state.place - 1]).flat() : all);
    const added = corpus ? [done ? merges[done - 1].join("") : ""] : all.filter((token) => !earlier.has(token));
    const newest = new Set(added);
    const boxes = (word) => h("span", { class: "word" }, word.map((token) => chip(token, newest)));
    tokens.replaceChildren(...words.map(boxes));
    const per = words.length ? fixed(all.length / words.length, 2) : "0";
    account.textContent = `${all.length} tokens for ${words.length} words: ${per} tokens per word`;
    if (learned) {
      learned.update(state.place, newest);
      const made = merges.slice(0, done).map((pair) => pair.join(""));
      vocabulary.replaceChildren(...[...data.alphabet, ...made].map((token) => chip(token, newest)));
    }
    say.replaceChildren(...(corpus ? saying(done) : effect(done, all, newest)));
  };
  const saying = (done) => {
    const pair = merges[done - 1];
    const made = done ? `Merge ${done}: ${pair.join(" + ")} → ${pair.join("")}. ` : "Letters only. ";
    const size = data.alphabet.length + done, told = [h("b", {}, made)];
    if (done === merges.length) return [...told, `The vocabulary has ${size} tokens.`];
    const next = corpus.pairs[state.place];
    const equals = next.filter(([, , count]) => count === next[0][2]).length;
    const tie = equals > 1 ? `, as often as ${equals - 1 === 1 ? "another pair" : "other pairs"}: a tie` : "";
    const [left, right, count] = next[0];
    return [...told, `Next: ${left} + ${right}, which stand side by side ${count} times${tie}.`];
  };
  /** What the merges since the stop before have made of the text in the box. */
  const effect = (done, all, newest) => {
    if (!state.place) return [h("b", {}, `${nameOf(0)}: ${all.length} tokens. `), done ? "" : "Every letter is one."];
    const before = read(state.text, stops[state.place - 1]).flat().length;
    const few = [...newest].slice(0, 12).join(", ");
    const made = few ? `New in this text: ${few}.` : "Nothing new in this text.";
    return [h("b", {}, `${nameOf(state.place)}: ${all.length} tokens, `),
      `${before - all.length} fewer than after ${nameOf(state.place - 1)}. `, made];
  };

  bar.append(...controls);
  stage.append(
    h("style", {}, `
      .tokens { display: flex; flex-wrap: wrap; gap: 4px; align-items: center; }
      .word { display: inline-flex; flex-wrap: wrap; gap: 2px; margin-right: 7px; }
      .chip { font: 1em/1.5 ui-monospace, Menlo, Consolas, monospace; padding: 0 0.38em; border-radius: 5px;
        border: 1px solid var(--line); background: var(--panel); overflow-wrap: anywhere; }
      .chip.new { border-color: var(--hot); background: color-mix(in oklab, var(--hot) 26%, transparent); }
      .chip.unknown { border-style: dashed; color: var(--soft); }
      .bar input { width: min(220px, 30vw); }
      .parts { display: grid; grid-template-columns: 1.1fr 1fr; gap: 0.6em 2em; align-items: start; }
      .parts.narrow { grid-template-columns: 1fr; }
      .title { font-weight: 650; margin: 0.5em 0 0.25em; }
      .row { display: grid; grid-template-columns: 2.6em 1fr; gap: 0.5em; align-items: center; margin: 3px 0; }
      .pair { display: grid; grid-template-columns: 7.2em 1fr 1.6em; gap: 0.6em; align-items: center; margin: 3px 0; }
      .track { height: 12px; } .fill { height: 100%; border-radius: 2px; background: var(--plus); opacity: 0.75; }
      .pair.next .fill { background: var(--hot); }
      .typed { width: 100%; box-sizing: border-box; font: inherit; font-size: max(16px, 1em); color: inherit;
        padding: 0.3em 0.6em; background: var(--panel); border: 1px solid var(--soft); border-radius: 7px;
        margin: 0.2em 0 0.5em; }`),
    bar, say,
    learned ? h("div", { class: narrow ? "parts narrow" : "parts" }, learned.words, learned.pairs) : "",
    learned ? h("div", {}, h("div", { class: "title" }, "vocabulary"), vocabulary) : "",
    h("div", { class: "title" }, "type your own words"), field, tokens, account,
  );
  update();
}

const chip = (token, newest) => {
  const kind = token === "[UNK]" ? "chip unknown" : newest?.has(token) ? "chip new" : "chip";
  return h("span", { class: kind }, token);
};

/** The words of the training text as they are spelled, and how often its pairs occur. */
function corpusPanel({ counts, spellings, pairs }) {
  const rows = counts.map((count) => {
    const tokens = h("span", { class: "tokens" });
    return { tokens, row: h("div", { class: "row" }, h("span", { class: "soft" }, `${count} ×`), tokens) };
  });
  const list = h("div", {}), most = Math.max(...pairs.flat().map(([, , count]) => count), 1);
  const update = (place, newest) => {
    rows.forEach(({ tokens }, i) => tokens.replaceChildren(...spellings[place][i].map((token) => chip(token, newest))));
    const last = place === spellings.length - 1;
    list.replaceChildren(...pairs[place].map(([left, right, count], i) =>
      h("div", { class: i || last ? "pair" : "pair next" },
        h("span", { class: "tokens" }, chip(left), chip(right)),
        h("span", { class: "track" }, h("div", { class: "fill", style: `width: ${(100 * count) / most}%` })),
        h("span", { class: "count" }, count))));
  };
  const titled = (title, ...inside) => h("div", {}, h("div", { class: "title" }, title), inside);
  return {
    words: titled("the text, word by word", rows.map(({ row }) => row)),
    pairs: titled("pairs of neighbours", list),
    update,
  };
}

/** How a text is read with the first merges: of the pairs in a word the one learned first, the leftmost of equals. */
function readerOf(merges, { alphabet, marker, markFirst }) {
  const key = (left, right) => `${left}\n${right}`; // no word has a line break in it
  const ranks = new Map(merges.map(([left, right], i) => [key(left, right), i]));
  const known = new Set(alphabet);
  const readWord = (word, done) => {
    const symbols = [...word];
    for (;;) {
      let best = done, place = -1;
      for (let i = 0; i + 1 < symbols.length; i += 1) {
        const rank = ranks.get(key(symbols[i], symbols[i + 1])) ?? done;
        if (rank < best) [best, place] = [rank, i];
      }
      if (place < 0) return symbols.map((symbol) => ([...symbol].length > 1 || known.has(symbol) ? symbol : "[UNK]"));
      symbols.splice(place, 2, symbols[place] + symbols[place + 1]);
    }
  };
  return (text, done) => text.split(/\s+/u).filter(Boolean).map((word, i) =>
    readWord((markFirst || i > 0) && !word.startsWith(marker) ? marker + word : word, done));
}
