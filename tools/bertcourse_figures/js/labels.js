// Lecture 7: how many examples are labelled, on which set, and what each way to use them is worth.
// data: {sets: [name], methods: [name], sizes: {set: [labels per class]}, scores: {set: [method][size][seed]},
//        chance, start: labels per class, seen: [the pretrained method's number, that of the one from scratch]}.
function scene({ stage, bar, say, data, narrow, state }) {
  const { sets, methods, chance, seen } = data;
  state.set ??= sets[0];
  state.size ??= data.start;
  const [full, tall, left, top, bottom] = narrow ? [360, 250, 34, 12, 206] : [740, 290, 46, 12, 246];
  const right = full - (narrow ? 12 : 20), y = (percent) => bottom - ((percent - 20) / 80) * (bottom - top);
  const mean = (found) => found.reduce((sum, each) => sum + each, 0) / found.length;
  const percent = (value) => `${value.toFixed(0)} %`;
  const svg = h("svg", { viewBox: `0 0 ${full} ${tall}`, role: "img", "aria-label": "test accuracy by labels" });
  const buttons = sets.map((name) => h("button", { onclick: () => { state.set = name; rebuild(); } }, name));
  const control = h("span");
  const rows = methods.map((name, i) => {
    const swatch = h("svg", { viewBox: "0 0 22 10", width: 22, height: 10, "aria-hidden": true },
      h("path", { d: "M1 5H21", stroke: `var(--group${i})`, "stroke-width": 3,
        "stroke-dasharray": ["", "7 4", "2 3", "9 3 2 3"][i % 4] }));
    const cells = [h("td", {}, swatch, " ", name), h("td", { class: "mean" }), h("td", { class: "seeds soft" })];
    return { node: h("tr", {}, cells), cells };
  });

  const rebuild = () => { // another set may have other numbers of labels
    const sizes = data.sizes[state.set];
    if (!sizes.includes(state.size)) {
      const near = (size) => Math.abs(size - state.size);
      state.size = sizes.reduce((best, size) => (near(size) < near(best) ? size : best));
    }
    control.replaceChildren(slider("labelled examples per class", { min: 0, max: sizes.length - 1,
      value: sizes.indexOf(state.size), name: (place) => `${sizes[place]} per class`,
      change: (place) => { state.size = sizes[place]; draw(); } }));
    draw();
  };
  const draw = () => {
    const sizes = data.sizes[state.set], scores = data.scores[state.set], place = sizes.indexOf(state.size);
    const x = (i) => left + 24 + (i / (sizes.length - 1)) * (right - left - 48);
    const small = { "font-size": narrow ? 12 : 13, fill: "var(--soft)" };
    const grid = [20, 40, 60, 80, 100].flatMap((value) => [
      h("path", { d: `M${left} ${y(value)}H${right}`, stroke: "var(--line)" }),
      h("text", { ...small, x: left - 6, y: y(value) + 4, "text-anchor": "end" }, `${value}`)]);
    grid.push(h("path", { d: `M${left} ${y(chance)}H${right}`, stroke: "var(--ink)", "stroke-dasharray": "2 4" }),
      h("text", { ...small, x: right, y: y(chance) + 15, "text-anchor": "end" }, "chance"));
    const axis = sizes.map((size, i) => h("text", { ...small, x: x(i), y: bottom + 18, "text-anchor": "middle",
      "font-weight": i === place ? 650 : 400, fill: i === place ? "var(--ink)" : "var(--soft)" }, `${size}`));
    axis.push(h("text", { ...small, x: (left + right) / 2, y: bottom + 36, "text-anchor": "middle" },
      "labelled examples per class"));
    const line = h("path", { d: `M${x(place)} ${top}V${bottom}`, stroke: "var(--soft)", "stroke-width": 1.2 });
    const curves = scores.map((all, i) => {
      const known = all.map((found, at) => [at, found]).filter(([, found]) => found.length);
      const path = known.map(([at, found]) => `${x(at).toFixed(1)} ${y(mean(found)).toFixed(1)}`).join("L");
      const dots = (all[place] ?? []).map((value) => h("circle", { class: "seed", cx: x(place).toFixed(1),
        cy: y(value).toFixed(1), r: 4.5, fill: `var(--group${i})`, "fill-opacity": 0.75 }));
      return [h("path", { d: `M${path}`, fill: "none", stroke: `var(--group${i})`, "stroke-width": 2.6,
        "stroke-dasharray": ["", "7 4", "2 3", "9 3 2 3"][i % 4] }), dots];
    });
    svg.replaceChildren(...grid, ...axis, line, ...curves.flat(2));
    rows.forEach(({ cells }, i) => {
      const found = scores[i][place];
      cells[1].textContent = found.length ? percent(mean(found)) : "not measured";
      cells[2].textContent = found.length > 1 ? `${percent(Math.min(...found))} to ${percent(Math.max(...found))}` : "";
    });
    buttons.forEach((button, i) => button.setAttribute("aria-pressed", sets[i] === state.set));
    const [read, fresh] = seen.map((i) => scores[i][place]), per = `With ${state.size} labels per class, `;
    if (!fresh.length || !read.length) {
      return say.replaceChildren(`${per}training from scratch was not tried.`);
    }
    const level = scores[seen[1]].findIndex((found) => found.length && mean(found) >= mean(read));
    say.replaceChildren(per, "the pretrained network is ", h("b", { class: "gap" },
      `${fixed(mean(read) - mean(fresh), 0)} points`), " ahead of the same network from scratch. ",
      level < 0 ? "No number of labels that was tried brings the latter as far."
        : `The latter gets as far with ${sizes[level]}.`);
  };
  bar.append(...buttons, control);
  stage.append(
    h("style", {}, `
      table { border-collapse: collapse; margin: 0.3em 0; font-size: 0.95em; }
      td { padding: 0.08em 1.4em 0.08em 0; } td svg { display: inline; vertical-align: middle; }`),
    bar, svg, h("table", {}, rows.map(({ node }) => node)), say,
  );
  rebuild();
}
