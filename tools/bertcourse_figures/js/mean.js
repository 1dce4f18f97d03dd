// Lecture 6: a cloud of words whose mean is dragged to the origin, or that loses its loudest dimensions: what two
// random words then have for a cosine. data: {counts: [dimensions left out], largest: [dimension], names: [group],
// group: [of each point], points: [count][point][2], means: [count][2], cosines: [count][share of the mean],
// start: [place of a share, of a count]}.
function scene({ stage, bar, say, data, narrow, state }) {
  const { counts, points, means, cosines } = data, last = cosines[0].length - 1;
  state.share ??= data.start?.[0] ?? 0;
  state.cut ??= data.start?.[1] ?? 0;
  const shift = (share) => {
    state.share = Math.min(last, Math.max(0, Math.round(share)));
    update();
  };
  const cloud = cloudOf(data, (share) => shift(share * last), (by) => shift(state.share + by));
  const chart = chartOf(cosines);

  const shareSlider = slider("share of the mean that is taken away", {
    min: 0, max: last, value: state.share, name: (share) => percent(share / last), change: shift,
  });
  const cutSlider = slider("largest dimensions left out", {
    min: 0, max: counts.length - 1, value: state.cut, name: (cut) => `${counts[cut]}`,
    change: (cut) => { state.cut = cut; update(); },
  });
  const [input, output] = [shareSlider.querySelector("input"), shareSlider.querySelector("output")];
  const update = () => {
    const { share, cut } = state, now = cosines[cut][share], raw = cosines[0][0];
    input.value = share;
    output.textContent = percent(share / last);
    input.setAttribute("aria-valuetext", percent(share / last));
    cloud.update(points[cut], means[cut], share / last);
    chart.update(cut, share);
    const gone = counts[cut] ? ` ${counts[cut] === 1 ? "Dimension" : "Dimensions"} ${data.largest
      .slice(0, Math.min(5, counts[cut])).join(", ")}${counts[cut] > 5 ? ", …" : ""} left out.` : "";
    const moved = share === last ? "The mean lies at the origin: "
      : share ? `${percent(share / last)} of the mean is gone: ` : "";
    say.replaceChildren(moved, `${moved ? "two" : "Two"} random words have a cosine of `,
      h("b", { class: "cosine" }, fixed(now, 2)),
      ` on average${share || cut ? ` (at first it was ${fixed(raw, 2)})` : ""}.${gone}`);
  };
  const named = (name, control) => h("span", { class: "control" }, h("span", { class: "soft" }, name), control);
  bar.append(named("taken away of the mean", shareSlider), named("largest dimensions left out", cutSlider));
  const legend = h("div", { class: "soft legend" }, data.names.map((name, g) =>
    h("span", {},
      h("svg", { viewBox: "0 0 12 12", width: 12, height: 12, "aria-hidden": true }, markOf(g, 6, 6)), ` ${name}`)),
    h("span", {}, "Drag the mean."));
  stage.append(
    h("style", {}, `
      .both { display: grid; gap: 0.6em 2em; align-items: center; grid-template-columns: 420fr 260fr; }
      .both.narrow { grid-template-columns: 1fr; }
      .control { display: inline-flex; flex-wrap: wrap; gap: 0 0.7em; align-items: center; }
      .control input { width: 130px; }
      .legend { display: flex; flex-wrap: wrap; gap: 0.2em 1.4em; } .legend svg { display: inline-block; width: 0.8em; }
      .handle { cursor: grab; touch-action: none; outline: none; } .handle:active { cursor: grabbing; }
      .handle:hover .ring { stroke-width: 4; } .handle:focus-visible .ring { stroke: var(--hot); stroke-width: 5; }`),
    bar, h("div", { class: narrow ? "both narrow" : "both" }, cloud.svg, chart.svg), legend, say,
  );
  update();
}

const percent = (share) => `${Math.round(100 * share)} %`;
const WIDTH = 420, HEIGHT = 300, EDGE = 14;

/** A point's mark; shape and colour say the same. */
function markOf(group, x, y) {
  const color = { fill: `var(--group${group})`, "fill-opacity": 0.6 };
  return group === 0
    ? h("circle", { cx: x, cy: y, r: 2.8, ...color })
    : h("rect", {
      x: x - 2.4, y: y - 2.4, width: 4.8, height: 4.8, transform: `rotate(${45 * (group - 1)} ${x} ${y})`, ...color,
    });
}

