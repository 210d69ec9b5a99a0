/** The flame graph of the inspector: callers above what they call, as wide as their time. */

import { h } from "../page/dom.ts";
import { counted, percent, time } from "../page/format.ts";
import { noPhases } from "../trace/phases.ts";
import type { FlameBox } from "../trace/profile.ts";
import type { Session } from "../session/session.ts";

const ROW = 18;
/** Minimum share of the width of a box that is drawn. */
const MIN_SHARE = 0.004;
/** Maximum number of boxes that are drawn. */
const MAX_BOXES = 1000;

export class FlameGraph {
  readonly element = h("div", { class: "flame code", role: "tree", "aria-label": "Flame graph" });
  #session: Session;
  #root: FlameBox | null = null;
  #subject = "";
  /** Key of the box that fills the width. */
  #zoomed = "all";
  /** Key of the box that receives the focus. */
  #cursor = "all";
  #drawn = new Map<string, { box: FlameBox; element: HTMLElement }>();

  constructor(session: Session) {
    this.#session = session;
    this.element.addEventListener("keydown", (event) => this.#key(event));
    this.element.addEventListener("pointerleave", () => session.tip(null));
  }

  /** Show the boxes of a call or a model; the zoom stays while its samples arrive. */
  show(subject: string, root: FlameBox): HTMLElement {
    if (subject !== this.#subject) [this.#zoomed, this.#cursor] = ["all", "all"];
    [this.#subject, this.#root] = [subject, root];
    this.#draw();
    return this.element;
  }

  #draw(): void {
    const root = this.#root as FlameBox;
    const zoomed = find(root, this.#zoomed) ?? root;
    const focused = this.element.contains((this.element.getRootNode() as ShadowRoot).activeElement);
    this.#drawn = new Map();
    for (let at: FlameBox | null = zoomed.parent; at; at = at.parent) this.#add(at, 0, 1);
    this.#place(zoomed, 0, 1);
    const all = [...this.#drawn.values()].sort((a, b) => a.box.depth - b.box.depth);
    const depth = all.reduce((most, { box }) => Math.max(most, box.depth), 0);
    this.element.replaceChildren(
      h("div", { class: "flames", role: "presentation", style: { height: `${ROW * (depth + 1)}px` } }, all.map(({ element }) => element)),
    );
    this.#aim(this.#drawn.has(this.#cursor) ? this.#cursor : zoomed.key, focused);
  }

  /** Draw a box and what is below it, while it is wide enough. */
  #place(box: FlameBox, left: number, width: number): void {
    if (this.#drawn.size >= MAX_BOXES) return;
    this.#add(box, left, width);
    let from = left;
    for (const each of box.below) {
      const share = box.us > 0 ? (width * each.us) / box.us : 0;
      if (share >= MIN_SHARE) this.#place(each, from, share);
      from += share;
    }
  }

  #add(box: FlameBox, left: number, width: number): void {
    const whole = (this.#root as FlameBox).us;
    const { key, kind, name, place, us, samples } = box;
    const sampled = kind === "child" ? "" : `, ${counted(samples, "sample")}`;
    const element = h(
      "div",
      {
        class: `flamebox ${kind}`,
        role: "treeitem",
        tabindex: -1,
        "aria-level": box.depth + 1,
        "aria-description": `${time(us)}, ${percent(us, whole)}${sampled}`,
        "data-focus": `flame-${key}`,
        style: { left: `${100 * left}%`, width: `${100 * width}%`, top: `${ROW * box.depth}px` },
        onclick: () => this.#open(box),
        onpointermove: (event: MouseEvent) => this.#tip(box, event),
        onfocus: () => this.#aim(key, false),
      },
      kind === "child" ? "→ " : "",
      h("b", {}, name),
      place ? ` ${place}` : "",
    );
    this.#drawn.set(key, { box, element });
  }

  /** Zoom to a box, or select the model of child calls. */
  #open(box: FlameBox): void {
    this.#session.tip(null);
    if (box.model !== undefined) return this.#session.select(this.#calls(box.model), { reveal: true });
    this.#zoomed = this.#zoomed === box.key && box.parent ? "all" : box.key;
    this.#cursor = box.key;
    this.#draw();
    this.#drawn.get(box.key)?.element.focus({ preventScroll: true });
  }

  #calls(model: number): { kind: "call"; call: number } | { kind: "model"; model: number } {
    const { model: models } = this.#session.trace.calls;
    const first = models.indexOf(model);
    return first === models.lastIndexOf(model) ? { kind: "call", call: first } : { kind: "model", model };
  }

  #tip(box: FlameBox, event: MouseEvent): void {
    const { name, place, text, us, samples, kind } = box;
    const whole = (this.#root as FlameBox).us;
    const own = us - box.below.reduce((sum, each) => sum + each.us, 0);
    const parts = [
      `${time(us)}, ${percent(us, whole)}`,
      kind === "child" ? "in child calls, not own code" : `${counted(samples, "sample")}`,
      ...(box.below.length && own > 0.5 ? [`${time(own)} in this line itself`] : []),
    ];
    const facts = [parts.join(" · "), text.trim()].filter(Boolean).join("\n");
    this.#session.tip({ title: [name, place].join(" ").trim(), phases: noPhases(), facts }, event);
  }

  /** Let a box receive the focus; it is the only one in the tab order. */
  #aim(key: string, focus: boolean): void {
    for (const [each, { element }] of this.#drawn) element.tabIndex = each === key ? 0 : -1;
    this.#cursor = key;
    if (focus) this.#drawn.get(key)?.element.focus({ preventScroll: true });
  }

  #key(event: KeyboardEvent): void {
    const at = this.#drawn.get(this.#cursor)?.box;
    if (!at || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape" && this.#zoomed === "all") return;
    const move = MOVES[event.key];
    const opens = event.key === "Enter" || event.key === " ";
    if (!move && !opens && event.key !== "Escape") return;
    event.preventDefault();
    if (opens) this.#open(at);
    else if (event.key === "Escape") this.#zoomOut();
    else this.#move(move(at));
  }

  #zoomOut(): void {
    this.#zoomed = "all";
    this.#draw();
    this.#aim(this.#cursor, true);
  }

  #move(to: FlameBox | null | undefined): void {
    const drawn = to && this.#drawn.get(to.key);
    if (!drawn) return;
    this.#aim(to.key, true);
    drawn.element.scrollIntoView?.({ block: "nearest" });
  }
}

const MOVES: Record<string, (box: FlameBox) => FlameBox | null | undefined> = {
  ArrowDown: (box) => box.below[0],
  ArrowUp: (box) => box.parent,
  ArrowRight: (box) => beside(box, 1),
  ArrowLeft: (box) => beside(box, -1),
  Home: (box) => top(box),
};

function beside(box: FlameBox, step: number): FlameBox | undefined {
  const all = box.parent?.below ?? [];
  return all[all.indexOf(box) + step];
}

function top(box: FlameBox): FlameBox {
  return box.parent ? top(box.parent) : box;
}

function find(box: FlameBox, key: string): FlameBox | null {
  if (box.key === key) return box;
  for (const each of box.below) {
    const found = find(each, key);
    if (found) return found;
  }
  return null;
}

/** Return the heading of a flame graph: the samples, and the interval that was reached. */
export function heading(samples: number, interval: number, wanted: number, calls: number): HTMLElement {
  const missed = interval > 1.25 * wanted ? ` (${time(wanted)} was not reached)` : "";
  const text = `${counted(samples, "sample")}, one every ${time(interval)}${missed}`;
  return h("h4", {}, calls === 1 ? "Inside the call" : "Inside the calls", h("span", {}, text));
}
