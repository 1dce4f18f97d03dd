// Lecture 5: three senses and a sentence that can be moved. In the plane that the three embeddings' differences span,
// each sense has a sector: a vector in it is nearest to that sense, in all dimensions.
// data: {sentences: [text], senses: [three names], means: [sense][2], points: [sentence][2],
//        rest: [sentence: what its cosines have in common], examples: [sense][example][2], start: sentence}.
function scene({ stage, bar, say, data, narrow, state }) {
  const { sentences, senses, points } = data;
  state.chosen ??= data.start;
  state.point ??= points[state.chosen];

  const choose = (chosen) => { Object.assign(state, { chosen, point: points[chosen] }); update(); };
  const put = (point) => { state.point = point; update(); };
  const plane = planeOf(data, choose, put, () => state.point);
  const rows = sentences.map((text, i) => {
    const best = order(cosinesAt(data, i, points[i]))[0];
    return h("button", { class: "row", onclick: () => choose(i) }, markAt(best, 0, 0, 0.85, true),
      h("span", {}, `${i + 1}. ${text}`));
  });
  const cells = senses.map((name, sense) => {
    const number = h("td", { class: "cosine" });
    const node = h("tr", {}, h("td", {}, markAt(sense, 0, 0, 1, true)), h("td", {}, name), number);
    return { node, number };
  });

  const update = () => {
    const { chosen, point } = state, cosines = cosinesAt(data, chosen, point);
    const [best, second] = order(cosines), moved = point !== points[chosen];
    plane.update(chosen, point, best);
    rows.forEach((row, i) => row.setAttribute("aria-pressed", i === chosen));
    cells.forEach(({ node, number }, sense) => {
      number.textContent = fixed(cosines[sense], 3);
      node.classList.toggle("best", sense === best);
    });
    const before = order(cosinesAt(data, chosen, points[chosen]))[0];
    const what = !moved ? `“${sentences[chosen]}”: `
      : best === before ? "Moved, but still on the same side: " : `Moved across a border, from “${senses[before]}”: `;
    say.replaceChildren(what, "nearest is ", h("b", { class: "nearest" }, senses[best]),
      `, ${fixed(cosines[best] - cosines[second], 3)} ahead of “${senses[second]}”.`);
  };
  bar.append(h("span", { class: "soft" }, "Choose a sentence, or drag its ring across a border."),
    h("button", { onclick: () => choose(state.chosen) }, "put it back"));
  stage.append(
    h("style", {}, `
      .both { display: grid; gap: 0.4em 1.8em; align-items: center; grid-template-columns: 52fr 48fr; }
      .both.narrow { grid-template-columns: 1fr; }
      .row { display: flex; gap: 0.5em; align-items: center; width: 100%; text-align: left; background: none;
        border-color: transparent; padding: 0.14em 0.4em; }
      .row svg, td svg { flex: none; width: 1.05em !important; height: 1.05em; }
      .query { cursor: grab; touch-action: none; outline: none; }
      .query:active { cursor: grabbing; }
      .query:hover .ring { stroke-width: 3.4; } .query:focus-visible .ring { stroke: var(--ink); stroke-width: 5; }
      .other { cursor: pointer; }
      table { border-collapse: collapse; margin: 0.6em 0 0.2em; } td { padding: 0.1em 0.7em 0.1em 0.4em; }
      .best { font-weight: 650; }
      .say { margin-top: 0.5em; }`),
    bar, h("div", { class: narrow ? "both narrow" : "both" }, plane.svg,
      h("div", {}, rows, h("table", {}, cells.map(({ node }) => node)))), say,
  );
  update();
}

/** The cosines of a sentence's vector with the three senses, were its place in the plane `point`. */
function cosinesAt({ means, points, rest }, sentence, [x, y]) {
  const [a, b] = points[sentence], length = Math.sqrt(1 - a * a - b * b + x * x + y * y);
  return means.map(([u, v]) => (x * u + y * v + rest[sentence]) / length);
}

const order = (cosines) => [...cosines.keys()].sort((i, j) => cosines[j] - cosines[i]);

/** A sense's mark; shape and colour say the same. `own` makes it a picture by itself. */
function markAt(sense, x, y, size, own = false, attributes = {}) {
  const fill = `var(--group${sense})`;
  const shape = sense === 0 ? h("circle", { r: 7, fill })
    : h("path", { d: sense === 1 ? "M0-8.5L8.5 0 0 8.5-8.5 0z" : "M0-8L8 7H-8z", fill });
  const node = h("g", { transform: `translate(${x.toFixed(1)} ${y.toFixed(1)}) scale(${size})`, ...attributes }, shape);
  return own ? h("svg", { viewBox: "-9 -9 18 18", width: 17, height: 17, "aria-hidden": true }, node) : node;
}

