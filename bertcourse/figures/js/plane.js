// Lecture 1: words as points of a plane. A word is dragged, or moved by arrow keys; the weights of the one that asks,
// softmax of its dot products with all, follow, and so does the vector that it becomes.
// data: {words, vectors: [word][2], asking, axes: [name, name], limits: [low, high]}.
function scene({ stage, bar, say, data, narrow, state }) {
  const { words, axes, limits: [low, high] } = data;
  state.vectors ??= data.vectors.map((vector) => [...vector]);
  state.asking ??= data.asking;

  const LEFT = 34, TOP = 8, SIDE = 340, STEP = 0.1;
  const toX = (value) => LEFT + ((value - low) / (high - low)) * SIDE;
  const toY = (value) => TOP + (1 - (value - low) / (high - low)) * SIDE;
  const within = (value) => Math.min(high, Math.max(low, Math.round(value * 100) / 100));
  const text = (content, x, y, attributes = {}) =>
    h("text", { x, y, "font-size": 13, fill: "var(--ink)", ...attributes }, content);

  const whole = [];
  for (let tick = Math.ceil(low); tick <= high; tick++) whole.push(tick);
  const grid = whole.map((tick) => [
    h("path", { d: `M${toX(tick)} ${TOP}V${TOP + SIDE}M${LEFT} ${toY(tick)}H${LEFT + SIDE}`, fill: "none",
      stroke: "var(--line)", "stroke-width": tick ? 0.6 : 1.4 }),
    text(tick, toX(tick), TOP + SIDE + 15, { "text-anchor": "middle", "font-size": 11, fill: "var(--soft)" }),
    text(tick, LEFT - 8, toY(tick) + 4, { "text-anchor": "end", "font-size": 11, fill: "var(--soft)" }),
  ]);
  const named = { "text-anchor": "middle", "font-size": 12, fill: "var(--soft)" };
  const middle = TOP + SIDE / 2;
  const names = [text(axes[0], LEFT + SIDE / 2, TOP + SIDE + 31, named),
    text(axes[1], 10, middle, { ...named, transform: `rotate(-90 10 ${middle})` })];

  const links = words.map(() => h("line", { stroke: "var(--plus)", "stroke-linecap": "round", opacity: 0.45 }));
  const way = h("line", { stroke: "var(--hot)", "stroke-width": 2.6, "stroke-linecap": "round" });
  const end = h("circle", { r: 5.5, fill: "none", stroke: "var(--hot)", "stroke-width": 2.6 });
  const points = words.map((word, j) => {
    const touch = h("circle", { r: 20, fill: "transparent" }); // a finger is thicker than a dot
    const dot = h("circle", { r: 7, fill: "var(--plus)" });
    const label = text(word, 0, 0);
    const node = h("g", { class: "point", tabindex: 0, role: "button" }, touch, dot, label);
    onKeys(node, {
      ArrowUp: () => move(j, 0, STEP), ArrowDown: () => move(j, 0, -STEP),
      ArrowLeft: () => move(j, -STEP, 0), ArrowRight: () => move(j, STEP, 0),
    });
    node.addEventListener("pointerdown", (event) => {
      node.setPointerCapture(event.pointerId);
      node.focus();
      event.preventDefault(); // no text is selected
    });
    node.addEventListener("pointermove", (event) => {
      if (!node.hasPointerCapture(event.pointerId)) return;
      const place = new DOMPoint(event.clientX, event.clientY).matrixTransform(plane.getScreenCTM().inverse());
      const x = low + ((place.x - LEFT) / SIDE) * (high - low), y = high - ((place.y - TOP) / SIDE) * (high - low);
      put(j, x, y);
    });
    return { node, touch, dot, label };
  });
  const size = { viewBox: `0 0 ${LEFT + SIDE + 6} ${TOP + SIDE + 36}` };
  const plane = h("svg", { ...size, role: "group", "aria-label": "the plane" },
    grid, names, links, way, points.map(({ node }) => node), end);

  const WIDTH = 300, BARS = 120, LONGEST = 120;
  const heading = text("", BARS, 16, { "font-weight": 650 });
  const score = { class: "score", "text-anchor": "end", "font-size": 12, fill: "var(--soft)" };
  const rows = words.map((word, j) => {
    const y = 44 + 27 * j;
    return {
      word: text(word, 4, y),
      score: text("", BARS - 10, y, score),
      bar: h("rect", { x: BARS, y: y - 12, height: 16, rx: 2, fill: "var(--plus)", "fill-opacity": 0.8 }),
      weight: text("", BARS, y, { class: "weight", "font-size": 12 }),
    };
  });
  const account = h("svg", { viewBox: `0 0 ${WIDTH} ${44 + 27 * words.length}`, role: "group", "aria-label": "weights" },
    heading, text("score", BARS - 10, 16, score), rows.map((row) => Object.values(row)));
  account.querySelector("text.score").removeAttribute("class"); // a heading is no score

  const put = (j, x, y) => { state.vectors[j] = [within(x), within(y)]; update(); };
  const move = (j, across, up) => put(j, state.vectors[j][0] + across, state.vectors[j][1] + up);
  const ask = (asking) => { state.asking = asking; update(); };
  const asks = words.map((word, j) => h("button", { onclick: () => ask(j) }, word));
  const back = h("button", {
    onclick: () => { state.vectors = data.vectors.map((vector) => [...vector]); ask(data.asking); },
  }, "start again");

  const update = () => {
    const { vectors, asking } = state, own = vectors[asking];
    const scores = vectors.map((vector) => vector[0] * own[0] + vector[1] * own[1]);
    const weights = softmax(scores);
    const output = [0, 1].map((k) => weights.reduce((sum, weight, j) => sum + weight * vectors[j][k], 0));
    const [x, y] = [toX(own[0]), toY(own[1])];
    const place = (node, values) => Object.entries(values).forEach(([name, value]) => node.setAttribute(name, value));
    vectors.forEach((vector, j) => {
      const at = { cx: toX(vector[0]), cy: toY(vector[1]) }, { node, touch, dot, label } = points[j];
      place(touch, at);
      place(dot, at);
      dot.setAttribute("fill", j === asking ? "var(--hot)" : "var(--plus)");
      place(label, nameAt(j, at));
      label.setAttribute("font-weight", j === asking ? 650 : 400);
      node.setAttribute("aria-label", `${words[j]} at ${vector.map((value) => fixed(value, 2)).join(", ")}`);
      place(links[j], { x1: x, y1: y, x2: at.cx, y2: at.cy, "stroke-width": (0.5 + 12 * weights[j]).toFixed(2) });
      rows[j].score.textContent = fixed(scores[j], 2);
      rows[j].bar.setAttribute("width", Math.max(0.6, weights[j] * LONGEST).toFixed(2));
      rows[j].weight.textContent = fixed(weights[j], 3);
      rows[j].weight.setAttribute("x", BARS + 6 + weights[j] * LONGEST);
      rows[j].word.setAttribute("font-weight", j === asking ? 650 : 400);
      asks[j].setAttribute("aria-pressed", j === asking);
    });
    place(way, { x1: x, y1: y, x2: toX(output[0]), y2: toY(output[1]) });
    place(end, { cx: toX(output[0]), cy: toY(output[1]) });
    heading.textContent = `“${words[asking]}” attends to`;
    const most = weights.indexOf(Math.max(...weights));
    const whom = most === asking ? "itself" : `“${words[most]}”`;
    say.replaceChildren(
      h("b", {}, `“${words[asking]}” attends most to ${whom}. `),
      `Its new vector, the ring, is ${axes[0]} ${fixed(output[0], 3)}, ${axes[1]} ${fixed(output[1], 3)}.`,
    );
  };

  /** A name stands away from the nearest other word. */
  const nameAt = (j, { cx, cy }) => {
    const others = state.vectors.filter((_, i) => i !== j).map((other) => [cx - toX(other[0]), cy - toY(other[1])]);
    const [dx, dy] = others.reduce((best, way) => (Math.hypot(...way) < Math.hypot(...best) ? way : best), [0, -1e9]);
    const size = Math.hypot(dx, dy) || 1, sideways = Math.abs(dx) > Math.abs(dy);
    return {
      x: cx + (sideways ? 12 * Math.sign(dx) : 0), y: cy + (sideways ? 4 : dy / size > 0 ? 22 : -12),
      "text-anchor": sideways ? (dx > 0 ? "start" : "end") : "middle",
    };
  };

  bar.append(h("span", { class: "soft" }, "Drag a word. Who asks:"), ...asks, back);
  stage.append(
    h("style", {}, `
      .both { display: grid; gap: 0.6em 2em; align-items: center; grid-template-columns: 380fr 300fr; }
      .both.narrow { grid-template-columns: 1fr; }
      .point { cursor: grab; touch-action: none; outline: none; }
      .point:active { cursor: grabbing; }
      .point:is(:hover, :focus-visible) circle:nth-of-type(2) { stroke: var(--ink); stroke-width: 2; }
      .point text { user-select: none; -webkit-user-select: none; }`),
    bar, h("div", { class: narrow ? "both narrow" : "both" }, plane, account), say,
  );
  update();
}
