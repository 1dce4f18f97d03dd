// Lecture 10: BM25's ranking of some passages; k1 and b can be moved.
// data: {passages: [name], lengths: [relative], words: [text], idf: [word], counts: [word][passage], right: passage,
//        k1, b}.
function scene({ stage, bar, say, data, narrow, state }) {
  const { passages, lengths, words, idf, counts, right } = data;
  const roles = ["plus", "minus", "value", "query", "key", "soft", "ink"];
  state.k1 ??= data.k1;
  state.b ??= data.b;
  const [full, left, row] = narrow ? [360, 8, 46] : [740, 236, 32], room = full - left - 56;
  const groups = passages.map((name, i) => {
    const bars = words.map((word, w) => h("rect", { y: narrow ? 18 : 3, height: 22, rx: 2, fill: `var(--${roles[w]})`,
      "fill-opacity": 0.45, stroke: `var(--${roles[w]})` }, h("title", {}, word)));
    const total = h("text", { y: narrow ? 34 : 19, "font-size": 13, fill: "var(--soft)" });
    const label = h("text", { x: narrow ? left : left - 8, y: narrow ? 13 : 19, "font-size": narrow ? 12.5 : 13.5,
      "text-anchor": narrow ? "start" : "end", fill: "var(--ink)", "font-weight": i === right ? 650 : 400 },
    i === right ? `${name} ✓` : name);
    return { node: h("g", { class: "passage", "data-passage": i }, label, bars, total), bars, total };
  });
  const svg = h("svg", { viewBox: `0 0 ${full} ${row * passages.length + 6}`, role: "img" },
    groups.map(({ node }) => node));

  const update = () => {
    const { k1, b } = state;
    const parts = passages.map((_, i) => words.map((_, w) =>
      (counts[w][i] ? (idf[w] * counts[w][i]) / (counts[w][i] + k1 * (1 - b + b * lengths[i])) : 0)));
    const totals = parts.map((each) => each.reduce((sum, part) => sum + part, 0));
    const order = passages.map((_, i) => i).sort((i, j) => totals[j] - totals[i] || i - j);
    const scale = room / Math.max(...totals, 1e-9);
    order.forEach((i, place) => {
      const { node, bars, total } = groups[i];
      node.style.transform = `translateY(${row * place}px)`;
      node.setAttribute("data-place", place + 1);
      let x = left;
      bars.forEach((rect, w) => {
        rect.setAttribute("x", x.toFixed(1));
        rect.setAttribute("width", (scale * parts[i][w]).toFixed(1));
        rect.setAttribute("visibility", parts[i][w] ? "visible" : "hidden");
        x += scale * parts[i][w];
      });
      total.setAttribute("x", (x + 6).toFixed(1));
      total.textContent = totals[i].toFixed(2);
    });
    svg.setAttribute("aria-label",
      `passages by their score: ${order.map((i) => `${passages[i]} ${totals[i].toFixed(2)}`).join(", ")}`);
    const place = order.indexOf(right) + 1;
    say.replaceChildren(h("b", {}, `k1 = ${k1.toFixed(1)}, b = ${b.toFixed(2)}: `),
      `${passages[right]} is at place `, h("b", { class: "place" }, `${place}`), ` of these ${passages.length}. `,
      k1 === 0 ? "With k1 = 0, a word counts the same however often it occurs." : "",
      b === 0 && k1 > 0 ? "With b = 0, the length of a passage does not matter." : "");
  };
  const dial = (name, digits, most, change) => h("span", {}, h("span", { class: "soft" }, `${name} `),
    slider(name, { min: 0, max: most, value: Math.round(state[name] * 10 ** digits),
      name: (steps) => (steps / 10 ** digits).toFixed(digits), change }));
  bar.append(
    dial("k1", 1, 30, (steps) => { state.k1 = steps / 10; update(); }),
    dial("b", 2, 100, (steps) => { state.b = steps / 100; update(); }));
  const swatch = (role) => h("span", { class: "swatch",
    style: `background: color-mix(in oklab, var(--${role}) 45%, transparent)` });
  const legend = h("div", { class: "legend soft" }, words.map((word, w) =>
    h("span", {}, swatch(roles[w]), `${word} (${idf[w].toFixed(1)})`)));
  stage.append(
    h("style", {}, `
      .passage { transition: transform 0.4s; }
      .legend { display: flex; flex-wrap: wrap; gap: 0.2em 1.1em; margin: 0.4em 0; font-size: var(--small); }
      .legend > span { display: inline-flex; gap: 0.4em; align-items: center; }
      .swatch { width: 0.9em; height: 0.9em; border-radius: 3px; }`),
    bar, svg, legend, say,
  );
  update();
}
