// Lecture 4: scrub through a training: what the model puts into each blank of a text after so many tokens.
// data: {text: [word], places: [word hidden], words: [snapshot][blank][best words], shares: the same of their
//        probabilities, truth: [snapshot][blank] probability of the hidden word, read: [snapshot] millions of tokens,
//        loss: [snapshot] nats, start: [snapshot, blank]}.
function scene({ stage, bar, say, data, narrow, state }) {
  const { text, places, words, shares, truth, read, loss } = data, last = read.length - 1;
  state.now ??= data.start?.[0] ?? 0;
  state.blank ??= data.start?.[1] ?? 0;

  const blanks = places.map((place, blank) => h("button", {
    class: "blank", style: `--own: var(--group${blank})`, "aria-label": `blank ${blank + 1}: ${text[place]}`,
    onclick: () => { state.blank = blank; update(); },
  }));
  const line = h("div", { class: "text" }, text.map((word, i) => {
    const blank = places.indexOf(i);
    return [blank < 0 ? h("span", {}, word) : blanks[blank], " "];
  }));
  const rows = shares[0][0].map(() => {
    const name = h("span", { class: "name" }), fill = h("i"), value = h("span", { class: "value" });
    return { node: h("div", { class: "row" }, name, h("span", { class: "track" }, fill), value), name, fill, value };
  });

  // The chart: the loss, and for each blank the probability of the word that stood there.
  const wide = 360, tall = 190, left = 26, right = wide - 30, high = 14, low = tall - 30;
  const top = Math.max(...loss) || 1;
  const x = (at) => left + ((right - left) * read[at]) / (read[last] || 1);
  const path = (values, limit) =>
    `M${values.map((value, at) =>
      `${x(at).toFixed(1)} ${(low - ((low - high) * value) / limit).toFixed(1)}`).join("L")}`;
  const curves = places.map((_, blank) => h("path", { class: "curve", fill: "none", stroke: `var(--group${blank})`,
    d: path(truth.map((row) => row[blank]), 1) }));
  const falling = h("path", { fill: "none", stroke: "var(--soft)", "stroke-width": 2, "stroke-dasharray": "5 4",
    d: path(loss, top) });
  const cursor = h("path", { stroke: "var(--ink)", "stroke-width": 1.4 });
  const note = (attributes, words) => h("text", { "font-size": 12.5, fill: "var(--soft)", ...attributes }, words);
  const svg = h("svg", { viewBox: `0 0 ${wide} ${tall}`, role: "img", width: "100%",
    "aria-label": "loss and probability of the hidden words, as the training goes on" },
  h("path", { d: `M${left} ${high}V${low}H${right}`, stroke: "var(--line)", fill: "none" }),
  note({ x: left - 6, y: high + 5, "text-anchor": "end" }, "1"),
  note({ x: left - 6, y: low + 4, "text-anchor": "end" }, "0"),
  note({ x: right + 5, y: high + 5 }, fixed(top, 1)), note({ x: right + 5, y: low + 4 }, "0"),
  note({ x: right, y: low + 20, "text-anchor": "end" }, `${read[last]} million tokens`), falling, curves, cursor);
  const key = h("div", { class: "soft" },
    "Solid: probability of the word that was hidden. Dashed: the loss, in nats (right).");

  const update = () => {
    const { now, blank } = state;
    blanks.forEach((button, i) => {
      button.textContent = words[now][i][0];
      button.classList.toggle("right", words[now][i][0] === text[places[i]]);
      button.setAttribute("aria-pressed", i === blank);
    });
    rows.forEach(({ node, name, fill, value }, i) => {
      const word = words[now][blank][i];
      name.textContent = word;
      fill.style.width = `${100 * shares[now][blank][i]}%`;
      value.textContent = fixed(shares[now][blank][i], 2);
      node.classList.toggle("marked", word === text[places[blank]]);
    });
    curves.forEach((curve, i) => curve.setAttribute("stroke-width", i === blank ? 3.4 : 1.6));
    cursor.setAttribute("d", `M${x(now).toFixed(1)} ${high - 6}V${low}`);
    const asked = text[places[blank]], hits = places.filter((place, i) => words[now][i][0] === text[place]).length;
    say.replaceChildren(
      h("b", {}, now ? `After ${read[now].toFixed(1)} million tokens` : "Before the training"),
      `, loss ${fixed(loss[now], 2)}: `, `“${asked}” was hidden; the model gives it `,
      h("b", {}, fixed(truth[now][blank], 2)),
      `. First choice right in ${hits} of ${places.length} blanks.`);
  };
  const controls = player("tokens read", {
    last, value: state.now, name: (at) => `${read[at].toFixed(1)} M`, pause: 700, state,
    change: (at) => { state.now = at; update(); },
  });
  bar.append(...controls);
  stage.append(
    h("style", {}, `
      .text { line-height: 2.1; margin: 0.3em 0 0.6em; }
      .blank { min-width: 3.2em; border: 2px solid var(--own); border-radius: 5px; padding: 0 0.4em;
        background: color-mix(in oklab, var(--own) 10%, transparent); }
      .blank[aria-pressed="true"] {
        background: color-mix(in oklab, var(--own) 30%, transparent); border-color: var(--own);
      }
      .blank.right { font-weight: 650; } .blank.right::after { content: " ✓"; }
      .both { display: grid; gap: 0.4em 1.8em; align-items: center;
        grid-template-columns: ${narrow ? "1fr" : "46fr 54fr"}; }
      .row { display: grid; grid-template-columns: 7em 1fr 3em; gap: 0.6em; align-items: center; min-height: 1.75em; }
      .row .name { text-align: right; overflow: hidden; text-overflow: ellipsis; }
      .row .value { color: var(--soft); text-align: right; }
      .row.marked .name { font-weight: 650; } .row.marked .name::before { content: "▸ "; }
      .track { display: block; height: 0.8em; background: var(--panel); border-radius: 4px; overflow: hidden; }
      .track i { display: block; height: 100%; background: var(--plus); }
      .row.marked .track i { background: var(--hot); }`),
    bar, line, h("div", { class: "both" }, h("div", {}, rows.map(({ node }) => node)), h("div", {}, svg, key)), say,
  );
  update();
}
