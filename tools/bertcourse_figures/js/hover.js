// Points whose texts are read by pointing at them, touching them, or with the arrow keys.
// data: {texts, groups, narrow: the drawing for a phone as a data URI, start: point or null}.
// The points are the picture's own: elements with data-point, in the order of the texts.
function scene({ stage, bar, say, data, still, narrow, state }) {
  stage.innerHTML = narrow ? decode(data.narrow) : still;
  const picture = stage.querySelector("svg");
  const points = [...picture.querySelectorAll("[data-point]")];
  const ring = h("circle", { r: 10, fill: "none", stroke: "var(--ink)", "stroke-width": 2, visibility: "hidden" });
  picture.append(ring);
  const place = (i) => points[i].dataset.at.split(" ").map(Number);

  const show = (i) => {
    state.now = i;
    const [x, y] = place(i);
    ring.setAttribute("cx", x);
    ring.setAttribute("cy", y);
    ring.setAttribute("visibility", "visible");
    say.replaceChildren(h("b", {}, `${data.groups[i]}: `), data.texts[i]);
  };
  // The nearest point: a finger is thicker than a dot.
  const near = (event) => {
    const box = picture.getBoundingClientRect(), scale = picture.viewBox.baseVal.width / box.width;
    const x = (event.clientX - box.left) * scale, y = (event.clientY - box.top) * scale;
    const away = points.map((_, i) => Math.hypot(place(i)[0] - x, place(i)[1] - y));
    const nearest = away.indexOf(Math.min(...away));
    if (away[nearest] < 16) show(nearest);
  };
  picture.addEventListener("pointermove", near);
  picture.addEventListener("pointerdown", near);
  const go = (by) => show(((state.now ?? (by > 0 ? -1 : 0)) + by + points.length) % points.length);
  bar.append(
    h("button", { "aria-label": "previous point", onclick: () => go(-1) }, "‹"),
    h("button", { "aria-label": "next point", onclick: () => go(1) }, "›"),
    say,
  );
  onKeys(stage, { ArrowRight: () => go(1), ArrowLeft: () => go(-1) });
  const advice = "Point at a dot to read what it stands for, or step with › and the arrow keys.";
  say.append(h("span", { class: "soft" }, advice));
  stage.append(bar);
  state.now ??= data.start;
  if (state.now != null) show(state.now);
}
