// Lecture 1: what the dimension d does to scores, weights and gradient, with the division by √d and without.
// data: {dimensions: [d], scores: [draw][d][key], gradients: [draw][d][undivided, divided],
//        bands: [undivided, divided][d][low, median, high]}. All is computed in Python but the softmax.
function scene({ stage, bar, say, data, narrow, state }) {
  const { dimensions, scores, gradients, bands } = data;
  const count = scores[0][0].length;
  state.place ??= dimensions.length >> 1;
  state.divided ??= 0;
  state.draw ??= 0;

  const WIDTH = narrow ? 172 : 236, HEIGHT = 196, LEFT = 32, TOP = 24, FLOOR = 166;
  const label = (x, y, text, anchor = "end", color = "soft") =>
    h("text", { x, y, "text-anchor": anchor, "font-size": 11, fill: `var(--${color})` }, text);
  const line = (x1, y1, x2, y2) => h("line", { x1, y1, x2, y2, stroke: "var(--line)" });
  const panel = (title, width, ...inside) =>
    h("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, role: "img", "aria-label": title },
      h("text", {
        x: width / 2, y: 12, "text-anchor": "middle", "font-size": 13, "font-weight": 600, fill: "var(--ink)",
      }, title),
      inside);

  // Bars for the keys: their scores about 0, their weights from 0 to 1.
  const step = (WIDTH - LEFT - 8) / count;
  const bars = (name) => Array.from({ length: count }, (_, i) =>
    h("rect", { class: name, x: LEFT + 4 + i * step, width: 0.74 * step, rx: 1 }, h("title")));
  const scoreBars = bars("score"), weightBars = bars("weight");
  const limit = Math.max(...scores.flat(2).map(Math.abs));
  const middle = (TOP + FLOOR) / 2, tallest = (FLOOR - TOP) / 2;
  const ticks = [Math.round(limit), 0, -Math.round(limit)];
  const scorePanel = panel("scores", WIDTH, line(LEFT, middle, WIDTH - 4, middle),
    ticks.map((tick) => label(LEFT - 4, middle + 4 - (tick / limit) * tallest, fixed(tick, 0))), scoreBars);
  const weightPanel = panel("softmax: weights", WIDTH, line(LEFT, FLOOR, WIDTH - 4, FLOOR),
    [1, 0.5, 0].map((tick) => label(LEFT - 4, FLOOR + 4 - tick * (FLOOR - TOP), tick)), weightBars);

  // The gradient over d, both on a logarithmic scale: the band of all draws, and a dot for this one.
  const wide = narrow ? 2 * WIDTH : WIDTH;
  const all = bands.flat(2).filter((value) => value > 0);
  const highest = Math.ceil(Math.log10(Math.max(...all)));
  const lowest = Math.max(Math.floor(Math.log10(Math.min(...all))), highest - 6);
  const last = Math.log2(dimensions.at(-1)), first = Math.log2(dimensions[0]);
  const x = (d) => LEFT + 8 + ((Math.log2(d) - first) / (last - first || 1)) * (wide - LEFT - 20);
  const y = (size) => {
    const power = Math.max(Math.log10(Math.max(size, 1e-300)), lowest);
    return FLOOR - ((Math.min(power, highest) - lowest) / (highest - lowest)) * (FLOOR - TOP);
  };
  const band = (rows, color) => {
    const edge = (which) => dimensions.map((d, i) => `${x(d).toFixed(1)} ${y(rows[i][which]).toFixed(1)}`);
    const outline = [...edge(0), ...edge(2).reverse()].join("L");
    return [
      h("path", { d: `M${outline}z`, fill: `var(--${color})`, "fill-opacity": 0.16 }),
      h("path", { d: `M${edge(1).join("L")}`, stroke: `var(--${color})`, "stroke-width": 1.8, fill: "none" }),
    ];
  };
  const superscript = (power) => String(power).replace("-", "⁻").replace(/\d/g, (digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit]);
  const powers = Array.from({ length: highest - lowest + 1 }, (_, i) => lowest + i);
  const dot = h("circle", { class: "gradient", r: 5, stroke: "var(--ink)", "stroke-width": 1.5 }, h("title"));
  const gradientPanel = panel("gradient ‖∂a/∂q‖", wide,
    line(LEFT, FLOOR, wide - 4, FLOOR), line(LEFT, TOP, LEFT, FLOOR),
    powers.filter((_, i) => i % 2 === 0)
      .map((power) => label(LEFT - 3, y(10 ** power) + 4, `10${superscript(power)}`)),
    dimensions.filter((_, i) => i % 3 === 0).map((d) => label(x(d), FLOOR + 14, d, "middle")),
    label((LEFT + wide) / 2, HEIGHT - 2, "d", "middle"),
    band(bands[0], "minus"), band(bands[1], "plus"),
    label(LEFT + 8, FLOOR - 22, "q·k", "start", "minus"), label(LEFT + 8, FLOOR - 8, "q·k/√d", "start", "plus"), dot);

  const update = () => {
    const d = dimensions[state.place];
    const current = scores[state.draw][state.place].map((score) => score * (state.divided ? d ** -0.5 : 1));
    const weights = softmax(current);
    const gradient = gradients[state.draw][state.place][state.divided];
    current.forEach((score, i) => {
      const tall = (Math.abs(score) / limit) * tallest;
      scoreBars[i].setAttribute("height", Math.max(tall, 0.6).toFixed(2));
      scoreBars[i].setAttribute("y", (score > 0 ? middle - tall : middle).toFixed(2));
      scoreBars[i].setAttribute("fill", score > 0 ? "var(--plus)" : "var(--minus)");
      scoreBars[i].firstChild.textContent = `score of key ${i + 1}: ${fixed(score, 3)}`;
    });
    weights.forEach((weight, i) => {
      const tall = Math.max(weight * (FLOOR - TOP), 0.6);
      weightBars[i].setAttribute("height", tall.toFixed(2));
      weightBars[i].setAttribute("y", (FLOOR - tall).toFixed(2));
      weightBars[i].setAttribute("fill", "var(--plus)");
      weightBars[i].firstChild.textContent = `weight of key ${i + 1}: ${fixed(weight, 3)}`;
    });
    dot.setAttribute("cx", x(d).toFixed(1));
    dot.setAttribute("cy", y(gradient).toFixed(1));
    dot.setAttribute("fill", state.divided ? "var(--plus)" : "var(--minus)");
    dot.firstChild.textContent = `gradient: ${threeDigits(gradient)}`;
    divide.setAttribute("aria-pressed", Boolean(state.divided));
    const most = Math.max(...weights), spread = Math.max(...current.map(Math.abs));
    const verdict = most > 0.9 ? "One key takes it all." : most > 0.5 ? "One key takes most." : "Many keys are heard.";
    say.replaceChildren(
      h("b", {}, verdict),
      ` Scores reach ±${fixed(spread, 1)}; the largest of ${count} weights is ${fixed(most, 3)}; `,
      `a gradient of ${threeDigits(gradient)} reaches the query.`,
    );
  };
  const change = (what) => { Object.assign(state, what); update(); };
  const divide = h("button", { onclick: () => change({ divided: 1 - state.divided }) }, "divide by √d");
  const redraw = h("button", { onclick: () => change({ draw: (state.draw + 1) % scores.length }) }, "other vectors");
  bar.append(
    slider("dimension d", {
      min: 0, max: dimensions.length - 1, value: state.place,
      name: (place) => `d = ${dimensions[place]}`,
      change: (place) => change({ place }),
    }),
    divide, scores.length > 1 ? redraw : "",
  );
  stage.append(
    h("style", {}, `
      .panels { display: grid; gap: 0.5em 1em; grid-template-columns: repeat(3, 1fr); }
      .panels.narrow { grid-template-columns: 1fr 1fr; }
      .narrow :last-child:is(svg) { grid-column: 1 / 3; }
      .panels rect { transition: y 0.15s, height 0.15s; }
      circle { transition: cx 0.15s, cy 0.15s; }`),
    bar, h("div", { class: narrow ? "panels narrow" : "panels" }, scorePanel, weightPanel, gradientPanel), say,
  );
  update();
}
