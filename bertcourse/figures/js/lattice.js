// Lecture 3: the segmentations of a word as ways through a lattice. One walks from the left, arc by arc.
// data: {word, edges: [[start, end, token]], scores: [edge], best: [dot], ways: [[name, [edge]]]}.
function scene({ stage, bar, say, data, narrow, state }) {
  const { edges, scores, best } = data, letters = [...data.word], last = letters.length;
  state.way ??= [];

  const here = () => (state.way.length ? edges[state.way.at(-1)][1] : 0);
  const take = (edge) => {
    const [start] = edges[edge], reached = [0, ...state.way.map((taken) => edges[taken][1])].indexOf(start);
    if (reached < 0) return update(`No way leads to the dot where ${edges[edge][2]} begins yet. `);
    state.way = [...state.way.slice(0, reached), edge];
    update();
  };
  const go = (way) => { state.way = way; update(); };
  const drawing = drawLattice(letters, edges, scores, best, narrow, take);

  const sum = (way) => way.reduce((total, edge) => total + scores[edge], 0);
  const update = (problem = "") => {
    const place = here(), score = sum(state.way);
    drawing.update(state.way, place);
    const terms = state.way.map((edge) => `${edges[edge][2]} (${fixed(scores[edge], 2)})`).join(" + ");
    const same = state.way.length > 0 && Math.abs(score - best[place]) < 1e-4;
    const compared = same ? "no way is better" : `the best way to this dot has ${fixed(best[place], 2)}`;
    const end = place < last ? "" : same ? " This is the most probable segmentation."
      : ` The best is ${threeDigits(Math.exp(best[last] - score))} times as probable.`;
    say.replaceChildren(...(state.way.length
      ? [problem, h("b", { class: "sum" }, `${terms} = ${fixed(score, 2)}`), `; ${compared}.`, end]
      : [problem, h("b", {}, "Start at the left dot: "), "choose an arc that begins there."]));
    buttons.forEach(({ button, way }) => button.setAttribute("aria-pressed", String(way) === String(state.way)));
  };
  const buttons = data.ways.map(([name, way]) => ({ way, button: h("button", { onclick: () => go(way) }, name) }));
  bar.append(...buttons.map(({ button }) => button), h("button", { onclick: () => go([]) }, "start again"));
  onKeys(stage, { Backspace: () => go(state.way.slice(0, -1)) });
  stage.append(
    h("style", {}, `
      .arc { cursor: pointer; } .arc:focus { outline: none; }
      .arc:hover .line, .arc:focus-visible .line { stroke-width: 4; }
      .arc.open .line { stroke-width: 2; } .arc.far .line { opacity: 0.45; } .arc.far text { fill: var(--soft); }
      .arc.taken .line { stroke: var(--hot); stroke-width: 3.4; }
      .arc.taken text { fill: var(--hot); font-weight: 650; }
      .hit { stroke: transparent; stroke-width: 16; }`),
    bar, drawing.svg, say,
  );
  update();
}

/** Dots between the letters, arcs over them, and under each dot the score of the best way to it. */
function drawLattice(letters, edges, scores, best, narrow, take) {
  const width = narrow ? 360 : 740, side = 20, step = (width - 2 * side) / letters.length;
  const highest = Math.max(...edges.map(([start, end]) => end - start));
  const rise = Math.min(narrow ? 0.9 * step : 0.5 * step, 240 / highest), floor = 22 + rise * highest;
  const x = (place) => side + place * step;
  const arcs = edges.map(([start, end, token], i) => {
    const reach = end - start, middle = (x(start) + x(end)) / 2, top = floor - rise * reach;
    const d = `M${x(start)} ${floor}A${(reach * step) / 2} ${rise * reach} 0 0 1 ${x(end)} ${floor}`;
    const text = narrow ? fixed(scores[i], 1) : `${token} ${fixed(scores[i], 1)}`;
    const choose = () => take(i);
    const group = h("g", { class: "arc", role: "button", tabindex: 0, onclick: choose,
      "aria-label": `${token}, ${fixed(scores[i], 2)}` },
    h("path", { class: "hit", d, fill: "none" }),
    h("path", { class: "line", d, fill: "none", stroke: "var(--plus)", "stroke-width": 1.2 }),
    h("text", { x: middle, y: top - 5, "text-anchor": "middle", "font-size": narrow ? 11 : 12, fill: "var(--ink)" },
      text),
    h("title", {}, `${token}: ${fixed(scores[i], 2)}`));
    onKeys(group, { Enter: choose, " ": choose });
    return group;
  });
  const dots = best.map((_, place) => h("circle", { cx: x(place), cy: floor, r: 4.5, fill: "var(--ink)" }));
  const names = letters.map((letter, place) =>
    h("text", { x: x(place + 0.5), y: floor + 24, "text-anchor": "middle", "font-size": 16, fill: "var(--ink)" },
      letter));
  const sums = best.map((score, place) =>
    h("text", { class: "best", x: x(place), y: floor + 46, "text-anchor": "middle", "font-size": narrow ? 10 : 11.5,
      fill: "var(--soft)" }, fixed(score, 1)));
  const svg = h("svg", { viewBox: `0 0 ${width} ${floor + 72}`, role: "group", "aria-label": "the lattice" },
    arcs, dots, names, sums,
    h("text", { x: width / 2, y: floor + 66, "text-anchor": "middle", "font-size": 11.5, fill: "var(--soft)" },
      "under each dot: the best sum that leads to it"));
  const update = (way, here) => {
    const reached = new Set([0, ...way.map((edge) => edges[edge][1])]);
    arcs.forEach((arc, i) => {
      const [start] = edges[i], taken = way.includes(i);
      arc.setAttribute("class", `arc${taken ? " taken" : start === here ? " open" : reached.has(start) ? "" : " far"}`);
      arc.setAttribute("aria-pressed", taken);
    });
    dots.forEach((dot, place) => dot.setAttribute("fill", place === here ? "var(--hot)" : "var(--ink)"));
  };
  return { svg, update };
}
