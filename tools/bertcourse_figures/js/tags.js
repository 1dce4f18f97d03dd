// Lecture 8: the tags of a sentence, each of which can be changed: words that are right, and the F1 of entities.
// data: {words: [text], there: [tag], choices: [tag], attempts: [[name, [tag]]]}.
function scene({ stage, bar, say, data, state }) {
  const { words, there, choices, attempts } = data;
  state.found ??= [...attempts[0][1]];
  const kinds = [...new Set(choices.slice(1).map((tag) => tag.slice(2)))];
  const paint = (tag) => (tag === "O" ? "" : `--own: var(--group${kinds.indexOf(tag.slice(2)) % 7})`);

  const cells = words.map((word, i) => {
    const select = h("select", { "aria-label": `tag of ${word}`, onchange: () => {
      const [before, after] = [state.found[i], select.value];
      state.found[i] = after;
      update(`${word}: ${before} is now ${after}. `);
    } }, choices.map((tag) => h("option", { value: tag }, tag)));
    const node = h("span", { class: "word" }, h("b", {}, word),
      h("span", { class: "tag", style: paint(there[i]), title: "right" }, there[i]), select);
    return { node, select };
  });
  const buttons = attempts.map(([name, tags]) => ({ tags, button: h("button", {
    onclick: () => { state.found = [...tags]; update(); },
  }, name) }));
  bar.append(...buttons.map(({ button }) => button));
  const meters = ["words right", "F1 of entities"].map(meterOf);
  const lists = h("div", { class: "lists" });

  const key = ({ kind, start, end }) => `${kind} ${start} ${end}`;
  const chip = (entity, others) => h("span", { class: "chip", style: paint(`B-${entity.kind}`) },
    h("b", {}, entity.kind), ` ${words.slice(entity.start, entity.end).join(" ")} `,
    h("span", {}, others.has(key(entity)) ? "✓" : "✗"));
  const update = (done = "") => {
    const [gold, ours] = [readTags(there), readTags(state.found)];
    const [inGold, inOurs] = [gold, ours].map((entities) => new Set(entities.map(key)));
    const right = ours.filter((entity) => inGold.has(key(entity))).length;
    const same = there.filter((tag, i) => tag === state.found[i]).length;
    const f1 = (200 * right) / (gold.length + ours.length);
    cells.forEach(({ node, select }, i) => {
      select.value = state.found[i];
      select.style = paint(state.found[i]);
      node.classList.toggle("wrong", state.found[i] !== there[i]);
    });
    meters[0].update((100 * same) / words.length, `${same} of ${words.length}`);
    meters[1].update(f1, `${right} right, ${ours.length} found, ${gold.length} there`);
    lists.replaceChildren(...[["there", gold, inOurs], ["found", ours, inGold]].map(([name, entities, others]) =>
      h("div", {}, h("span", { class: "soft" }, `${name}: `),
        entities.length ? entities.map((entity) => chip(entity, others)) : "nothing")));
    say.replaceChildren(done, h("b", {}, `F1 = 2 · ${right} / (${ours.length} + ${gold.length}) = ${f1.toFixed(0)} %`),
      `, and ${((100 * same) / words.length).toFixed(0)} % of the words are right.`);
    buttons.forEach(({ tags, button }) => button.setAttribute("aria-pressed", String(tags) === String(state.found)));
  };
  stage.append(
    h("style", {}, `
      .words { display: flex; flex-wrap: wrap; gap: 0.7em 0.35em; margin: 0.5em 0; }
      .word { display: inline-flex; flex-direction: column; align-items: center; gap: 2px; }
      .tag, select { font: inherit; font-size: var(--small); border-radius: 5px; padding: 0 0.35em;
        background: color-mix(in oklab, var(--own, currentColor) 14%, transparent); }
      @media (pointer: coarse) { select { font-size: 16px; } }
      select { color: inherit; border: 1px solid var(--soft); cursor: pointer; padding: 0.1em 0; }
      option { color: #111; background: #fff; }
      .wrong select { border: 2px solid var(--hot); }
      .meter { display: grid; grid-template-columns: 10.5em 1fr 13em; gap: 0 0.7em; align-items: center; }
      .track { height: 1em; border-radius: 5px; background: var(--panel); border: 1px solid var(--line); }
      .track div { height: 100%; border-radius: 4px; background: var(--plus); transition: width 0.3s; }
      .meter:nth-of-type(2) .track div { background: var(--hot); }
      .meter span:last-child { font-size: var(--small); }
      @container (max-width: 520px) { .meter { grid-template-columns: 1fr auto; }
        .track { grid-column: 1 / -1; grid-row: 2; } }
      .lists { margin: 0.5em 0; } .lists div { margin: 0.25em 0; }
      .chip { display: inline-block; border-radius: 6px; padding: 0 0.45em; margin: 0 0.3em 0.2em 0;
        background: color-mix(in oklab, var(--own) 14%, transparent); }`),
    bar, h("div", { class: "words" }, cells.map(({ node }) => node)),
    h("div", {}, meters.map(({ node }) => node)), lists, say,
  );
  update();
}

/** The entities that BIO tags stand for; an I- that continues nothing begins one. */
function readTags(tags) {
  const entities = [];
  let before = "O";
  tags.forEach((tag, place) => {
    if (tag[0] === "I" && before.slice(2) === tag.slice(2) && before !== "O") entities.at(-1).end = place + 1;
    else if (tag !== "O") entities.push({ kind: tag.slice(2), start: place, end: place + 1 });
    before = tag;
  });
  return entities;
}

/** A share of a hundred as a bar, with what it is made of. */
function meterOf(name) {
  const fill = h("div"), told = h("span", { class: "soft" }), share = h("b", { class: "share" });
  const node = h("div", { class: "meter" }, h("span", {}, `${name} `, share), h("div", { class: "track" }, fill), told);
  const update = (percent, made) => {
    fill.style.width = `${percent}%`;
    share.textContent = `${percent.toFixed(0)} %`;
    told.textContent = made;
  };
  return { node, update };
}