const SIDE = 380;

/** The plane: three sectors, the examples, the embeddings, the sentences by number, and the ring that is dragged. */
function planeOf({ means, points, examples, senses }, choose, put, here) {
  const all = [[0, 0], ...means, ...points, ...examples.flat()];
  const ends = [0, 1].map((k) => [Math.min(...all.map((p) => p[k])), Math.max(...all.map((p) => p[k]))]);
  const span = 1.16 * Math.max(...ends.map(([low, high]) => high - low)) || 1;
  const [x0, y0] = ends.map(([low, high]) => (low + high - span) / 2);
  const at = ([x, y]) => [((x - x0) / span) * SIDE, SIDE - ((y - y0) / span) * SIDE];
  const within = (value, low) => Math.min(low + 0.98 * span, Math.max(low + 0.02 * span, value));

  const dot = (a, b) => a[0] * b[0] + a[1] * b[1];
  const border = (i, j) => { // the direction in which i and j are equally near, and the third is farther off
    const across = [means[i][0] - means[j][0], means[i][1] - means[j][1]], size = Math.hypot(...across) || 1;
    const way = [-across[1] / size, across[0] / size];
    return dot(way, means[i]) > dot(way, means[3 - i - j]) ? way : way.map((value) => -value);
  };
  const far = ([x, y]) => {
    const size = Math.hypot(x, y) || 1;
    return at([(9 * span * x) / size, (9 * span * y) / size]);
  };
  const sectors = senses.map((_, i) => {
    const [j, k] = [0, 1, 2].filter((other) => other !== i);
    const corners = [at([0, 0]), far(border(i, j)), far(means[i]), far(border(i, k))];
    return h("path", { class: "sector", d: `M${corners.map((p) => p.map((v) => v.toFixed(1)).join(" ")).join("L")}z`,
      fill: `var(--group${i})`, stroke: "var(--line)", "stroke-width": 1.2 });
  });
  const dots = examples.map((each, sense) => each.map((p) => markAt(sense, ...at(p), 0.42, false, { opacity: 0.6 })));
  const centers = means.map((p, sense) => markAt(sense, ...at(p), 1.25, false, { class: "mean" }));
  const others = points.map((p, i) => {
    const [cx, cy] = at(p);
    return h("g", { class: "other", onclick: () => choose(i) },
      h("circle", { cx, cy, r: 9, fill: "var(--line)", stroke: "var(--ink)" }),
      h("text", { x: cx, y: cy + 4, "font-size": 11.5, "text-anchor": "middle", fill: "var(--ink)" }, i + 1));
  });
  const way = h("path", { stroke: "var(--hot)", "stroke-width": 1.8, "stroke-dasharray": "4 4", fill: "none" });
  const ring = h("circle", { class: "ring", r: 12, fill: "none", stroke: "var(--hot)", "stroke-width": 2.6 });
  const query = h("g", { class: "query", tabindex: 0, role: "button" },
    h("circle", { r: 22, fill: "transparent" }), ring);
  const step = span / 50;
  const move = (across, up) => { const [x, y] = here(); put([within(x + across, x0), within(y + up, y0)]); };
  onKeys(query, {
    ArrowUp: () => move(0, step), ArrowDown: () => move(0, -step),
    ArrowLeft: () => move(-step, 0), ArrowRight: () => move(step, 0),
  });
  onDrag(query, ({ x, y }) => put([within(x0 + (x / SIDE) * span, x0), within(y0 + ((SIDE - y) / SIDE) * span, y0)]));
  const frame = h("rect", { x: 0.5, y: 0.5, width: SIDE - 1, height: SIDE - 1, rx: 6, fill: "none",
    stroke: "var(--line)" });
  const clipped = h("svg", { x: 0, y: 0, width: SIDE, height: SIDE, style: "overflow:hidden" }, sectors);
  const svg = h("svg", { viewBox: `0 0 ${SIDE} ${SIDE}`, role: "group", width: "100%",
    "aria-label": `a plane with a sector for each sense: ${senses.join(", ")}` },
    clipped, frame, dots, centers, others, way, query);

  const update = (chosen, point, best) => {
    const [x, y] = at(point), [a, b] = at(points[chosen]);
    query.setAttribute("transform", `translate(${x.toFixed(2)} ${y.toFixed(2)})`);
    query.setAttribute("aria-label", `the sentence's place; nearest sense ${senses[best]}`);
    way.setAttribute("d", x === a && y === b ? "" : `M${a} ${b}L${x} ${y}`);
    sectors.forEach((sector, i) => sector.setAttribute("fill-opacity", i === best ? 0.2 : 0.06));
  };
  return { svg, update };
}