/** The cloud, the origin, and the mean, which can be dragged towards it. */
function cloudOf({ points, means, group }, drag, move) {
  const all = points.flatMap((cloud, k) => cloud.flatMap(([x, y]) => [[x, y], [x - means[k][0], y - means[k][1]]]));
  all.push([0, 0]);
  const [xs, ys] = [0, 1].map((side) => all.map((point) => point[side]));
  const [left, right, low, high] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  const scale = Math.min((WIDTH - 2 * EDGE) / (right - left), (HEIGHT - 2 * EDGE) / (high - low));
  const at = ([x, y]) => [EDGE + scale * (x - left), EDGE + scale * (high - y)];
  const [ox, oy] = at([0, 0]);
  const lines = h("path", { stroke: "var(--soft)", "stroke-width": 0.7, opacity: 0.22, fill: "none" });
  const marks = group.map((which) => h("g", { class: "word" }, markOf(which, 0, 0)));
  const origin = [
    h("path", { d: `M${ox - 8} ${oy}H${ox + 8}M${ox} ${oy - 8}V${oy + 8}`, stroke: "var(--ink)", "stroke-width": 2.2 }),
    h("text", { x: ox, y: oy + 24, "text-anchor": "middle", "font-size": 13, fill: "var(--soft)" }, "origin"),
  ];
  const arrow = h("path", { stroke: "var(--ink)", "stroke-width": 2.4, fill: "none" });
  const ring = h("circle", { class: "ring", r: 8, stroke: "var(--ink)", "stroke-width": 2.6, fill: "transparent" });
  const touch = h("circle", { r: 22, fill: "transparent" });
  const name = h("text", { y: -15, "text-anchor": "middle", "font-size": 13, "font-weight": 650, fill: "var(--ink)" },
    "mean");
  const handle = h("g",
    { class: "handle", tabindex: 0, role: "button", "aria-label": "the mean: drag it to the origin" },
    touch, ring, name);
  let mean = means[0];
  onKeys(handle, { ArrowLeft: () => move(1), ArrowRight: () => move(-1) });
  onDrag(handle, (to) => {
    const [x, y] = [(to.x - ox) / scale, (oy - to.y) / scale];
    drag(1 - (x * mean[0] + y * mean[1]) / (mean[0] ** 2 + mean[1] ** 2 || 1));
  });
  const svg = h("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "group", "aria-label": "the cloud of words" },
    lines, marks, origin, arrow, handle);
  const update = (cloud, whole, share) => {
    mean = whole;
    const moved = cloud.map(([x, y]) => at([x - share * whole[0], y - share * whole[1]]));
    marks.forEach((mark, i) =>
      mark.setAttribute("transform", `translate(${moved[i].map((v) => v.toFixed(1)).join(" ")})`));
    lines.setAttribute("d", moved.filter((_, i) => i % 3 === 0)
      .map(([x, y]) => `M${ox.toFixed(1)} ${oy.toFixed(1)}L${x.toFixed(1)} ${y.toFixed(1)}`).join(""));
    const [x, y] = at(whole.map((value) => (1 - share) * value));
    arrow.setAttribute("d", `M${ox} ${oy}L${x} ${y}`);
    handle.setAttribute("transform", `translate(${x.toFixed(1)} ${y.toFixed(1)})`);
  };
  return { svg, update };
}

/** The expected cosine against the share of the mean, one curve for each number of dimensions left out. */
function chartOf(cosines) {
  const [left, top, wide, tall] = [40, 22, 206, 200], last = cosines[0].length - 1;
  const most = Math.max(0.05, ...cosines.flat());
  const x = (share) => left + (wide * share) / last, y = (value) => top + tall * (1 - Math.max(0, value) / most);
  const path = (row) => `M${row.map((value, share) => `${x(share).toFixed(1)} ${y(value).toFixed(1)}`).join("L")}`;
  const faint = cosines.map((row) =>
    h("path", { d: path(row), stroke: "var(--line)", "stroke-width": 1.4, fill: "none" }));
  const curve = h("path", { stroke: "var(--hot)", "stroke-width": 2.4, fill: "none" });
  const dot = h("circle", { r: 5.5, fill: "var(--hot)" });
  const words = (text, at) => h("text", { "font-size": 12, fill: "var(--soft)", "text-anchor": "middle", ...at }, text);
  const svg = h("svg", { viewBox: "0 0 260 262", role: "img", "aria-label": "expected cosine" },
    words("expected cosine", { x: left, y: 13, "text-anchor": "start", fill: "var(--ink)", "font-weight": 650 }),
    h("path", { d: `M${left} ${top}V${top + tall}H${left + wide}`, stroke: "var(--soft)", fill: "none" }),
    words("0", { x: left - 8, y: top + tall + 4, "text-anchor": "end" }),
    words(fixed(most, 2), { x: left - 6, y: top + 5, "text-anchor": "end" }),
    words("0 %", { x: left, y: top + tall + 16 }), words("100 %", { x: left + wide, y: top + tall + 16 }),
    words("of the mean taken away", { x: left + wide / 2, y: top + tall + 34 }), faint, curve, dot);
  const update = (cut, share) => {
    curve.setAttribute("d", path(cosines[cut]));
    dot.setAttribute("cx", x(share).toFixed(1));
    dot.setAttribute("cy", y(cosines[cut][share]).toFixed(1));
  };
  return { svg, update };
}
