// Lecture 1: words as points of a plane. A word is dragged, or moved by arrow keys; the weights of the chosen one,
// softmax of its dot products with all, follow, and so does the vector that it becomes.
// data: {words, vectors: [word][2], row, axes: [name, name], limits: [low, high]}.
function scene({ stage, bar, say, data, narrow, state }) {
  const { words, axes, limits: [low, high] } = data;
  const given = () => data.vectors.map((vector) => [...vector]);
  state.vectors ??= given();
  state.row ??= data.row;

  const change = (what) => { Object.assign(state, what); update(); };
  const within = (value) => Math.min(high, Math.max(low, Math.round(value * 100) / 100));
  const put = (j, x, y) => { state.vectors[j] = [within(x), within(y)]; update(); };
  const move = (j, across, up) => put(j, state.vectors[j][0] + across, state.vectors[j][1] + up);
  const plane = planeOf(words, axes, data.limits, put, move);
  const account = accountOf(words);
  const choices = words.map((word, row) => h("button", { onclick: () => change({ row }) }, word));
  const back = h("button", { onclick: () => change({ vectors: given(), row: data.row }) }, "start again");

  const update = () => {
    const { vectors, row } = state, own = vectors[row];
    const scores = vectors.map((vector) => vector[0] * own[0] + vector[1] * own[1]);
    const weights = softmax(scores);
    const output = [0, 1].map((k) => weights.reduce((sum, weight, j) => sum + weight * vectors[j][k], 0));
    plane.update(vectors, row, weights, output);
    account.update(row, scores, weights);
    choices.forEach((button, j) => button.setAttribute("aria-pressed", j === row));
    const most = weights.indexOf(Math.max(...weights));
    const whom = most === row ? "itself" : `“${words[most]}”`;
    say.replaceChildren(
      h("b", {}, `“${words[row]}” attends most to ${whom}. `),
      `Its new vector, the orange ring, is ${axes[0]} ${fixed(output[0], 3)}, ${axes[1]} ${fixed(output[1], 3)}.`,
    );
  };
  bar.append(h("span", { class: "soft" }, "Drag a word. Weights of:"), ...choices, back);
  stage.append(
    h("style", {}, `
      .both { display: grid; gap: 0.6em 2em; align-items: center; grid-template-columns: 380fr 300fr; }
      .both.narrow { grid-template-columns: 1fr; }
      .point { cursor: grab; touch-action: none; outline: none; }
      .point:active { cursor: grabbing; }
      .point:is(:hover, :focus-visible) .dot { stroke: var(--ink); stroke-width: 2; }
      .point text { user-select: none; -webkit-user-select: none; }`),
    bar, h("div", { class: narrow ? "both narrow" : "both" }, plane.svg, account.svg), say,
  );
  update();
}

const label = (text, x, y, attributes = {}) =>
  h("text", { x, y, "font-size": 13, fill: "var(--ink)", ...attributes }, text);
const place = (node, values) => Object.entries(values).forEach(([name, value]) => node.setAttribute(name, value));

const LEFT = 34, TOP = 8, SIDE = 340, STEP = 0.1; // the plane's place, and how far an arrow key moves a word

/** The plane: a point for each word, lines as wide as the weights, a ring where the chosen word moves. */
function planeOf(words, axes, [low, high], put, move) {
  const toX = (value) => LEFT + ((value - low) / (high - low)) * SIDE;
  const toY = (value) => TOP + ((high - value) / (high - low)) * SIDE;
  const link = { stroke: "var(--plus)", "stroke-linecap": "round", opacity: 0.45, fill: "none" };
  const links = words.map(() => h("line", link)), own = h("circle", link); // no line leads from a word to itself
  const hot = { fill: "none", stroke: "var(--hot)", "stroke-width": 2.6, "stroke-linecap": "round" };
  const way = h("line", hot), ring = h("circle", { r: 5.5, ...hot });

  const points = words.map((word, j) => {
    const touch = h("circle", { r: 20, fill: "transparent" }); // a finger is thicker than a dot
    const dot = h("circle", { class: "dot", r: 7 }), name = label(word, 0, 0);
    const node = h("g", { class: "point", tabindex: 0, role: "button" }, touch, dot, name);
    onKeys(node, {
      ArrowUp: () => move(j, 0, STEP), ArrowDown: () => move(j, 0, -STEP),
      ArrowLeft: () => move(j, -STEP, 0), ArrowRight: () => move(j, STEP, 0),
    });
    onDrag(node, ({ x, y }) =>
      put(j, low + ((x - LEFT) / SIDE) * (high - low), high - ((y - TOP) / SIDE) * (high - low)));
    return { node, touch, dot, name };
  });
  const svg = h("svg", {
    viewBox: `0 0 ${LEFT + SIDE + 6} ${TOP + SIDE + 36}`, role: "group", "aria-label": "the plane",
  }, gridOf(axes, low, high, toX, toY), links, own, way, points.map(({ node }) => node), ring);

  const update = (vectors, row, weights, output) => {
    const places = vectors.map(([x, y]) => [toX(x), toY(y)]), [x1, y1] = places[row];
    places.forEach(([cx, cy], j) => {
      const { node, touch, dot, name } = points[j];
      place(touch, { cx, cy });
      place(dot, { cx, cy, fill: j === row ? "var(--hot)" : "var(--plus)" });
      place(name, { ...nameAt(j, places, j === row ? 8 : 0), "font-weight": j === row ? 650 : 400 });
      place(node, { "aria-label": `${words[j]} at ${vectors[j].map((value) => fixed(value, 2)).join(", ")}` });
      place(links[j], { x1, y1, x2: cx, y2: cy, "stroke-width": (0.5 + 12 * weights[j]).toFixed(2) });
    });
    const wide = 0.5 + 12 * weights[row];
    place(own, { cx: x1, cy: y1, r: 9 + wide / 2, "stroke-width": wide.toFixed(2) });
    const [cx, cy] = [toX(output[0]), toY(output[1])];
    place(way, { x1, y1, x2: cx, y2: cy });
    place(ring, { cx, cy });
  };
  return { svg, update };
}

