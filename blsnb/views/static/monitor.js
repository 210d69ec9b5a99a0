// src/page/format.ts
var TIME_UNITS = [
  ["µs", 1],
  ["ms", 1e3],
  ["s", 1e6]
];
var BYTE_UNITS = [
  ["B", 1],
  ["KiB", 1024],
  ["MiB", 1 << 20],
  ["GiB", 1 << 30]
];
function time(us) {
  if (!Number.isFinite(us)) return "–";
  const size = Math.abs(us);
  if (size > 0 && size < 0.9995) return `${Math.round(us * 1e3)} ns`;
  const [unit, scale] = TIME_UNITS.find(([, each]) => size < 999.5 * each) ?? TIME_UNITS[2];
  return `${threeDigits(us / scale)} ${unit}`;
}
var separated = new Intl.NumberFormat("en");
function count(number) {
  return separated.format(number);
}
var UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e0fff}]/gu;
function visible(text) {
  return text.replace(UNSEEN, mark);
}
function mark(character) {
  const code = character.codePointAt(0) ?? 0;
  if (code < 32) return String.fromCharCode(9216 + code);
  return `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
}
function threeDigits(number) {
  const size = Math.abs(number);
  if (Number.isInteger(number)) return String(number);
  return number.toFixed(size < 9.995 ? 2 : size < 99.95 ? 1 : 0);
}

// src/page/dom.ts
var SVG = "http://www.w3.org/2000/svg";
var ALLOWED = /^(aria-[a-z]+|class|d|data-[a-z-]+|disabled|fill|for|height|id|max|min|marker-end|markerHeight|markerWidth|orient|placeholder|preserveAspectRatio|refX|refY|role|rx|scope|step|tabindex|text-anchor|title|transform|type|value|viewBox|width|x|y)$/;
function h(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}
function svg(tag, attributes = {}, ...children) {
  return filled(
    document.createElementNS(SVG, tag),
    attributes,
    children
  );
}
function setText(element, text) {
  const shown = visible(text);
  if (element.textContent !== shown) element.textContent = shown;
}
function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) set(element, name, value);
  append(element, children);
  return element;
}
function set(element, name, value) {
  if (value === null || value === void 0 || value === false) return;
  if (typeof value === "function") element.addEventListener(name.slice(2), value);
  else if (typeof value === "object") {
    for (const [property, each] of Object.entries(value))
      element.style.setProperty(property, String(each));
  } else if (ALLOWED.test(name))
    element.setAttribute(name, visible(value === true ? "" : String(value)));
  else throw new Error(`attribute ${name} is not one that the view sets`);
}
function append(parent, children) {
  for (const child of children) {
    if (typeof child === "string") parent.append(visible(child));
    else if (child instanceof Node) parent.append(child);
    else if (child) append(parent, child);
  }
}

// src/live/moving.ts
var Moving = class {
  #element;
  #root;
  #focused = null;
  #dragged = null;
  #scrolled = /* @__PURE__ */ new Map();
  constructor(element, root) {
    this.#element = element;
    this.#root = root;
    const listen = (name, listener) => root.addEventListener(
      name,
      (event) => element.isConnected && listener(event.target),
      { capture: true }
    );
    listen("focusin", (target) => this.#focused = target);
    listen("focusout", () => setTimeout(() => this.#look()));
    listen(
      "scroll",
      (target) => this.#scrolled.set(target, [target.scrollTop, target.scrollLeft])
    );
    root.addEventListener("gotpointercapture", (event) => {
      const { target, pointerId } = event;
      this.#dragged = { element: target, pointer: pointerId };
    });
    for (const end of ["pointerup", "pointercancel"])
      root.addEventListener(end, () => this.#dragged = null, { capture: true });
  }
  #look() {
    if (this.#element.isConnected) this.#focused = this.#root.activeElement;
  }
  #dragOn() {
    if (!this.#dragged?.element.isConnected) return;
    try {
      this.#dragged.element.setPointerCapture(this.#dragged.pointer);
    } catch {
      this.#dragged = null;
    }
  }
  /** Replace the content of another element by this one. */
  into(host) {
    const [focused, scrolled] = [this.#focused, [...this.#scrolled]];
    this.#scrolled.clear();
    host.replaceChildren(this.#element);
    for (const [element, [top, left]] of scrolled)
      if (element.isConnected) {
        element.scrollTo(left, top);
        this.#scrolled.set(element, [top, left]);
      }
    focused?.focus({ preventScroll: true });
    this.#dragOn();
  }
};

// src/dashboard/overview.ts
function clicked(order, key) {
  if (order.key === key) return { key, down: !order.down };
  return { key, down: key !== "name" && key !== "state" };
}
function ordered(rows, { key, down }) {
  const sign = down ? -1 : 1;
  return [...rows].sort((a, b) => {
    const [left, right] = [a[key], b[key]];
    if (left === null || right === null) return Number(left === null) - Number(right === null);
    const by = left < right ? -1 : left > right ? 1 : 0;
    return by * sign || (a.name < b.name ? -1 : a.name > b.name ? 1 : a.version - b.version);
  });
}
function rate(perSecond) {
  if (perSecond === null) return "–";
  if (perSecond >= 99.95) return count(Math.round(perSecond));
  return String(Number(perSecond.toPrecision(3)));
}
function line(values, places, width, height) {
  if (values.length < 2) return "";
  const most = Math.max(...values, 1e-9);
  const left = places - values.length;
  const points = values.map((value, at) => {
    const x = (left + at) / (places - 1) * width;
    return `${x.toFixed(1)} ${(height - value / most * height).toFixed(1)}`;
  });
  return `M${points.join("L")}`;
}

// src/page/press.ts
var ONCE = ["Enter", "Escape", "/", "?", "c"];
function holdOnce(element) {
  let isTyped = false;
  const stop = (event) => {
    if (!event.repeat) isTyped = event.key.length === 1 && event.target.matches("input");
    else if (ONCE.includes(event.key) && !isTyped) {
      event.preventDefault();
      event.stopPropagation();
    }
  };
  element.addEventListener("keydown", stop, true);
}

// src/page/style.css
var style_default = '/* Colours: phases and error keep 3:1 to the background and differ for every kind of colour vision. */\n.view {\n  --bg: #ffffff; --bg2: #f6f7f9; --card: #ffffff;\n  --fg: #1c2128; --fg2: #57606a; --fg3: #818b98;\n  --line: #d8dee4; --line2: #eceff2; --shade: #0f172a14; --over: #0f172a0a; --error-bg: #fdf0ee;\n  --accent: #1f6feb; --queue: #c27c00; --input: #4a9bd3; --infer: #1b4f93; --output: #12866a;\n  --error: #b42318; --running: #7a5cc9;\n  color-scheme: light;\n}\n.view[data-theme="dark"] {\n  --bg: #111317; --bg2: #181b20; --card: #1d2127;\n  --fg: #e6e9ed; --fg2: #a3adb8; --fg3: #77818d;\n  --line: #31373f; --line2: #23282e; --shade: #ffffff1a; --over: #ffffff0d; --error-bg: #331a1d;\n  --accent: #6cb0ff; --queue: #f7c948; --input: #a5dbfa; --infer: #4593e0; --output: #3ccf9b;\n  --error: #f2545b; --running: #b79cf5;\n  color-scheme: dark;\n}\n\n:host { all: initial; display: block; padding-top: 4px; }\n.view {\n  --code: var(--jp-code-font-family, ui-monospace, "SF Mono", Menlo, "DejaVu Sans Mono", monospace);\n  position: relative; overflow: hidden; container-type: inline-size;\n  border: 1px solid var(--line); border-radius: 8px;\n  background: var(--bg); color: var(--fg); text-align: left;\n  font: 12px/1.4 var(--jp-ui-font-family, system-ui, -apple-system, "Segoe UI", sans-serif);\n  font-variant-numeric: tabular-nums;\n}\n.view *, .view *::before { box-sizing: border-box; }\n.code { font-family: var(--code); font-size: 11px; }\n.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }\n:focus-visible { outline: 2px solid var(--accent); outline-offset: -2px; }\nh3 { margin: 0; font-size: 14px; font-weight: 600; line-height: 1.3; overflow-wrap: anywhere; }\nh4 { display: flex; justify-content: space-between; gap: 8px; margin: 14px 0 5px; color: var(--fg2); font-size: 11px; font-weight: 600; line-height: 1.3; }\nh4 > span { text-align: right; }\np { margin: 0; }\n\nbutton {\n  min-width: 24px; min-height: 24px; padding: 2px 6px;\n  border: 1px solid var(--line); border-radius: 5px; background: none;\n  color: var(--fg2); font: inherit; font-size: 11px; cursor: pointer;\n}\nbutton:hover { background: var(--over); color: var(--fg); }\nbutton[aria-pressed="true"] { background: var(--shade); color: var(--fg); }\nbutton.quiet { border-color: transparent; }\n\n.back-queue { background: var(--queue); }\n.back-input { background: var(--input); }\n.back-infer { background: var(--infer); }\n.back-child { background: color-mix(in srgb, var(--infer) 28%, transparent); }\n.back-output { background: var(--output); }\n.back-fg3, .back-between { background: var(--fg3); }\n.fill-queue { fill: var(--queue); }\n.fill-input { fill: var(--input); }\n.fill-infer { fill: var(--infer); }\n.fill-between { fill: var(--fg3); }\n.fill-output { fill: var(--output); }\n.swatch { display: inline-block; flex: none; width: 12px; height: 9px; border-radius: 2px; }\n.swatch.queue { height: 4px; vertical-align: 2px; }\n.swatch.pre, .swatch.post { height: 1px; vertical-align: 4px; }\n\n/* the line above the panes */\n.toolbar { display: flex; align-items: center; gap: 4px 10px; min-height: 37px; padding: 5px 10px; border-bottom: 1px solid var(--line); }\n.state { flex: none; width: 8px; height: 8px; border-radius: 50%; background: var(--output); }\n.state.error { background: var(--error); }\n.state.running { background: var(--running); }\n.state.cancelled { background: var(--fg3); }\n.toolbar > * { flex: none; }\n.toolbar > .title { flex: 0 1 auto; min-width: 4ch; max-width: 36ch; overflow: hidden; font-weight: 600; text-overflow: ellipsis; white-space: nowrap; }\n.figures { display: flex; gap: 12px; color: var(--fg2); white-space: nowrap; }\n.figures b { color: var(--fg); font-weight: 600; }\n.figures .failed, .figures .failed b { color: var(--error); }\n.figures .simulated { padding: 0 7px; border: 1px dashed var(--running); border-radius: 9px; color: var(--fg); font-weight: 600; }\n.figures .running { color: var(--running); }\n.toolbar > .space { flex: 1; }\n.legend { display: flex; gap: 10px; color: var(--fg2); font-size: 11px; white-space: nowrap; }\n.legend span { display: inline-flex; align-items: center; gap: 4px; }\n.legend .swatch { vertical-align: 0; }\n.toolbar > .filter { flex: 0 1 150px; width: 150px; min-width: 90px; min-height: 24px; padding: 2px 7px; border: 1px solid var(--line); border-radius: 5px; background: var(--bg2); color: var(--fg); font: inherit; }\n.filter::placeholder { color: var(--fg2); opacity: 1; }\n\n.notices:not(:empty) { padding: 4px 10px; border-bottom: 1px solid var(--line); background: var(--bg2); color: var(--fg2); font-size: 11px; }\n.notices b { color: var(--fg); font-weight: 600; }\n\n/* the panes */\n.panes { position: relative; display: grid; grid-template: var(--graph, 200px) minmax(0, 1fr) / minmax(0, 1fr) max(220px, min(var(--side, 322px), 100cqw - 360px)); height: var(--height, 500px); }\n.callgraph { grid-area: 1 / 1; position: relative; min-height: 0; overflow: hidden; border-bottom: 1px solid var(--line); background: var(--bg2); }\n.timeline { grid-area: 2 / 1; display: flex; flex-direction: column; min-height: 0; min-width: 0; }\n.inspector { grid-area: 1 / 2 / 3 / 3; min-width: 0; padding: 10px 12px 16px; overflow: auto; border-left: 1px solid var(--line); }\n.splitter { position: relative; z-index: 2; touch-action: none; }\n.splitter.x { grid-area: 1 / 2 / 3 / 3; justify-self: start; width: 7px; margin-left: -3px; cursor: col-resize; }\n.splitter.y { grid-area: 2 / 1; align-self: start; height: 7px; margin-top: -4px; cursor: row-resize; }\n.splitter:hover, .splitter:focus-visible { background: var(--shade); }\n\n/* call graph */\n.callgraph > svg { display: block; width: 100%; height: 100%; cursor: grab; user-select: none; }\n.callgraph > svg:active { cursor: grabbing; }\n.box { cursor: pointer; outline: none; }\n.box .frame { fill: var(--card); stroke: var(--line); }\n.box:hover .frame { stroke: var(--fg3); }\n.box.failing .frame { stroke: var(--error); }\n.box.span .frame { stroke-dasharray: 4 3; }\n.box.selected .frame { stroke: var(--accent); stroke-width: 2.5; }\n.box:focus-visible .frame { stroke: var(--accent); stroke-width: 3; }\n.box .track { fill: var(--line2); }\n.box .name { fill: var(--fg); font-size: 12px; font-weight: 600; }\n.box .second { fill: var(--fg2); font-size: 10.5px; }\n.box .failed { fill: var(--error); font-weight: 600; }\n/* What is left aside is paler, except for its texts. */\n.box.dim .frame { stroke-opacity: .4; }\n.box.dim .name { fill: var(--fg2); font-weight: 400; }\n.box.dim .second { font-weight: 400; }\n.box.dim .track, .box.dim .track + g { opacity: .3; }\n.far .box .second, .far .edge text, .far .edge rect { display: none; }\n.far .box .name { font-size: max(12px, min(var(--grown, 14px), 26px, 11px / var(--scale, 1))); dominant-baseline: central; translate: 0 3px; }\n.edge path { fill: none; stroke: var(--fg3); stroke-width: 1.25; opacity: .75; marker-end: var(--arrow); }\n.edge.async path { stroke-dasharray: 5 3; }\n.edge.stream path { stroke-width: 2; stroke-dasharray: 1.5 3; stroke-linecap: round; }\n.edge.dim path { opacity: .25; }\n.edge.failing path { stroke: var(--error); }\n.edge.path path { stroke: var(--fg); opacity: 1; }\n.edge.path.failing path { stroke: var(--error); stroke-width: 2; }\n.edge .label { fill: var(--bg2); }\n.edge text { fill: var(--fg2); font-size: 10.5px; }\n.edge.failing text { fill: var(--error); }\n.edges { position: absolute; bottom: 6px; left: 10px; display: flex; flex-wrap: wrap; gap: 0 12px; max-width: calc(100% - 112px); padding: 0 4px; background: var(--bg2); color: var(--fg2); font-size: 10.5px; }\n.edges i { display: inline-block; width: 20px; margin-right: 4px; border-top: 1.5px solid var(--fg2); vertical-align: middle; }\n.edges .async { border-top-style: dashed; }\n.edges .stream { border-top: 2px dotted var(--fg2); }\n.edges .legend { display: none; }\n.edges .legend i { width: 12px; margin: 0; border: 0; }\n.zoom { position: absolute; right: 6px; bottom: 6px; display: flex; gap: 2px; border-radius: 6px; background: var(--bg2); }\n\n/* timeline */\n.strip, .axis { display: block; flex: none; border-bottom: 1px solid var(--line2); }\n.strip { height: 26px; cursor: crosshair; touch-action: none; }\n.axis { height: 20px; }\n.tree { position: relative; flex: 1; min-height: 0; overflow: hidden auto; outline-offset: -2px; }\n.bars { position: sticky; top: 0; left: 0; display: block; pointer-events: none; }\n.rows { position: absolute; inset: 0 0 auto; }\n.row { position: absolute; right: 0; left: 0; display: flex; height: 22px; white-space: nowrap; cursor: default; }\n.row:hover { background: var(--over); }\n.row.mate { box-shadow: inset 2px 0 var(--fg3); }\n.row.selected { background: var(--shade); box-shadow: inset 2px 0 var(--accent); }\n.tree:focus-visible .row.cursor { outline: 1px solid var(--accent); outline-offset: -1px; }\n.row.dim .names { color: var(--fg2); }\n.names { display: flex; flex: none; align-items: center; width: var(--names, 220px); padding: 0 6px 0 2px; overflow: hidden; }\n.guide { flex: none; align-self: stretch; width: 12px; border-right: 1px solid var(--line2); }\n.triangle { display: grid; flex: none; place-items: center; width: 16px; height: 22px; color: var(--fg2); }\n.triangle svg { width: 8px; height: 8px; }\n.row[aria-expanded="true"] .triangle svg { rotate: 90deg; }\n.names .name { flex: 0 99999 auto; min-width: 1.5em; overflow: hidden; text-overflow: ellipsis; }\n.names .calls, .names .span { font-style: italic; }\n.names .calls { color: var(--fg2); }\n.count { flex: none; margin-left: 5px; color: var(--fg2); font-size: 11px; }\n.badge { flex: none; margin-left: 5px; padding: 0 3px; border: 1px solid var(--line); border-radius: 3px; color: var(--fg2); font-size: 10px; line-height: 14px; }\n.names .badge { background: var(--bg); flex: 0 1 auto; min-width: 32px; overflow: hidden; text-align: center; text-overflow: ellipsis; }\n.badge.compared { border-color: var(--infer); color: var(--infer); }\n.name.missing { color: var(--fg2); font-style: italic; }\n.badge.error { border-color: var(--error); color: var(--error); }\n\n/* inspector */\n.breadcrumb, .hint { margin-bottom: 2px; color: var(--fg2); font-size: 11px; overflow-wrap: anywhere; }\n.crumb { min-width: 0; text-align: left; min-height: 22px; padding: 0; border: 0; border-radius: 3px; }\n.crumb:hover { background: none; text-decoration: underline; }\n.chips { display: flex; flex-wrap: wrap; gap: 4px; margin-top: 5px; }\n.chip { max-width: 100%; padding: 0 7px; overflow-wrap: anywhere; border: 1px solid var(--line); border-radius: 10px; color: var(--fg2); font-size: 10.5px; line-height: 17px; }\n.chip.error { border-color: var(--error); color: var(--error); }\n.chip.running { border-color: var(--running); color: var(--running); }\n.debug { display: flex; flex-wrap: wrap; gap: 4px 8px; align-items: center; }\n.debug > button { margin-top: 6px; }\n.debug > .hint { min-width: 0; margin: 6px 0 0; }\n.debug > [aria-disabled="true"] { border-style: dashed; cursor: default; }\n.stack { display: flex; gap: 1px; height: 10px; margin: 9px 0 6px; overflow: hidden; border-radius: 3px; background: var(--line2); }\n.stack i { min-width: 1px; }\n.phases { width: 100%; border-collapse: collapse; font-size: 11.5px; }\n.phases th, .phases td { padding: 1px 0; border: 0; font-weight: 400; text-align: left; }\n.phases .swatch { margin-right: 6px; }\n.phases td { padding-left: 8px; color: var(--fg2); text-align: right; }\n.phases td:nth-child(2) { color: var(--fg); }\n.said { width: 100%; border-collapse: collapse; font-size: 11px; }\n.said th, .said td { padding: 1px 0; border: 0; font-weight: 400; text-align: left; vertical-align: top; }\n.said th { padding-right: 10px; color: var(--fg2); overflow-wrap: anywhere; }\n.said td { width: 60%; overflow-wrap: anywhere; white-space: pre-wrap; }\n.said td div { color: var(--fg2); }\n.phases .absent { color: var(--fg2); font-style: italic; }\n.split { display: flex; flex-wrap: wrap; gap: 0 14px; }\n.split .swatch { margin-right: 3px; }\n.flame { max-height: 240px; overflow: hidden auto; border-radius: 4px; background: var(--bg2); }\n.flames { position: relative; min-width: 0; }\n.flamebox { position: absolute; height: 17px; padding: 0 3px; overflow: hidden; border-right: 1px solid var(--bg); font-size: 10.5px; line-height: 17px; text-overflow: ellipsis; white-space: nowrap; cursor: pointer; }\n.flamebox b { font-weight: 600; }\n.flamebox.all { background: var(--line2); color: var(--fg); }\n.flamebox.own { background: var(--infer); color: var(--bg); }\n.flamebox.library { background: color-mix(in srgb, var(--infer) 40%, var(--bg)); color: var(--fg); }\n.flamebox.child { background: color-mix(in srgb, var(--infer) 18%, var(--bg)); color: var(--fg); font-style: italic; }\n.flamebox:hover { filter: brightness(1.12); }\n.flamebox:focus-visible { z-index: 1; outline: 2px solid var(--accent); outline-offset: -2px; box-shadow: inset 0 0 0 3px var(--bg); }\n.timed { --heat: color-mix(in srgb, var(--queue) 38%, var(--bg)); max-height: 300px; overflow: auto; border: 1px solid var(--line2); border-radius: 4px; }\n.timed table { border-collapse: collapse; font-size: 10.5px; line-height: 17px; }\n.timed th, .timed td { padding: 0 5px; border: 0; color: var(--fg); font-weight: 400; text-align: right; white-space: pre; }\n.timed thead th { position: sticky; top: 0; background: var(--bg2); }\n.timed th, .timed .idle td { color: var(--fg2); }\n.timed .text { text-align: left; }\n.timed thead th:last-child { text-align: left; }\n.hotlines { width: 100%; border-collapse: collapse; font-size: 11px; table-layout: fixed; }\n.hotlines th, .hotlines td { padding: 2px 0; border: 0; border-top: 1px solid var(--line2); font-weight: 400; text-align: left; vertical-align: top; }\n.hotlines td { width: 52px; padding-right: 8px; color: var(--fg2); text-align: right; }\n.hotlines .code { overflow: hidden; color: var(--fg2); text-overflow: ellipsis; white-space: nowrap; }\n.error:not(.badge, .chip, .state) { margin-top: 8px; padding: 6px 8px; border-left: 3px solid var(--error); border-radius: 0 4px 4px 0; background: var(--error-bg); overflow-wrap: anywhere; white-space: pre-wrap; }\n.chain { margin-bottom: 3px; color: var(--fg2); font-size: 10.5px; }\n.reason { margin: 2px 0; color: var(--fg2); font-size: 11.5px; overflow-wrap: anywhere; white-space: pre-wrap; }\n.chips + .hint, .phases + .hint { margin-top: 6px; }\n.note { margin-top: 8px; padding: 4px 8px; font-size: 11px; border-left: 3px solid var(--queue); background: var(--bg2); overflow-wrap: anywhere; white-space: pre-wrap; }\n.head { display: grid; grid-template-columns: 14px minmax(0, 1fr) auto; gap: 0 6px; align-items: baseline; width: 100%; padding: 4px 2px; border: 0; border-top: 1px solid var(--line2); border-radius: 0; color: var(--fg); text-align: left; }\n.head[aria-expanded="true"] { background: var(--over); }\n.head .name { overflow: hidden; font-weight: 600; text-overflow: ellipsis; }\n.head .arrow, .head .datatype, .head .shape, .head .place { color: var(--fg2); }\n.head .shape { grid-column: 2; }\n.head .place { font-size: 10.5px; text-align: right; }\n.detail { padding: 6px 2px 10px; }\n.facts { display: grid; grid-template-columns: repeat(3, auto); gap: 2px 14px; margin-bottom: 6px; font-size: 11px; }\n.facts div { display: flex; justify-content: space-between; gap: 4px; color: var(--fg2); }\n.facts div { white-space: nowrap; }\n.facts b { color: var(--fg); font-weight: 500; }\n.histogram { display: block; width: 100%; height: 46px; border-radius: 4px; background: var(--bg2); }\n.caption { display: flex; justify-content: space-between; gap: 8px; margin-top: 1px; color: var(--fg2); font-size: 10.5px; }\n.slice { margin-top: 8px; }\n.picture { display: block; width: 100%; margin: 0 auto; object-fit: fill; border-radius: 4px; background: var(--bg2); image-rendering: pixelated; }\n.cells { display: grid; gap: 1px; overflow: hidden; border-radius: 4px; }\n.cells span { padding: 3px 1px; overflow: hidden; background: var(--bg2); font-size: 10.5px; text-align: center; text-overflow: ellipsis; white-space: nowrap; }\n.scale { display: inline-block; width: 36px; height: 7px; margin-right: 5px; border-radius: 2px; }\n.segments { display: inline-flex; margin-bottom: 6px; overflow: hidden; border: 1px solid var(--line); border-radius: 5px; }\n.segments button { padding: 0 8px; border: 0; border-radius: 0; }\n.slider { display: grid; grid-template-columns: 46px 1fr auto; gap: 6px; align-items: center; min-height: 22px; color: var(--fg2); font-size: 11px; }\n.slider input { width: 100%; height: 16px; margin: 0; accent-color: var(--accent); }\n.strings, .logs, .source { max-height: 170px; overflow: auto; border: 1px solid var(--line2); border-radius: 4px; }\n.strings > div, .logs > div { display: grid; gap: 6px; padding: 1px 6px; overflow-wrap: anywhere; white-space: pre-wrap; border-top: 1px solid var(--line2); }\n.strings > div { grid-template-columns: 24px minmax(0, 1fr); }\n.logs > div { grid-template-columns: 52px 52px minmax(0, 1fr); }\n.strings > div:first-child, .logs > div:first-child { border-top: 0; }\n.number, .level { color: var(--fg2); }\n.logs > .log-warning { box-shadow: inset 2px 0 var(--queue); }\n.logs > .log-error { box-shadow: inset 2px 0 var(--error); }\n.log-warning .level { color: var(--fg); font-weight: 600; }\n.log-error .level { color: var(--error); font-weight: 600; }\n.source > div { display: grid; grid-template-columns: 30px max-content; padding: 0 6px; line-height: 17px; white-space: pre; }\n.source .here, .source .part { background: var(--shade); box-shadow: inset 2px 0 var(--accent); }\n.link { display: flex; justify-content: space-between; gap: 8px; width: 100%; padding: 2px; border: 0; border-top: 1px solid var(--line2); border-radius: 0; color: var(--fg); font-size: 11.5px; }\n.link span:last-child { color: var(--fg2); }\n.more { width: 100%; margin-top: 4px; }\n\n.box .tone-error { fill: var(--error); font-weight: 600; }\n.box .tone-output { fill: var(--output); font-weight: 600; }\n.box .tone-infer { fill: var(--infer); font-weight: 600; }\n.toolbar.compared .legend { display: none; }\n/* more is told of two runs than fits beside a name */\n.toolbar.compared > .figures { flex: 0 8 auto; flex-wrap: wrap; gap: 2px 12px; min-width: 240px; }\n.toolbar.compared ~ .panes .edges .legend { display: flex; }\n.beside thead th { color: var(--fg2); text-align: right; }\n.beside td { white-space: nowrap; }\n.beside td.tone-error { color: var(--error); font-weight: 600; }\n.beside td.tone-output { color: var(--output); font-weight: 600; }\n.difference { padding: 3px 8px; margin-top: 4px; border-left: 3px solid var(--infer); background: var(--bg2); font-size: 11px; overflow-wrap: anywhere; white-space: pre-wrap; }\n\n/* over the panes */\n.tip { position: absolute; z-index: 9; top: 0; left: 0; max-width: 300px; padding: 6px 8px; border: 1px solid var(--line); border-radius: 6px; background: var(--card); box-shadow: 0 4px 16px #0003; font-size: 11px; pointer-events: none; overflow-wrap: anywhere; }\n.shares { display: grid; grid-template-columns: auto auto auto; gap: 0 10px; margin-top: 3px; }\n.shares > :not(:nth-child(3n + 1)) { text-align: right; }\n.tip .swatch { margin-right: 5px; }\n.tip .share { color: var(--fg2); }\n.tip .failed { margin-top: 4px; color: var(--error); white-space: pre-wrap; }\n[hidden] { display: none; }\n.help { position: absolute; z-index: 8; inset: 37px 0 0; padding: 14px 18px; overflow: auto; background: var(--bg); }\n.help:focus { outline: none; }\n.help dl { display: grid; grid-template-columns: auto 1fr; gap: 4px 14px; margin: 8px 0 12px; }\n.help dd { margin: 0; color: var(--fg2); }\n\n@container (max-width: 980px) {\n  .toolbar .legend { display: none; }\n  .edges { column-gap: 9px; }\n  .edges i { width: 14px; }\n  .edges .legend { display: flex; gap: 8px; }\n  .panes { grid-template-columns: minmax(0, 1fr) max(220px, min(var(--side, 288px), 100cqw - 360px)); }\n}\n@container (max-width: 700px) {\n  .toolbar { flex-wrap: wrap; }\n  .toolbar > .figures { flex: 0 1 auto; flex-wrap: wrap; gap: 2px 12px; }\n  .toolbar > .space { display: none; }\n  .toolbar > .filter { flex: 1 1 90px; }\n  .panes { grid-template: var(--graph, 200px) var(--timeline, 240px) auto / minmax(0, 1fr); height: auto; }\n  .inspector { grid-area: 3 / 1; max-height: 560px; border-top: 1px solid var(--line); border-left: 0; }\n  .splitter.x { display: none; }\n  .names .name { min-width: 2.5em; }\n}\n@container (max-width: 520px) {\n  .names .badge { min-width: 18px; }\n  .panes .edges .legend, .toolbar.compared ~ .panes .edges .legend { display: none; }\n}\n@media (prefers-reduced-motion: no-preference) {\n  .state.running { animation: pulse 1.4s ease-in-out infinite; }\n  @keyframes pulse { 50% { opacity: .35; } }\n}\n@media print {\n  .view { break-inside: avoid; print-color-adjust: exact; }\n  .panes .inspector { max-height: none; }\n  .toolbar button, .toolbar > .filter, .zoom { display: none; }\n  /* A canvas that was cleared for paper hides what is below it. */\n  .rows { z-index: 1; }\n  .row.selected { background: none; }\n}\n@media (forced-colors: active) {\n  .state, .swatch, .stack, .stack i { forced-color-adjust: none; }\n  .row.selected { outline: 2px solid Highlight; }\n  .box .frame { stroke: CanvasText; }\n  .box.selected .frame { stroke: Highlight; }\n  .source .here { outline: 1px solid Highlight; outline-offset: -1px; }\n}\n';

// src/dashboard/dashboard.css
var dashboard_default = '/* the server, above the table */\n.dashboard header { display: flex; flex-wrap: wrap; align-items: center; gap: 8px 24px; padding: 10px 14px; border-bottom: 1px solid var(--line); }\n.title { flex: 1 1 150px; }\n.now { color: var(--fg2); font-size: 11px; }\n.now::before { content: ""; display: inline-block; width: 8px; height: 8px; margin-right: 6px; border-radius: 50%; background: var(--fg3); }\n.now.live::before { background: var(--output); }\n.now.late::before { border-radius: 0; background: var(--queue); }\n.figure { min-width: 66px; }\n.figure b { display: block; font-size: 20px; font-weight: 600; line-height: 1.2; }\n.figure span, .peak { color: var(--fg2); font-size: 11px; }\n.figure.failing b { color: var(--error); }\n.chart { flex: 0 1 240px; min-width: 140px; }\n.chart svg { display: block; width: 100%; height: 36px; border-bottom: 1px solid var(--line); overflow: visible; }\n.chart .line { fill: none; stroke: var(--infer); stroke-width: 1.5; vector-effect: non-scaling-stroke; stroke-linejoin: round; }\n.chart .area { fill: color-mix(in srgb, var(--infer) 16%, transparent); }\n\n/* the models */\n.models { max-height: 420px; overflow: auto; }\n.models table { width: 100%; border-collapse: collapse; }\n.models thead th { position: sticky; top: 0; z-index: 1; padding: 3px 6px; background: var(--bg2); box-shadow: inset 0 -1px var(--line); text-align: right; }\n.models thead .of-name, .models thead .of-state { text-align: left; }\n.models thead button { color: var(--fg2); font-weight: 600; white-space: nowrap; }\n.models thead [aria-sort] button { color: var(--fg); }\n.models thead [aria-sort="ascending"] button::after { content: " ↑" / ""; }\n.models thead [aria-sort="descending"] button::after { content: " ↓" / ""; }\n.models tbody th, .models tbody td { padding: 5px 12px; border-top: 1px solid var(--line2); font-weight: 400; text-align: left; vertical-align: top; }\n.models tbody tr:first-child > * { border-top: 0; }\n.models tbody tr:hover > * { background: var(--over); }\n.models tbody .name { display: block; min-width: 9ch; font-weight: 600; overflow-wrap: anywhere; }\n.models .version, .models .of-state .reason { display: block; color: var(--fg2); font-size: 11px; overflow-wrap: anywhere; }\n.models .of-state .reason { display: -webkit-box; max-width: 44ch; min-width: 20ch; margin: 0; overflow: hidden; -webkit-box-orient: vertical; -webkit-line-clamp: 3; }\n.models .of-state .reason:empty { display: none; }\n.models .word { font-size: 11px; white-space: nowrap; }\n.models .word::before { content: ""; display: inline-block; width: 8px; height: 8px; margin-right: 6px; background: var(--fg3); }\n.models .serves .word::before { border-radius: 50%; background: var(--output); }\n.models .broken .word { color: var(--error); font-weight: 600; }\n.models .broken .word::before { background: var(--error); }\n.models tbody td.number { color: var(--fg2); text-align: right; white-space: nowrap; }\n.models tbody td.of-per_second, .models tbody td.of-p50_us, .models tbody td.of-p95_us, .models tbody td.of-p99_us, .models tbody td.runs { color: var(--fg); }\n.models tbody td.waits { color: var(--fg); font-weight: 600; text-decoration: underline 2px var(--queue); text-underline-offset: 5px; }\n.models tbody td.failing { color: var(--error); font-weight: 600; }\n.models .of-per_second { min-width: 96px; }\n.models .of-per_second > span { display: block; }\n.models .share { display: block; float: right; clear: both; height: 3px; margin-top: 18px; margin-bottom: -21px; border-radius: 2px; background: var(--infer); }\n.empty { padding: 14px; color: var(--fg2); }\n.note-line { padding: 6px 14px; border-top: 1px solid var(--line); color: var(--fg2); font-size: 11px; }\n\n@container (max-width: 960px) {\n  .models .of-p95_us, .models .of-batch { display: none; }\n  .models tbody th, .models tbody td { padding: 5px 8px; }\n}\n@container (max-width: 700px) {\n  .models .of-requests, .models .of-p50_us, .models .of-queued_us { display: none; }\n  .models tbody th, .models tbody td { padding: 5px 8px; }\n  .chart { flex: 1 1 100%; }\n}\n@container (max-width: 520px) {\n  .title { flex: 1 1 100%; }\n  .figure { flex: 1; }\n  .models .of-busy { display: none; }\n  .models .of-state .reason { min-width: 0; }\n  .models .of-per_second { min-width: 0; }\n}\n@media (forced-colors: active) {\n  .models .share, .now::before, .models .word::before { forced-color-adjust: none; }\n}\n';

// src/page/theme.ts
var WATCHED = [
  "class",
  "theme",
  "style",
  "data-jp-theme-name",
  "data-jp-theme-light",
  "data-vscode-theme-kind"
];
function themeOf(element) {
  const { vscodeThemeKind, jpThemeLight } = document.body.dataset;
  if (vscodeThemeKind) return /light/.test(vscodeThemeKind) ? "light" : "dark";
  if (jpThemeLight) return jpThemeLight === "false" ? "dark" : "light";
  const colab = document.documentElement.getAttribute("theme");
  if (colab) return colab.includes("dark") ? "dark" : "light";
  return backgroundTheme(element) ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
}
function watchTheme(changed) {
  const observer = new MutationObserver(changed);
  for (const element of [document.body, document.documentElement]) {
    observer.observe(element, { attributes: true, attributeFilter: WATCHED });
  }
  const preference = matchMedia("(prefers-color-scheme: dark)");
  preference.addEventListener("change", changed);
  return () => {
    observer.disconnect();
    preference.removeEventListener("change", changed);
  };
}
function backgroundTheme(element) {
  for (let at = element; at; at = parentOf(at)) {
    const [red, green, blue, alpha = 1] = (getComputedStyle(at).backgroundColor.match(/[\d.]+/g) ?? [0, 0, 0, 0]).map(Number);
    if (alpha > 0.5) return 0.2126 * red + 0.7152 * green + 0.0722 * blue < 110 ? "dark" : "light";
  }
  return null;
}
function parentOf(element) {
  const root = element.getRootNode();
  return element.parentElement ?? (root instanceof ShadowRoot ? root.host : null);
}

// src/dashboard/dashboard.ts
var [WIDTH, HEIGHT] = [240, 40];
var READINGS = 120;
var COLUMNS = [
  ["name", "model", "name and version"],
  ["state", "state", "as in the repository index"],
  ["busy", "busy", "instances that execute, of all"],
  ["waiting", "queue", "requests that wait to be executed"],
  ["queued_us", "wait", "mean time in the queue, in the last 5 seconds"],
  ["batch", "batch", "mean size of a batch, in the last 5 seconds: inferences by executions"],
  ["per_second", "requests/s", "that ended, in the last 5 seconds"],
  ["p50_us", "p50", "median of the latest requests: 512 at most, of the last minute"],
  ["p95_us", "p95", "95 of 100 of the latest requests took no longer"],
  ["p99_us", "p99", "99 of 100 of the latest requests took no longer"],
  ["requests", "requests", "since the model was loaded"],
  ["failed", "failed", "since the model was loaded"]
];
var NOTE = "Rates, wait, batch: the last 5 s, BLS calls included. p50 to p99: the latest requests of each model that succeeded, 512 at most, of the last minute.";
var Dashboard = class {
  /** The shadow host. */
  element = h("div", { class: "blsnb-monitor", "data-lm-suppress-shortcuts": "true" });
  #root;
  #figures = /* @__PURE__ */ new Map();
  #state = h("span", { class: "now" });
  #path = svg("path", { class: "line" });
  #area = svg("path", { class: "area" });
  #peak = h("span", { class: "peak" });
  #heads = /* @__PURE__ */ new Map();
  #body = h("tbody");
  #empty = h("p", { class: "empty" }, "There are no models yet.");
  #rows = /* @__PURE__ */ new Map();
  #order = { key: "name", down: false };
  #shown = null;
  #moving;
  #stop;
  constructor() {
    const caption = h("caption", { class: "hidden" }, "Models");
    const table = h("table", {}, caption, this.#head(), this.#body);
    const scroll = { class: "models", tabindex: 0, role: "region", "aria-label": "Models" };
    this.#root = h(
      "section",
      { class: "view dashboard", "aria-label": "Triton server" },
      this.#top(),
      h("div", scroll, table, this.#empty),
      h("p", { class: "note-line" }, NOTE)
    );
    const shadow = this.element.attachShadow({ mode: "open" });
    shadow.append(h("style", {}, style_default), h("style", {}, dashboard_default), this.#root);
    holdOnce(this.#root);
    this.element.addEventListener("keydown", (event) => event.stopPropagation());
    this.#moving = new Moving(this.element, shadow);
    this.#stop = watchTheme(() => this.theme());
  }
  /** Move into an element of the page; focus and scrolling stay. */
  moveTo(host) {
    this.#moving.into(host);
  }
  dispose() {
    this.#stop();
    this.element.remove();
  }
  /** Apply the theme of the host; the element must be in the page. */
  theme() {
    this.#root.dataset.theme = themeOf(this.element.parentElement ?? this.element);
  }
  /** Show whether the numbers are current. */
  showState(state) {
    this.#state.className = `now ${state === "live" || state === "closed" ? state : "late"}`;
    setText(this.#state, state);
  }
  draw(overview) {
    this.#shown = overview;
    this.#figure("in flight", count(overview.in_flight));
    this.#figure("requests/s", rate(overview.per_second));
    this.#figure("waiting", count(overview.waiting));
    const fails = overview.rows.some((row) => row.failed_lately > 0);
    this.#figure("failed", count(overview.failed), fails);
    this.#drawLine(overview.history);
    this.#drawRows(overview.rows);
  }
  #top() {
    const names = ["in flight", "requests/s", "waiting", "failed"];
    const figures = names.map((name) => {
      const number = h("b", {}, "–");
      this.#figures.set(name, number);
      return h("div", { class: "figure" }, number, h("span", {}, name));
    });
    const picture = svg(
      "svg",
      { viewBox: `0 0 ${WIDTH} ${HEIGHT + 2}`, preserveAspectRatio: "none", "aria-hidden": "true" },
      this.#area,
      this.#path
    );
    const chart = h("div", { class: "chart" }, picture, this.#peak);
    const title = h("div", { class: "title" }, h("h3", {}, "Triton server"), this.#state);
    return h("header", {}, title, figures, chart);
  }
  #head() {
    const cells = COLUMNS.map(([key, name, title]) => {
      const sort = () => this.#sort(key);
      const button = h("button", { type: "button", class: "quiet", title, onclick: sort }, name);
      const head = h("th", { scope: "col", class: `of-${key}` }, button);
      this.#heads.set(key, head);
      return head;
    });
    return h("thead", {}, h("tr", {}, cells));
  }
  #sort(key) {
    this.#order = clicked(this.#order, key);
    if (this.#shown) this.#drawRows(this.#shown.rows);
  }
  #figure(name, number, bad = false) {
    const element = this.#figures.get(name);
    if (!element) return;
    setText(element, number);
    element.parentElement?.classList.toggle("failing", bad);
  }
  #drawLine(history) {
    const drawn = line(history, READINGS, WIDTH, HEIGHT);
    this.#path.setAttribute("d", drawn);
    const from = (READINGS - history.length) / (READINGS - 1) * WIDTH;
    const below = `L${WIDTH} ${HEIGHT}L${from.toFixed(1)} ${HEIGHT}Z`;
    this.#area.setAttribute("d", drawn && drawn + below);
    const peak = history.length > 1 ? `, peak ${rate(Math.max(...history))}/s` : "";
    setText(this.#peak, `last minute${peak}`);
  }
  #drawRows(rows) {
    for (const [key, head] of this.#heads) {
      const direction = this.#order.down ? "descending" : "ascending";
      if (key === this.#order.key) head.setAttribute("aria-sort", direction);
      else head.removeAttribute("aria-sort");
    }
    const most = Math.max(...rows.map((row) => row.per_second ?? 0), 1e-9);
    const before = this.#rows;
    this.#rows = /* @__PURE__ */ new Map();
    const elements = ordered(rows, this.#order).map((row) => {
      const key = JSON.stringify([row.name, row.version]);
      const shown = before.get(key) ?? new Row();
      this.#rows.set(key, shown);
      shown.draw(row, most);
      return shown.element;
    });
    const there = this.#body.children;
    if (elements.length !== there.length || elements.some((each, at) => there[at] !== each))
      this.#body.replaceChildren(...elements);
    this.#empty.hidden = rows.length > 0;
  }
};
var Row = class {
  element;
  #name = h("span", { class: "name" });
  #version = h("span", { class: "version" });
  #state = h("span", { class: "word" });
  #reason = h("span", { class: "reason" });
  #share = h("i", { class: "share", "aria-hidden": "true" });
  #rate = h("span");
  #numbers = /* @__PURE__ */ new Map();
  constructor() {
    const cells = COLUMNS.slice(2).map(([key]) => {
      const cell = h("td", { class: `number of-${key}` });
      this.#numbers.set(key, cell);
      return cell;
    });
    this.#numbers.get("per_second")?.append(this.#share, this.#rate);
    const name = h("th", { scope: "row", class: "of-name" }, this.#name, this.#version);
    const state = h("td", { class: "of-state" }, this.#state, this.#reason);
    this.element = h("tr", {}, name, state, cells);
  }
  draw(row, most) {
    setText(this.#name, row.name);
    setText(this.#version, `version ${row.version}`);
    setText(this.#state, row.state);
    const reason = row.reason.trim();
    setText(this.#reason, reason.split("\n")[0] ?? "");
    this.#reason.title = visible(reason);
    this.#set("busy", row.instances ? `${row.busy} of ${row.instances}` : "–");
    this.#set("waiting", count(row.waiting));
    setText(this.#rate, rate(row.per_second));
    this.#share.style.width = `${100 * (row.per_second ?? 0) / most}%`;
    this.#set("p50_us", time(row.p50_us ?? NaN));
    this.#set("p95_us", time(row.p95_us ?? NaN));
    this.#set("p99_us", time(row.p99_us ?? NaN));
    this.#set("queued_us", time(row.queued_us ?? NaN));
    this.#set("batch", rate(row.batch));
    this.#set("requests", count(row.requests));
    this.#set("failed", row.failed_lately ? `▲ ${count(row.failed)}` : count(row.failed));
    this.#numbers.get("failed")?.classList.toggle("failing", row.failed > 0);
    this.#numbers.get("waiting")?.classList.toggle("waits", row.waiting > 0);
    this.#numbers.get("busy")?.classList.toggle("runs", row.busy > 0);
    const serves = row.state === "READY";
    this.element.classList.toggle("serves", serves);
    this.element.classList.toggle("broken", !serves && reason !== "unloaded");
  }
  #set(key, text) {
    const cell = this.#numbers.get(key);
    if (cell) setText(cell, text);
  }
};

// src/kernel/registry.ts
function register(kind, id, mount) {
  const page = globalThis;
  const all = page[/* @__PURE__ */ Symbol.for(`blsnb-${kind}`)] ??= /* @__PURE__ */ new Map();
  all.set(id, mount);
  globalThis.dispatchEvent(new Event(`blsnb-${kind}-registered`));
  return () => {
    all.delete(id);
  };
}

// src/monitor.ts
var WATCHING_MS = 3e4;
var LATE_MS = 5e3;
function watch(model, dashboard) {
  let came = /* @__PURE__ */ new Date();
  let frame = 0;
  const overview = () => model.get("overview");
  const showState = () => {
    const late = Date.now() - came.getTime() > LATE_MS;
    const state = late ? `no news since ${came.toLocaleTimeString()}` : "live";
    dashboard.showState(overview().ended ? "closed" : state);
  };
  const paint = () => {
    frame = 0;
    dashboard.draw(overview());
    showState();
  };
  const changed = () => {
    came = /* @__PURE__ */ new Date();
    frame ||= requestAnimationFrame(paint);
  };
  const watching = () => {
    const seen = document.visibilityState === "visible" && dashboard.element.isConnected;
    if (seen && !overview().ended) model.send({ type: "watching" });
  };
  dashboard.theme();
  paint();
  watching();
  model.on("change:overview", changed);
  document.addEventListener("visibilitychange", watching);
  const timers = [setInterval(watching, WATCHING_MS), setInterval(showState, 1e3)];
  const dispose = () => {
    model.off("change:overview", changed);
    document.removeEventListener("visibilitychange", watching);
    timers.forEach(clearInterval);
    cancelAnimationFrame(frame);
    dashboard.dispose();
  };
  return { dashboard, dispose };
}
function render({ model, el }) {
  const dashboard = new Dashboard();
  el.append(dashboard.element);
  return watch(model, dashboard).dispose;
}
function initialize({ model }) {
  const id = String(model.get("monitor_id"));
  const all = [];
  const withdraw = register("monitors", id, (host) => {
    const left = all.find(({ dashboard: dashboard2 }) => !dashboard2.element.isConnected);
    const dashboard = left?.dashboard ?? new Dashboard();
    dashboard.moveTo(host);
    if (!left) all.push(watch(model, dashboard));
  });
  return () => {
    withdraw();
    for (const { dispose } of all) dispose();
  };
}
var monitor_default = { initialize, render };
export {
  monitor_default as default
};
