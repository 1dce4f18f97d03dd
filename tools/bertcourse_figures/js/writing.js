// Lecture 12: BERT made to write. Masks are filled one by one, in an order that the reader chooses.
// data: {mask: text, orders: [[name, tokens before the first step, [[place, token, probability]]]], start: step}.
function scene({ stage, bar, say, data, narrow, state }) {
  const { mask, orders } = data, last = Math.max(...orders.map(([, , steps]) => steps.length));
  state.order ??= 0;
  state.step ??= data.start ?? 0;

  const chips = orders[0][1].map(() => {
    const word = h("span", { class: "word" }), fill = h("span", { class: "fill" }), when = h("span", { class: "when" });
    return { word, fill, when, node: h("span", { class: "chip" }, word, h("span", { class: "track" }, fill), when) };
  });
  const rows = orders.map(([name], i) => {
    const text = h("span", { class: "text" }), cost = h("span", { class: "cost" });
    const choose = () => { state.order = i; update(); };
    const node = h("button", { class: "row", onclick: choose }, h("b", {}, name), text, cost);
    return { text, cost, node };
  });

  const update = () => {
    const { order, step } = state, [name, start, steps] = orders[order];
    const done = steps.slice(0, step), [place, token, probability] = done.at(-1) ?? [-1];
    const latest = new Map(done.map(([where, , chance], i) => [where, [i + 1, chance]]));
    textAt(start, done).forEach((word, i) => {
      const chip = chips[i], written = latest.get(i), isNew = i === place && step <= steps.length;
      chip.word.textContent = word;
      chip.node.className = `chip${word === mask ? " empty" : ""}${isNew ? " new" : ""}`;
      chip.fill.style.width = `${100 * (written?.[1] ?? 0)}%`;
      chip.when.textContent = written ? `${written[0]}: ${fixed(written[1], 2)}` : "";
    });
    rows.forEach(({ text, cost, node }, i) => {
      const [, before, all] = orders[i], taken = all.slice(0, step);
      text.textContent = textAt(before, taken).map((word) => (word === mask ? "▁▁" : word)).join(" ");
      cost.textContent = taken.length ? `${fixed(surpriseOf(taken), 2)} nats per step` : "";
      node.setAttribute("aria-pressed", i === order);
    });
    const isOver = step > steps.length;
    say.replaceChildren(...(!step
      ? [h("b", {}, `Before the first step, ${name}: `), `${start.filter((word) => word === mask).length} masks.`]
      : [h("b", {}, `Step ${step}, ${name}: `), isOver ? `done since step ${steps.length}, when ` : "",
        `place ${place + 1} ${isOver ? "became" : "becomes"} `, h("b", {}, `“${token}”`),
        `, with probability ${fixed(probability, 2)}.`]));
  };
  bar.append(...walk(stage, "step", {
    max: last, value: state.step, name: (step) => `step ${step}`, change: (step) => { state.step = step; update(); },
  }));
  stage.append(
    h("style", {}, `
      .bar output { min-width: 3.8em !important; }
      .chips { display: flex; flex-wrap: wrap; gap: 0.5em 0.3em; margin: 0.6em 0; min-height: 3.6em; }
      .chip { display: inline-grid; gap: 2px; justify-items: center; min-width: 3em; }
      .chip .word { font: 1.08em/1.6 ui-monospace, Menlo, Consolas, monospace; padding: 0 0.4em; border-radius: 5px;
        border: 1px solid var(--soft); background: var(--panel); overflow-wrap: anywhere; justify-self: stretch;
        text-align: center; }
      .chip.empty .word { color: var(--soft); border-style: dashed; background: none; font-size: var(--small);
        line-height: 2; }
      .chip.new .word { border: 2px solid var(--hot); margin: -1px; font-weight: 650;
        background: color-mix(in oklab, var(--hot) 18%, transparent); }
      .track { height: 0.3em; justify-self: stretch; }
      .fill { display: block; height: 100%; border-radius: 2px; background: var(--plus); }
      .when { font-size: var(--small); color: var(--soft); min-height: 1.4em; }
      .rows { display: grid; gap: 0.25em; margin: 0.6em 0; }
      .row { display: grid; gap: 0 1em; grid-template-columns: ${narrow ? "1fr" : "11em 1fr 10em"}; text-align: left; }
      .row .cost { color: var(--soft); ${narrow ? "" : "text-align: right;"} }
      .row[aria-pressed="true"] .cost { color: inherit; }
      .row .text { overflow-wrap: anywhere; }
      .legend { font-size: var(--small); }`),
    bar, h("div", { class: "chips" }, chips.map(({ node }) => node)), say,
    h("div", { class: "rows", role: "group", "aria-label": "orders" }, rows.map(({ node }) => node)),
    h("div", { class: "legend soft" }, "Under a token: the step in which it was written, and its probability then. ",
      "Nats per step: how surprising the model found what it wrote, −ln p, on average."),
  );
  update();
}

/** The tokens after some steps. */
function textAt(start, steps) {
  const tokens = [...start];
  for (const [place, token] of steps) tokens[place] = token;
  return tokens;
}

const surpriseOf = (steps) =>
  steps.reduce((sum, [, , chance]) => sum - Math.log(Math.max(chance, 1e-9)), 0) / steps.length;
