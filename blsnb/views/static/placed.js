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

// src/kernel/widget.ts
var VERSION = 1;

// src/page/format.ts
var BYTE_UNITS = [
  ["B", 1],
  ["KiB", 1024],
  ["MiB", 1 << 20],
  ["GiB", 1 << 30]
];
var separated = new Intl.NumberFormat("en");
var UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e0fff}]/gu;
function visible(text) {
  return text.replace(UNSEEN, mark);
}
function mark(character) {
  const code = character.codePointAt(0) ?? 0;
  if (code < 32) return String.fromCharCode(9216 + code);
  return `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
}

// src/page/dom.ts
var ALLOWED = /^(aria-[a-z]+|class|d|data-[a-z-]+|disabled|fill|for|height|id|max|min|marker-end|markerHeight|markerWidth|orient|placeholder|preserveAspectRatio|refX|refY|role|rx|scope|step|tabindex|text-anchor|title|transform|type|value|viewBox|width|x|y)$/;
function h(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
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

// src/placed.ts
var LOST = "The kernel is gone: what is below is no longer live.";
var REFERENCE = "IPY_MODEL_";
var INSERT = "blsnb-insert-cell";
function initialize({ model }) {
  const id = String(model.get("placed_id"));
  const hosts = /* @__PURE__ */ new Set();
  let isLost = false;
  const mount = (element) => {
    const host = new Host(element, isLost);
    hosts.add(host);
    void host.show(model);
  };
  const kept = new Kept();
  const withdraw = [register("placed", id, mount), register("kept", id, (text) => kept.hide(text))];
  const say = (lost) => {
    isLost = lost;
    for (const host of hosts) host.say(lost);
  };
  const received = (message) => {
    if (message?.type === "welcome") say(false);
    if (message?.type !== "insert" || typeof message.code !== "string") return;
    void insert(message.code).then((result) => model.send({ type: "insert", result }));
  };
  model.on("msg:custom", received);
  const unwatch = watch(model, () => say(true));
  return () => {
    for (const each of [...withdraw, unwatch]) each();
    model.off("msg:custom", received);
    kept.show();
    for (const host of hosts) host.restore();
  };
}
function watch(model, lost) {
  const gone = () => {
    lost();
    try {
      model.send({ v: VERSION, type: "hello" });
    } catch {
    }
  };
  const disposed = model.widget_manager.kernel?.disposed;
  disposed?.connect(gone);
  model.on("comm_live_update", gone);
  return () => {
    disposed?.disconnect(gone);
    model.off("comm_live_update", gone);
  };
}
var Host = class {
  #element;
  #text;
  #note = h("div", { role: "alert" }, LOST);
  #isLost;
  constructor(element, isLost) {
    this.#element = element;
    this.#text = [...element.childNodes];
    this.#isLost = isLost;
  }
  async show(model) {
    const reference = String(model.get("content")).replace(REFERENCE, "");
    const manager = model.widget_manager;
    const { luminoWidget } = await manager.create_view(await manager.get_model(reference));
    this.#element.replaceChildren();
    this.say(this.#isLost);
    luminoWidget.constructor.attach(luminoWidget, this.#element);
  }
  say(isLost) {
    this.#isLost = isLost;
    if (isLost) this.#element.prepend(this.#note);
    else this.#note.remove();
  }
  restore() {
    this.#element.replaceChildren(...this.#text);
  }
};
var Kept = class {
  #hidden = [];
  hide(text) {
    text.hidden = true;
    this.#hidden = [...this.#hidden.filter((each) => each.isConnected), text];
  }
  show() {
    for (const each of this.#hidden) each.hidden = false;
  }
};
async function insert(code) {
  const event = new CustomEvent(INSERT, { detail: { code }, cancelable: true });
  if (!globalThis.dispatchEvent(event)) return "inserted";
  try {
    await navigator.clipboard.writeText(code);
    return "copied";
  } catch {
    return "failed";
  }
}
var placed_default = { initialize };
export {
  placed_default as default
};
