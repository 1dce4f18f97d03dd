// What a page of the course adds to the theme: a button that copies code, figures that a click or a key enlarges, and
// names for screen readers.

const made = (tag, attributes, ...children) => {
  const node = Object.assign(document.createElement(tag), attributes);
  node.append(...children);
  return node;
};

async function copy(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = made("textarea", { value: text }); // pages that come by plain http have no clipboard
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}

function addCopyButton(block) {
  const button = made("button", { className: "copy", type: "button", textContent: "Copy" });
  button.setAttribute("aria-label", "Copy this code");
  button.addEventListener("click", async () => {
    await copy(block.querySelector("pre").textContent.trimEnd());
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
  block.append(button);
}

function enlarge(image) {
  const dialog = made("dialog", { className: "enlarged" }, made("img", { src: image.src, alt: image.alt }));
  dialog.tabIndex = 0; // which takes the keys
  dialog.setAttribute("aria-label", "Enlarged figure; Escape closes it");
  dialog.addEventListener("click", () => dialog.close());
  dialog.addEventListener("keydown", (event) => {
    if (!["Escape", "Enter", " "].includes(event.key)) return;
    event.preventDefault();
    dialog.close();
  });
  dialog.addEventListener("close", () => dialog.remove()); // and the browser gives the focus back
  document.body.append(dialog);
  dialog.showModal();
}

function addZoom(image) {
  const button = made("button", { className: "zoom", type: "button", title: "Enlarge" });
  button.setAttribute("aria-label", `Enlarge: ${image.alt}`);
  button.addEventListener("click", () => enlarge(image));
  image.replaceWith(button);
  button.append(image);
}

/** What the theme and MyST-NB call otherwise than it reads, or not at all. */
function nameControls() {
  document.querySelectorAll('summary[aria-label="Toggle hidden content"], .search-button-field')
    .forEach((control) => control.removeAttribute("aria-label")); // then it is called what it reads
  for (const summary of document.querySelectorAll(".bd-sidebar-primary details > summary")) {
    const page = summary.closest("li").querySelector("a");
    summary.setAttribute("aria-label", `Pages under ${page.textContent.trim()}`);
  }
}

document.addEventListener("DOMContentLoaded", () => {
  const blocks = [...document.querySelectorAll("article div.highlight")];
  blocks.filter((block) => !block.closest(".cell_output")).forEach(addCopyButton);
  document.querySelectorAll("div.plot img").forEach(addZoom);
  nameControls();
});
