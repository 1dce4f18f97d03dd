// Lecture 3: texts as they are cut. The boxes are text of the page, broken into lines where a row is full.
// data: {named: letters of the longest name, groups: [[heading, [[name, [token]]]]]}.
function scene({ stage, bar, data, narrow }) {
  const row = ([name, tokens]) => h("div", { class: narrow ? "cut narrow" : "cut" },
    h("span", { class: "name" }, name),
    h("span", { class: "pieces" }, tokens.map((token) => h("span", { class: "piece" }, marked(token)))),
    h("span", { class: "number", title: "tokens" }, tokens.length));
  stage.append(
    h("style", {}, `
      .cut { display: grid; grid-template-columns: ${data.named}ch 1fr 2em; gap: 0.2em 1em; margin: 0.4em 0; }
      .cut.narrow { grid-template-columns: 1fr 2em; } .cut.narrow .name { grid-column: 1 / -1; }
      .name { padding-top: 0.15em; } .number { font-weight: 650; text-align: right; padding-top: 0.15em; }
      .pieces { display: flex; flex-wrap: wrap; gap: 4px 3px; min-width: 0; }
      .piece { font: 1.05em/1.5 ui-monospace, Menlo, Consolas, monospace; padding: 0 0.4em; border-radius: 5px;
        border: 1px solid var(--soft); background: var(--panel); overflow-wrap: anywhere; }
      .piece .mark { color: var(--soft); }
      .title { font-weight: 650; margin: 0.7em 0 0.1em; }`),
    ...data.groups.flatMap(([heading, rows]) => [
      heading ? h("div", { class: "title" }, heading) : "",
      ...rows.map(row),
    ]),
    bar,
  );
}

/** A token, the sign at its beginning paler. */
function marked(token) {
  const [, mark, rest] = token.match(/^(##|▁|Ġ|)(.*)$/su);
  return rest ? [h("span", { class: "mark" }, mark), rest] : token;
}
