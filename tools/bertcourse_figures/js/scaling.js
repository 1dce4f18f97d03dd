// Lecture 1: what the dimension d does to scores and weights, with the division by √d and without.
// data: {dimensions: [d], scores: [draw][d][key], means: [d][undivided, divided], the largest weight over all draws,
//        draws: how many there are, start: place of the d at first}.
// All is computed in Python but the softmax. The first draw is the most typical one.
function scene({ stage, bar, say, data, narrow, state }) {
  const { dimensions, scores, means, draws } = data;
  const count = scores[0][0].length;
  state.place ??= data.start;
  state.divided ??= 0;
  state.draw ??= 0;

  const size = narrow ? [178, 200] : [360, 250];
  const limits = dimensions.map((_, place) => Math.max(...scores.map((draw) => draw[place]).flat().map(Math.abs)));
  const scorePanel = barPanel("score", size, count);
  const weightPanel = barPanel("weight", size, count);

  const update = () => {
    const d = dimensions[state.place], divided = Boolean(state.divided);
    const current = scores[state.draw][state.place].map((score) => score * (divided ? d ** -0.5 : 1));
    const weights = softmax(current);
    const limit = limits[state.place], tick = limit < 3 ? 1 : Math.floor(limit / 10) * 10 || Math.floor(limit);
    const color = divided ? "plus" : "minus";
    scorePanel.update(current, divided ? "scores q·k/√d" : "scores q·k", color, [-limit, limit], [tick, 0, -tick]);
    weightPanel.update(weights, "their softmax: weights", color, [0, 1], [1, 0.5, 0]);
    divide.setAttribute("aria-pressed", divided);
    divide.textContent = `divide by √d: ${divided ? "on" : "off"}`;
    const most = Math.max(...weights), spread = Math.max(...current) - Math.min(...current);
    const verdict = most > 0.9 ? "One key gets nearly all the weight." : most > 0.5 ? "One key gets most of the weight."
      : "The weight is spread over many keys.";
    say.replaceChildren(
      h("b", {}, `${divided ? "Divided by √d" : "Not divided"}: ${verdict}`),
      ` Between the highest score and the lowest lie ${fixed(spread, 1)}; the largest of ${count} weights is `,
      `${fixed(most, 3)}, and on average over ${draws} queries ${fixed(means[state.place][state.divided], 2)}.`,
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
      .panels { display: grid; gap: 0.4em 1em; grid-template-columns: 1fr 1fr; }
      .panels rect { transition: y 0.15s, height 0.15s; }`),
    bar, h("div", { class: "panels" }, scorePanel.svg, weightPanel.svg), say,
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
