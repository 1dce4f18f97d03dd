// Lecture 1: what the dimension d does to scores, weights and gradient, with the division by √d and without.
// data: {dimensions: [d], scores: [draw][d][key], gradients: [draw][d][undivided, divided],
//        bands: [undivided, divided][d][10th percentile, median, 90th], start: place of the d at first,
//        heads: the d that a line marks, powers: of ten that the gradient's axis spans}.
// All is computed in Python but the softmax. The first draw is the most typical one.
function scene({ stage, bar, say, data, narrow, state }) {
  const { dimensions, scores, gradients, bands } = data;
  const count = scores[0][0].length;
  state.place ??= data.start;
  state.divided ??= 0;
  state.draw ??= 0;

  const small = [narrow ? 178 : 270, narrow ? 170 : 176], large = narrow ? [364, 300] : [450, 360];
  const limits = dimensions.map((_, place) => Math.max(...scores.map((draw) => draw[place]).flat().map(Math.abs)));
  const scorePanel = barPanel("score", small, count);
  const weightPanel = barPanel("weight", small, count);
  const gradientPanel = curvePanel(large, data);

  const update = () => {
    const d = dimensions[state.place], divided = Boolean(state.divided);
    const current = scores[state.draw][state.place].map((score) => score * (divided ? d ** -0.5 : 1));
    const weights = softmax(current), gradient = gradients[state.draw][state.place][state.divided];
    const limit = limits[state.place], tick = limit < 3 ? 1 : Math.floor(limit / 10) * 10 || Math.floor(limit);
    const color = divided ? "plus" : "minus"; // those of the two curves
    scorePanel.update(current, divided ? "scores q·k/√d" : "scores q·k", color, [-limit, limit], [tick, 0, -tick]);
    weightPanel.update(weights, "their softmax: weights", color, [0, 1], [1, 0.5, 0]);
    gradientPanel.update(d, gradient, state.divided);
    divide.setAttribute("aria-pressed", divided);
    divide.textContent = `divide by √d: ${divided ? "on" : "off"}`;
    const most = Math.max(...weights), spread = Math.max(...current) - Math.min(...current);
    const verdict = most > 0.9 ? "One key gets nearly all the weight." : most > 0.5 ? "One key gets most of the weight."
      : "The weight is spread over many keys.";
    say.replaceChildren(
      h("b", {}, `${divided ? "Divided by √d" : "Not divided"}: ${verdict}`),
      ` Between the highest score and the lowest lie ${fixed(spread, 1)}; the largest of ${count} weights is `,
      `${fixed(most, 3)}. This query’s gradient, the dot, is ${threeDigits(gradient)}.`,
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
      .panels { display: grid; gap: 0.4em 1em; grid-template-columns: ${small[0]}fr ${large[0]}fr; }
      .panels > :last-child { grid-row: 1 / 3; grid-column: 2; }
      .panels.narrow { grid-template-columns: 1fr 1fr; }
      .panels.narrow > :last-child { grid-row: 2; grid-column: 1 / 3; }
      .panels rect { transition: y 0.15s, height 0.15s; }
      circle { transition: cx 0.15s, cy 0.15s; }`),
    bar,
    h("div", { class: narrow ? "panels narrow" : "panels" }, scorePanel.svg, weightPanel.svg, gradientPanel.svg),
    say,
  );
  update();
}

const TOP = 26, UNDER = 24; // what a panel leaves for its title, and below its floor
const label = (x, y, text, anchor = "end", color = "soft") =>
  h("text", { x, y, "text-anchor": anchor, "font-size": 13, fill: `var(--${color})` }, text);
const line = (x1, y1, x2, y2, how = {}) => h("line", { x1, y1, x2, y2, stroke: "var(--line)", ...how });

function panel([width, height], title, ...inside) {
  const style = { "text-anchor": "middle", "font-size": 14, "font-weight": 600, fill: "var(--ink)" };
  const heading = h("text", { x: width / 2, y: 13, ...style }, title);
  const svg = h("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": title }, heading, inside);
  const rename = (text) => { heading.textContent = text; svg.setAttribute("aria-label", text); };
  return { svg, rename };
}

/** A bar for each key, from 0 up or down. */
function barPanel(what, [width, height], count) {
  const left = 34, floor = height - UNDER, step = (width - left - 6) / count;
  const bars = Array.from({ length: count }, (_, i) =>
    h("rect", { class: what, x: left + 4 + i * step, width: 0.74 * step, rx: 1 }, h("title")));
  const zero = line(left, 0, width - 4, 0), marks = [0, 1, 2].map(() => label(left - 4, 0, ""));
  const below = label((left + width) / 2, height - 6, `${count} keys`, "middle");
  const { svg, rename } = panel([width, height], what, zero, marks, bars, below);
  const update = (values, title, color, [low, high], ticks) => {
    const y = (value) => floor - ((value - low) / (high - low)) * (floor - TOP);
    rename(title);
    for (const end of ["y1", "y2"]) zero.setAttribute(end, y(0));
    marks.forEach((mark, i) => {
      mark.setAttribute("y", y(ticks[i]) + 4);
      mark.textContent = String(ticks[i]).replace("-", "−");
    });
    bars.forEach((bar, i) => {
      bar.setAttribute("y", Math.min(y(values[i]), y(0)).toFixed(2));
      bar.setAttribute("height", Math.max(Math.abs(y(values[i]) - y(0)), 0.6).toFixed(2));
      bar.setAttribute("fill", `var(--${color})`);
      bar.firstChild.textContent = `${what} of key ${i + 1}: ${fixed(values[i], 3)}`;
    });
  };
  return { svg, update };
}

/** The gradient over d, both on a logarithmic scale: the bands of all draws, and a dot for this one. */
function curvePanel([width, height], { dimensions, bands, heads, powers }) {
  const left = 42, under = 36, floor = height - under;
  const sizes = bands.flat(2).filter((value) => value > 0);
  const highest = Math.ceil(Math.log10(Math.max(...sizes, 1)));
  const lowest = Math.max(Math.floor(Math.log10(Math.min(...sizes, 0.1))), highest - powers); // what is less lies there
  const first = Math.log2(dimensions[0]), last = Math.log2(dimensions.at(-1));
  const x = (d) => left + 8 + ((Math.log2(d) - first) / (last - first || 1)) * (width - left - 20);
  const y = (size) => {
    const power = Math.min(Math.max(Math.log10(size), lowest), highest);
    return floor - ((power - lowest) / (highest - lowest)) * (floor - TOP);
  };
  const band = (rows, color) => {
    const edge = (which) => dimensions.map((d, i) => `${x(d).toFixed(1)} ${y(rows[i][which]).toFixed(1)}`);
    const outline = [...edge(0), ...edge(2).reverse()].join("L"), stroke = `var(--${color})`;
    return [
      h("path", { d: `M${outline}z`, fill: stroke, "fill-opacity": 0.26, stroke, "stroke-opacity": 0.5 }),
      h("path", { d: `M${edge(1).join("L")}`, stroke, "stroke-width": 2.4, fill: "none" }),
    ];
  };
  const raised = (number) => String(number).replace("-", "⁻").replace(/\d/g, (digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit]);
  const ticks = Array.from({ length: highest - lowest + 1 }, (_, i) => highest - i).filter((_, i) => i % 2 === 0);
  const dot = h("circle", { class: "gradient", r: 6, stroke: "var(--ink)", "stroke-width": 1.5 }, h("title"));
  const marked = dimensions[0] <= heads && heads <= dimensions.at(-1) ? [
    line(x(heads), TOP, x(heads), floor, { stroke: "var(--soft)", "stroke-width": 1.4, "stroke-dasharray": "2 4" }),
    label(x(heads) - 6, TOP + 0.6 * (floor - TOP), `BERT: d = ${heads}`),
  ] : [];
  const legend = ["q·k", "q·k/√d"].map((name, i) =>
    label(left + 10, floor - 32 + 18 * i, name, "start", ["minus", "plus"][i]));
  const { svg } = panel([width, height], "‖∂a/∂q‖: median, 10th to 90th percentile",
    line(left, floor, width - 4, floor), line(left, TOP, left, floor),
    ticks.map((power) => label(left - 4, y(10 ** power) + 4, `10${raised(power)}`)),
    dimensions.filter((_, i) => i % 3 === 0).map((d) => label(x(d), floor + 16, d, "middle")),
    label((left + width) / 2, height - 4, "dimension d", "middle"),
    band(bands[0], "minus"), band(bands[1], "plus"), marked, legend, dot);
  const update = (d, size, divided) => {
    dot.setAttribute("cx", x(d).toFixed(1));
    dot.setAttribute("cy", y(size).toFixed(1));
    dot.setAttribute("fill", divided ? "var(--plus)" : "var(--minus)");
    dot.firstChild.textContent = `gradient: ${threeDigits(size)}`;
  };
  return { svg, update };
}
