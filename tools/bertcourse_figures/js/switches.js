// Lecture 2: parts of a model are switched on and off, and what becomes of a signal is drawn layer by layer.
// data: {switches: [[name, [setting]]], measures: [name], start: [setting's number],
//        lines: {"0.1.0": [measure][run][layer]}, least: power}, all lines as powers of ten, none below the least.
function scene({ stage, bar, say, data, narrow, state }) {
  const { switches, measures, lines } = data;
  state.chosen ??= [...data.start];
  const panels = measures.map((name, number) => panelOf(name, Object.values(lines).map((all) => all[number])));
  const groups = switches.map(([name, settings], which) => {
    const choose = (setting) => () => {
      state.chosen[which] = setting;
      update();
    };
    const buttons = settings.map((text, i) =>
      h("button", { "aria-label": `${name} ${text}`, onclick: choose(i) }, text));
    const node = h("span", { class: "switch", role: "group", "aria-label": name },
      h("span", { class: "soft" }, name), buttons);
    return { node, buttons };
  });
  const update = () => {
    const all = lines[state.chosen.join(".")];
    groups.forEach(({ buttons }, which) => buttons.forEach((button, i) =>
      button.setAttribute("aria-pressed", i === state.chosen[which])));
    panels.forEach((panel, number) => panel.update(all[number]));
    const set = switches.map(([name, settings], which) => `${name} ${settings[state.chosen[which]]}`).join(", ");
    const ends = measures.map((name, number) => {
      const middle = (layer) => {
        const power = median(all[number].map((run) => run.at(layer)));
        return power < 5 ? threeDigits(10 ** power) : (10 ** power).toExponential(2).replace("+", "");
      };
      return h("div", { class: "ends" }, `${name}: bottom ${middle(0)}, top ${middle(-1)}`);
    });
    say.replaceChildren(h("b", {}, `${set[0].toUpperCase()}${set.slice(1)}.`), ...ends);
  };
  bar.append(...groups.map(({ node }) => node));
  const line = (color) => h("svg", { viewBox: "0 0 26 8", width: 26, height: 8, "aria-hidden": true },
    h("path", { d: "M1 4H25", stroke: `var(--${color})`, "stroke-width": 2.4 }));
  const runs = Object.values(lines)[0][0].length;
  const legend = h("div", { class: "legend soft" },
    h("span", {}, line("hot"), `this setting, ${runs} seeds (medians in the text below)`),
    h("span", {}, line("line"), "other settings"),
    h("span", {}, `values below 1e−${-data.least} are drawn at 1e−${-data.least}`));
  stage.append(
    h("style", {}, `
      .switch { display: inline-flex; gap: 0.35em; align-items: center; margin-right: 0.6em; }
      .panels { display: grid; gap: 0.6em; grid-template-columns: repeat(${narrow ? 1 : measures.length}, 1fr); }
      .panels svg { width: 100%; max-width: 26em; margin: auto; }
      .ends { font-size: var(--small); }
      .legend { display: flex; flex-wrap: wrap; gap: 0.2em 1.4em; font-size: var(--small); margin: 0.3em 0; }
      .legend span { display: inline-flex; gap: 0.5em; align-items: center; }`),
    bar, h("div", { class: "panels" }, panels.map(({ svg }) => svg)), legend, say,
  );
  update();
}

/** The middle of some numbers. */
function median(values) {
  const sorted = [...values].sort((a, b) => a - b), half = (sorted.length - 1) / 2;
  return (sorted[Math.floor(half)] + sorted[Math.ceil(half)]) / 2;
}

/** A measurement over the layers, on an axis of powers of ten; the other stacks' lines stay faint. */
function panelOf(name, others) {
  const [left, right, top, bottom] = [44, 240, 30, 170];
  const values = others.flat(2), low = Math.floor(Math.min(...values)), high = Math.ceil(Math.max(...values));
  const last = others[0][0].length - 1, step = Math.max(1, Math.ceil((high - low) / 4));
  const x = (layer) => left + (layer / last) * (right - left);
  const y = (power) => bottom - ((power - low) / (high - low || 1)) * (bottom - top);
  const point = (power, layer) => `${x(layer).toFixed(1)} ${y(power).toFixed(1)}`;
  const path = (run, look) => h("path", { d: `M${run.map(point).join("L")}`, fill: "none", ...look });
  const small = { "font-size": 12.5, fill: "var(--soft)", "text-anchor": "middle" };
  const words = (text, place) => h("text", { ...small, ...place }, text);
  const grid = [];
  for (let power = Math.ceil(low / step) * step; power <= high; power += step) {
    grid.push(h("path", { d: `M${left} ${y(power)}H${right}`, stroke: "var(--line)" }));
    const raised = h("tspan", { dy: -5, "font-size": 10 }, `${power}`.replace("-", "−"));
    grid.push(h("text", { ...small, x: left - 5, y: y(power) + 5, "text-anchor": "end" }, "10", raised));
  }
  const faint = others.map((runs) => path(runs[0], { stroke: "var(--soft)", "stroke-opacity": 0.25 }));
  const chosen = h("g", { class: "chosen" });
  const svg = h("svg", { viewBox: "0 0 250 204", role: "img", "aria-label": name },
    words(name, { x: (left + right) / 2, y: 14, "font-weight": 650, fill: "var(--ink)" }), grid,
    [0, last / 2, last].map((layer) => words(`${layer}`, { x: x(layer), y: 185 })),
    words("blocks passed", { x: (left + right) / 2, y: 200 }), faint, chosen);
  const update = (runs) => chosen.replaceChildren(
    ...runs.map((run) => path(run, { stroke: "var(--hot)", "stroke-width": 2.2 })));
  return { svg, update };
}
