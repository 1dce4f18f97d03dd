// Lecture 9: a margin above which the reader keeps silent: which questions are refused, and what is left of F1?
// data: {names: [group], values: [group][question], f1: [question of the first group], start: margin}.
function scene({ stage, bar, say, data, narrow, state }) {
  const { names, values, f1 } = data, all = values.flat();
  const low = Math.floor(Math.min(...all)) - 1, high = Math.ceil(Math.max(...all)) + 1;
  state.margin ??= data.start;
  const [full, left, row] = narrow ? [360, 8, 66] : [740, 176, 60];
  const x = (value) => left + ((value - low) / (high - low)) * (full - left - 8);
  const y = (group) => (narrow ? 46 : 32) + row * group;
  const dots = values.map((group, g) => group.map((value, i) => h("circle", { cx: x(value).toFixed(1),
    cy: (y(g) + 20 * (2 * ((i * 0.6180339887) % 1) - 1)).toFixed(1), r: narrow ? 2.6 : 3.2,
    fill: `var(--group${g})` })));
  const labels = names.map((name, g) => h("text", narrow
    ? { x: 8, y: y(g) - 27, "font-size": 13, fill: "var(--ink)" }
    : { x: left - 10, y: y(g) + 5, "font-size": 14, "text-anchor": "end", fill: "var(--ink)" }, name));
  const bottom = y(names.length - 1) + 28;
  const line = h("path", { stroke: "var(--ink)", "stroke-width": 1.8 });
  const axis = h("text", { x: (left + full) / 2, y: bottom + 20, "text-anchor": "middle", "font-size": 13,
    fill: "var(--soft)" }, "score of [CLS] minus score of the best span");
  const svg = h("svg", { viewBox: `0 0 ${full} ${bottom + 26}`, role: "img",
    "aria-label": "questions by the difference of scores" }, dots.flat(), labels, line, axis);
  const rows = names.map((name) => {
    const cells = [h("td", {}, name), h("td", { class: "refused" }), h("td", { class: "kept" })];
    return { node: h("tr", {}, cells), cells };
  });
  const whole = (100 * f1.reduce((sum, mark) => sum + mark, 0)) / f1.length;
  const update = () => {
    const { margin } = state;
    line.setAttribute("d", `M${x(margin).toFixed(1)} 4V${bottom}`);
    values.forEach((group, g) => {
      const refused = group.filter((value) => value > margin).length;
      group.forEach((value, i) => dots[g][i].setAttribute("fill-opacity", value > margin ? 0.9 : 0.35));
      rows[g].cells[1].textContent = `${refused} of ${group.length}: ${((100 * refused) / group.length).toFixed(0)} %`;
    });
    const left = (100 * f1.reduce((sum, mark, i) => sum + (values[0][i] > margin ? 0 : mark), 0)) / f1.length;
    rows[0].cells[2].textContent = `${left.toFixed(0)} %`;
    say.replaceChildren("Right of the line, [CLS] is ahead by more than ", h("b", {}, fixed(margin, 1)),
      `, and the reader keeps silent. Without silence, F1 of the first row is ${whole.toFixed(0)} %.`);
  };
  const set = (tenths) => { state.margin = tenths / 10; update(); };
  bar.append(h("span", {}, "margin"), slider("margin", { min: 10 * low, max: 10 * high,
    value: Math.round(10 * state.margin), name: (tenths) => fixed(tenths / 10, 1), change: set }));
  stage.append(
    h("style", {}, `
      table { border-collapse: collapse; margin: 0.3em 0; } td, th { padding: 0.1em 1.2em 0.1em 0; text-align: left; }
      th { font-weight: 650; } td { font-size: 0.95em; }`),
    bar, svg, h("table", {}, h("tr", {}, ["questions", "refused", "F1 left"].map((name) => h("th", {}, name))),
      rows.map(({ node }) => node)), say,
  );
  update();
}
