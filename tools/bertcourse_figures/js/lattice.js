// Lecture 3: the segmentations of a word as paths through a lattice. One walks from the left, edge by edge.
// data: {word, edges: [[start, end, token]], lanes: [edge], scores: [edge], best: [node], paths: [[name, [edge]]],
//        start: number of the path that is drawn, from 1, or 0}.
function scene({ stage, bar, say, data, narrow, state }) {
  const { edges, scores, best } = data, letters = [...data.word], last = letters.length;
  state.path ??= data.start ? data.paths[data.start - 1][1] : [];
  state.sums ??= false;

  const here = () => (state.path.length ? edges[state.path.at(-1)][1] : 0);
  const take = (edge) => {
    const [start] = edges[edge], reached = [0, ...state.path.map((taken) => edges[taken][1])].indexOf(start);
    if (reached < 0) return update(`No path leads to the node where ${edges[edge][2]} begins yet. `);
    state.path = [...state.path.slice(0, reached), edge];
    update();
  };
  const go = (path) => { state.path = path; update(); };
  const drawing = drawLattice(letters, data, narrow, take);

  const sum = (path) => path.reduce((total, edge) => total + scores[edge], 0);
  const update = (problem = "") => {
    const place = here(), score = sum(state.path);
    drawing.update(state.path, place, state.sums);
    const terms = state.path.map((edge) => `${edges[edge][2]} (${fixed(scores[edge], 2)})`).join(" + ");
    const isBest = state.path.length > 0 && Math.abs(score - best[place]) < 1e-4;
    const compared = !state.sums ? "." : isBest ? "; no path to this node is better."
      : `; the best path to this node has ${fixed(best[place], 2)}.`;
    const end = place < last ? "" : isBest ? " This is the most probable segmentation."
      : ` The best is ${threeDigits(Math.exp(best[last] - score))} times as probable.`;
    say.replaceChildren(...(state.path.length
      ? [problem, h("b", { class: "sum" }, `${terms} = ${fixed(score, 2)}`), compared, end]
      : [problem, h("b", {}, "Start at the left node: "), "choose a bar that begins there."]));
    buttons.forEach(({ button, path }) => button.setAttribute("aria-pressed", String(path) === String(state.path)));
    sums.setAttribute("aria-pressed", state.sums);
  };
  const buttons = data.paths.map(([name, path]) => ({ path, button: h("button", { onclick: () => go(path) }, name) }));
  const showSums = () => { state.sums = !state.sums; update(); };
  const sums = h("button", { onclick: showSums }, "show sums");
  bar.append(...buttons.map(({ button }) => button), sums, h("button", { onclick: () => go([]) }, "start again"));
  onKeys(stage, { Backspace: () => go(state.path.slice(0, -1)), s: showSums });
  stage.append(
    h("style", {}, `
      .edge { cursor: pointer; } .edge:focus { outline: none; }
      .edge rect { fill: var(--panel); stroke: var(--soft); stroke-width: 1; }
      .edge.open rect { stroke: var(--plus); stroke-width: 2; }
      .edge.far rect { stroke: var(--line); } .edge.far text { fill: var(--soft); }
      .edge.taken rect { stroke: var(--hot); stroke-width: 3; fill: var(--hot); fill-opacity: 0.16; }
      .edge.taken text { font-weight: 650; }
      .edge:hover rect { stroke-width: 3; } .edge:focus-visible rect { stroke: var(--ink); stroke-width: 4; }`),
    bar, drawing.svg, say,
  );
  update();
}

/** Nodes between the letters, a bar over them for each edge, and on demand the best sum to each node. */
function drawLattice(letters, { edges, lanes, scores, best }, narrow, take) {
  const width = narrow ? 360 : 740, side = 24, step = (width - 2 * side) / letters.length;
  const size = Math.min(narrow ? 13 : 16, 0.32 * step), tall = 2.7 * size, lane = tall + 6;
  const floor = 12 + lane * (Math.max(...lanes) + 1), x = (place) => side + place * step;
  const bars = edges.map(([start, end, token], i) => {
    const top = floor - 10 - lane * (lanes[i] + 1) + 6, middle = (x(start) + x(end)) / 2;
    const choose = () => take(i);
    const word = (y, height, text) =>
      h("text", { x: middle, y, "text-anchor": "middle", "font-size": height, fill: "var(--ink)" }, text);
    const group = h("g", { class: "edge", role: "button", tabindex: 0, onclick: choose,
      "aria-label": `${token}, ${fixed(scores[i], 2)}` },
    h("rect", { x: x(start) + 3, y: top, width: x(end) - x(start) - 6, height: tall, rx: 6 }),
    word(top + 1.1 * size, size, token), word(top + 2.25 * size, 0.85 * size, fixed(scores[i], 1)),
    h("title", {}, `${token}: ${fixed(scores[i], 2)}`));
    onKeys(group, { Enter: choose, " ": choose });
    return group;
  });
  // A line rises from each node, but not through a bar.
  const lines = best.map((_, place) => Array.from({ length: Math.max(...lanes) + 1 }, (_, high) =>
    edges.some(([start, end], i) => lanes[i] === high && start < place && place < end) ? ""
      : `M${x(place)} ${floor - 10 - lane * (high + 1) + 3}v${lane + (high ? 0 : 7)}`).join(""));
  const guides = h("path", { d: lines.join(""), stroke: "var(--line)", "stroke-width": 1 });
  const nodes = best.map((_, place) => h("circle", { cx: x(place), cy: floor, r: 5.5, fill: "var(--ink)" }));
  const names = letters.map((letter, place) =>
    h("text", { x: x(place + 0.5), y: floor + 27, "text-anchor": "middle", "font-size": narrow ? 17 : 20,
      fill: "var(--ink)" }, letter));
  const sums = best.map((score, place) =>
    h("text", { class: "best", x: x(place), y: floor + 50, "text-anchor": "middle",
      "font-size": Math.min(14, 0.28 * step), fill: "var(--ink)" }, fixed(score, 1)));
  const legend = h("text", { x: width / 2, y: floor + 72, "text-anchor": "middle", "font-size": 14,
    fill: "var(--soft)" }, "under each node: the best sum that leads to it");
  const told = h("g", {}, sums, legend);
  const svg = h("svg", { viewBox: `0 0 ${width} ${floor + 78}`, role: "group", "aria-label": "the lattice" },
    guides, bars, nodes, names, told);
  const update = (path, here, shown) => {
    const reached = new Set([0, ...path.map((edge) => edges[edge][1])]);
    bars.forEach((group, i) => {
      const [start] = edges[i], taken = path.includes(i);
      const kind = taken ? " taken" : start === here ? " open" : reached.has(start) ? "" : " far";
      group.setAttribute("class", `edge${kind}`);
      group.setAttribute("aria-pressed", taken);
    });
    nodes.forEach((node, place) => node.setAttribute("fill", place === here ? "var(--hot)" : "var(--ink)"));
    told.setAttribute("visibility", shown ? "visible" : "hidden");
  };
  return { svg, update };
}