/** Lines at whole numbers, and what the axes mean. */
function gridOf(axes, low, high, toX, toY) {
  const soft = { "text-anchor": "middle", "font-size": 12, fill: "var(--soft)" }, middle = TOP + SIDE / 2;
  const ticks = Array.from({ length: Math.floor(high) - Math.ceil(low) + 1 }, (_, i) => Math.ceil(low) + i);
  return [
    ticks.map((tick) => [
      h("path", {
        d: `M${toX(tick)} ${TOP}V${TOP + SIDE}M${LEFT} ${toY(tick)}H${LEFT + SIDE}`,
        fill: "none", stroke: "var(--line)", "stroke-width": tick ? 0.6 : 1.4,
      }),
      label(fixed(tick, 0), toX(tick), TOP + SIDE + 15, soft),
      label(fixed(tick, 0), LEFT - 8, toY(tick) + 4, { ...soft, "text-anchor": "end" }),
    ]),
    label(axes[0], LEFT + SIDE / 2, TOP + SIDE + 31, { ...soft, "font-size": 13.5 }),
    label(axes[1], 10, middle, { ...soft, "font-size": 13.5, transform: `rotate(-90 10 ${middle})` }),
  ];
}

/** Where a name stands: on the side away from the nearest other word, so much farther off than usual. */
function nameAt(j, places, off) {
  const [cx, cy] = places[j];
  const ways = places.filter((_, i) => i !== j).map(([x, y]) => [cx - x, cy - y]);
  const [dx, dy] = ways.sort((a, b) => Math.hypot(...a) - Math.hypot(...b))[0] ?? [0, -1];
  return Math.abs(dx) > Math.abs(dy)
    ? { x: cx + (12 + off) * Math.sign(dx), y: cy + 4, "text-anchor": dx > 0 ? "start" : "end" }
    : { x: cx, y: cy + (dy > 0 ? 22 + off : -12 - off), "text-anchor": "middle" };
}

/** Score and weight of each word, for the chosen one. */
function accountOf(words) {
  const width = 300, bars = 120, longest = 120;
  const score = { "text-anchor": "end", "font-size": 12, fill: "var(--soft)" };
  const heading = label("", bars, 16, { "font-weight": 650 });
  const rows = words.map((word, j) => {
    const y = 44 + 27 * j;
    return {
      word: label(word, 4, y),
      score: label("", bars - 10, y, { ...score, class: "score" }),
      bar: h("rect", { x: bars, y: y - 12, height: 16, rx: 2, fill: "var(--plus)", "fill-opacity": 0.8 }),
      weight: label("", bars, y, { class: "weight", "font-size": 12 }),
    };
  });
  const svg = h("svg", {
    viewBox: `0 0 ${width} ${44 + 27 * words.length}`, role: "group", "aria-label": "scores and weights",
  }, heading, label("score", bars - 10, 16, score), rows.map((row) => Object.values(row)));

  const update = (row, scores, weights) => {
    heading.textContent = `“${words[row]}” attends to`;
    rows.forEach(({ word, score, bar, weight }, j) => {
      word.setAttribute("font-weight", j === row ? 650 : 400);
      score.textContent = fixed(scores[j], 2);
      bar.setAttribute("width", Math.max(0.6, weights[j] * longest).toFixed(2));
      weight.textContent = fixed(weights[j], 3);
      weight.setAttribute("x", bars + 6 + weights[j] * longest);
    });
  };
  return { svg, update };
}
