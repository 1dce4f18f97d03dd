// Lecture 6: the nearest neighbours of a word, in each kind of vectors, beside what two random words get.
// data: {kinds: [name], baselines: [cosine] or null, queries: [word], found: [query][kind][place][word, cosine],
//        start: kind}.
function scene({ stage, bar, say, data, narrow, state }) {
  const { kinds, baselines, queries, found } = data;
  state.query ??= 0;
  state.kind ??= data.start ?? 0;
  const button = (name, label, choose) => h("button", { "aria-label": label, onclick: choose }, name);
  const words = queries.map((word, query) =>
    button(word, `neighbours of ${word}`, () => { state.query = query; update(); }));
  const repairs = kinds.map((kind, which) => button(kind, kind, () => { state.kind = which; update(); }));
  bar.append(h("span", { class: "soft" }, "word"), ...words);
  const second = h("div", { class: "bar" }, h("span", { class: "soft" }, "vectors"), repairs);

  const [full, left, right, row] = narrow ? [350, 96, 40, 25] : [700, 170, 60, 27];
  const rows = found[0][0].length, tall = rows * row + (baselines ? 34 : 14);
  const x = (cosine) => left + (full - left - right) * Math.max(0, cosine);
  const lines = Array.from({ length: rows }, (_, place) => {
    const y = 10 + row * (place + 0.5);
    return {
      name: h("text",
        { class: "name", x: left - 8, y: y + 4.5, "text-anchor": "end", "font-size": 14, fill: "var(--ink)" }),
      bar: h("rect", { x: left, y: y - row * 0.34, height: row * 0.68, rx: 2 }),
      value: h("text", { class: "value", y: y + 4.5, "font-size": 13, fill: "var(--soft)" }),
    };
  });
  const line = h("path", { stroke: "var(--ink)", "stroke-width": 1.8, "stroke-dasharray": "4 3" });
  const note = h("text", { y: tall - 6, "font-size": 13, fill: "var(--soft)" });
  const svg = h("svg", { viewBox: `0 0 ${full} ${tall}`, role: "img", "aria-label": "nearest neighbours" },
    lines.map((each) => Object.values(each)), line, note);

  const update = () => {
    const { query, kind } = state, here = found[query][kind], first = found[query][0];
    const before = new Map(first.map(([word], place) => [word, place]));
    here.forEach(([word, cosine], place) => {
      const isNew = !before.has(word), end = x(cosine);
      lines[place].name.textContent = isNew ? `+ ${word}` : word;
      lines[place].name.setAttribute("font-weight", isNew ? 650 : 400);
      lines[place].bar.setAttribute("width", Math.max(1, end - left).toFixed(1));
      lines[place].bar.setAttribute("fill", isNew ? "var(--hot)" : "var(--plus)");
      lines[place].bar.setAttribute("fill-opacity", isNew ? 0.75 : 0.6);
      lines[place].value.textContent = fixed(cosine, 2);
      lines[place].value.setAttribute("x", (end + 7).toFixed(1));
    });
    if (baselines) {
      const at = x(baselines[kind]);
      line.setAttribute("d", `M${at.toFixed(1)} 4V${tall - 22}`);
      note.textContent = `two random words: ${fixed(baselines[kind], 2)}`;
      note.setAttribute("x", Math.max(left, at - 40).toFixed(1));
    }
    [[words, query], [repairs, kind]].forEach(([all, chosen]) =>
      all.forEach((each, i) => each.setAttribute("aria-pressed", i === chosen)));
    const same = here.filter(([word]) => before.has(word)).length;
    const moved = here.filter(([word], place) => before.has(word) && before.get(word) !== place).length;
    say.replaceChildren(h("b", {}, `“${queries[query]}”, ${kinds[kind]}: `), ...(kind ? [
      h("span", { class: "stay" }, `${same} of ${rows}`), ` neighbours are those of ${kinds[0]}, `,
      `${moved} of them in another place; ${rows - same} ${rows - same === 1 ? "is" : "are"} new (+).`,
    ] : ["the nearest is ", h("b", {}, here[0][0]), `, with a cosine of ${fixed(here[0][1], 2)}.`]));
  };
  stage.append(bar, ...(kinds.length > 1 ? [second] : []), svg, say);
  update();
}
