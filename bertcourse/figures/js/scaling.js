// Lecture 1: what the dimension d does to scores, weights and gradient, with the division by √d and without.
// data: {dimensions: [d], scores: [draw][d][key], gradients: [draw][d][undivided, divided],
//        bands: [undivided, divided][d][low, median, high]}. All is computed in Python but the softmax.
function scene({ stage, bar, say, data, narrow, state }) {
  const { dimensions, scores, gradients, bands } = data;
  const count = scores[0][0].length;
  state.place ??= dimensions.length >> 1;
  state.divided ??= 0;
  state.draw ??= 0;

  const width = narrow ? 172 : 236;
  const limit = Math.max(...scores.flat(2).map(Math.abs));
  const tick = Math.round(limit);
  const scorePanel = barPanel("scores", "score", width, count, [-limit, limit], [tick, 0, -tick]);
  const weightPanel = barPanel("softmax: weights", "weight", width, count, [0, 1], [1, 0.5, 0]);
  const gradientPanel = curvePanel(narrow ? 2 * width : width, dimensions, bands);

  const update = () => {
    const d = dimensions[state.place];
    const current = scores[state.draw][state.place].map((score) => score * (state.divided ? d ** -0.5 : 1));
    const weights = softmax(current), gradient = gradients[state.draw][state.place][state.divided];
    scorePanel.update(current);
    weightPanel.update(weights);
    gradientPanel.update(d, gradient, state.divided);
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
  const dimension = slider("dimension d", {
    min: 0, max: dimensions.length - 1, value: state.place,
    name: (place) => `d = ${dimensions[place]}`,
    change: (place) => change({ place }),
  });
  bar.append(dimension, divide, scores.length > 1 ? redraw : "");
  stage.append(
    h("style", {}, `
      .panels { display: grid; gap: 0.5em 1em; grid-template-columns: repeat(3, 1fr); }
      .panels.narrow { grid-template-columns: 1fr 1fr; }
      .narrow :last-child:is(svg) { grid-column: 1 / 3; }
      .panels rect { transition: y 0.15s, height 0.15s; }
      circle { transition: cx 0.15s, cy 0.15s; }`),
    bar,
    h("div", { class: narrow ? "panels narrow" : "panels" }, scorePanel.svg, weightPanel.svg, gradientPanel.svg),
    say,
  );
  update();
}

const LEFT = 32, TOP = 24, FLOOR = 166, HEIGHT = 196; // of what is drawn in a panel
const label = (x, y, text, anchor = "end", color = "soft") =>
  h("text", { x, y, "text-anchor": anchor, "font-size": 11, fill: `var(--${color})` }, text);
const line = (x1, y1, x2, y2) => h("line", { x1, y1, x2, y2, stroke: "var(--line)" });

function panel(title, width, ...inside) {
  const style = { "text-anchor": "middle", "font-size": 13, "font-weight": 600, fill: "var(--ink)" };
  return h("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, role: "img", "aria-label": title },
    h("text", { x: width / 2, y: 12, ...style }, title), inside);
}

/** A bar for each key, from 0 up or down. */
function barPanel(title, what, width, count, [low, high], ticks) {
  const y = (value) => FLOOR - ((value - low) / (high - low)) * (FLOOR - TOP);
  const step = (width - LEFT - 8) / count;
  const bars = Array.from({ length: count }, (_, i) =>
    h("rect", { class: what, x: LEFT + 4 + i * step, width: 0.74 * step, rx: 1 }, h("title")));
  const svg = panel(title, width, line(LEFT, y(0), width - 4, y(0)),
    ticks.map((tick) => label(LEFT - 4, y(tick) + 4, String(tick).replace("-", "−"))), bars);
  const update = (values) => bars.forEach((bar, i) => {
    bar.setAttribute("y", Math.min(y(values[i]), y(0)).toFixed(2));
    bar.setAttribute("height", Math.max(Math.abs(y(values[i]) - y(0)), 0.6).toFixed(2));
    bar.setAttribute("fill", values[i] > 0 ? "var(--plus)" : "var(--minus)");
    bar.firstChild.textContent = `${what} of key ${i + 1}: ${fixed(values[i], 3)}`;
  });
  return { svg, update };
}

/** The gradient over d, both on a logarithmic scale: the band of all draws, and a dot for this one. */
function curvePanel(width, dimensions, bands) {
  const sizes = bands.flat(2).filter((value) => value > 0).concat(1);
  const highest = Math.ceil(Math.log10(Math.max(...sizes)));
  const least = Math.floor(Math.log10(Math.min(...sizes)));
  const lowest = Math.min(Math.max(least, highest - 6), highest - 1); // what is less by a million lies on the floor
  const first = Math.log2(dimensions[0]), last = Math.log2(dimensions.at(-1));
  const x = (d) => LEFT + 8 + ((Math.log2(d) - first) / (last - first || 1)) * (width - LEFT - 20);
  const y = (size) => {
    const power = Math.min(Math.max(Math.log10(size), lowest), highest);
    return FLOOR - ((power - lowest) / (highest - lowest)) * (FLOOR - TOP);
  };
  const band = (rows, color) => {
    const edge = (which) => dimensions.map((d, i) => `${x(d).toFixed(1)} ${y(rows[i][which]).toFixed(1)}`);
    const outline = [...edge(0), ...edge(2).reverse()].join("L");
    return [
      h("path", { d: `M${outline}z`, fill: `var(--${color})`, "fill-opacity": 0.16 }),
      h("path", { d: `M${edge(1).join("L")}`, stroke: `var(--${color})`, "stroke-width": 1.8, fill: "none" }),
    ];
  };
  const raised = (number) => String(number).replace("-", "⁻").replace(/\d/g, (digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit]);
  const powers = Array.from({ length: highest - lowest + 1 }, (_, i) => lowest + i).filter((_, i) => i % 2 === 0);
  const dot = h("circle", { class: "gradient", r: 5, stroke: "var(--ink)", "stroke-width": 1.5 }, h("title"));
  const svg = panel("gradient ‖∂a/∂q‖", width, line(LEFT, FLOOR, width - 4, FLOOR), line(LEFT, TOP, LEFT, FLOOR),
    powers.map((power) => label(LEFT - 3, y(10 ** power) + 4, `10${raised(power)}`)),
    dimensions.filter((_, i) => i % 3 === 0).map((d) => label(x(d), FLOOR + 14, d, "middle")),
    label((LEFT + width) / 2, HEIGHT - 2, "d", "middle"), band(bands[0], "minus"), band(bands[1], "plus"),
    label(LEFT + 8, FLOOR - 22, "q·k", "start", "minus"), label(LEFT + 8, FLOOR - 8, "q·k/√d", "start", "plus"), dot);
  const update = (d, size, divided) => {
    dot.setAttribute("cx", x(d).toFixed(1));
    dot.setAttribute("cy", y(size).toFixed(1));
    dot.setAttribute("fill", divided ? "var(--plus)" : "var(--minus)");
    dot.firstChild.textContent = `gradient: ${threeDigits(size)}`;
  };
  return { svg, update };
}
