// Lecture 4: the masking rate: how many questions a text asks, and what is left to answer them from.
// data: {tokens: [text], order: [place, in the order in which they are hidden],
//        measured: [[rate in percent, lowest loss, highest loss]], start: rate}.
function scene({ stage, bar, say, data, state }) {
  const { tokens, order, measured } = data;
  state.rate ??= data.start;
  const parts = tokens.map((token) => h("span", { class: "token" }, token));
  const hiddenAt = (rate) => Math.min(tokens.length - 1, Math.max(1, Math.floor((rate * tokens.length) / 100 + 0.5)));
  const update = () => {
    const count = hiddenAt(state.rate), left = tokens.length - count;
    const hidden = new Set(order.slice(0, count));
    parts.forEach((part, i) => {
      const gone = part.classList.toggle("hidden", hidden.has(i));
      for (const [name, value] of [["role", "img"], ["aria-label", "hidden word"]]) {
        if (gone) part.setAttribute(name, value);
        else part.removeAttribute(name);
      }
    });
    const found = measured.find(([rate]) => rate === state.rate);
    buttons.forEach((button, i) => button.setAttribute("aria-pressed", measured[i][0] === state.rate));
    say.replaceChildren(
      h("b", { class: "count" }, `${count} question${count === 1 ? "" : "s"}`),
      `, ${left} word${left === 1 ? "" : "s"} left to answer them from: `, left >= count
        ? `${fixed(left / count, 1)} for each question.` : `one for every ${+(count / left).toFixed(1)} questions.`,
      found ? h("div", {},
        `Models trained at ${found[0]} %: loss ${fixed(found[1], 2)} to ${fixed(found[2], 2)} nats, `,
        "measured with 15 % hidden.") : "");
  };
  const control = slider("masking rate", {
    min: 1, max: 99, value: state.rate, name: (rate) => `${rate} %`, change: (rate) => { state.rate = rate; update(); },
  });
  const input = control.querySelector("input");
  const buttons = measured.map(([rate]) => h("button", {
    onclick: () => { input.value = rate; input.dispatchEvent(new Event("input")); },
  }, `${rate} %`));
  bar.append(control, h("span", { class: "soft" }, "measured:"), ...buttons);
  stage.append(
    h("style", {}, `
      .text { line-height: 2; margin: 0.4em 0; }
      .token { padding: 0.1em 0.2em; border-radius: 4px; }
      .token.hidden { color: transparent; background: color-mix(in oklab, var(--plus) 62%, transparent); }
      .say { min-height: 4.2em; }`),
    bar, h("div", { class: "text" }, parts.map((part) => [part, " "])), say,
  );
  update();
}
