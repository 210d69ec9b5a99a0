/** The part of the call graph in its pane: fitted, zoomed or dragged. */

import { h, svg } from "../page/dom.ts";
import { drag } from "../page/press.ts";

/** Scale below which only names are shown, and larger. */
const FAR = 0.62;
const [SMALLEST, LARGEST] = [0.2, 3];
/** Room around the whole graph, and above the legend. */
const [BESIDE, MIN_TOP, ABOVE_LEGEND] = [32, 8, 9];

interface Size {
  width: number;
  height: number;
}

export class Viewport {
  readonly svg: SVGSVGElement;
  readonly buttons: HTMLElement;
  #content: SVGGElement;
  #scale = 1;
  #at = { x: 0, y: 0 };

  /** `fit` shows the whole graph. */
  constructor(content: SVGGElement, label: string, fit: () => void) {
    this.#content = content;
    this.svg = svg("svg", { role: "group", "aria-label": label }, content);
    this.buttons = this.#newButtons(fit);
    this.svg.addEventListener("dblclick", fit);
    this.svg.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
    this.svg.addEventListener("pointerdown", (event) => this.#drag(event));
  }

  /** Fit a graph in a pane, above a legend of a height. */
  fit(graph: Size, pane: Size, legend: number): void {
    const height = pane.height - ABOVE_LEGEND - legend;
    const across = (pane.width - BESIDE) / graph.width;
    const scale = Math.max(SMALLEST, Math.min(1, across, (height - MIN_TOP - 6) / graph.height));
    const top = Math.max(MIN_TOP, (height - graph.height * scale) / 2);
    this.#show(scale, (pane.width - graph.width * scale) / 2, top);
  }

  /** Zoom by the wheel with Ctrl or ⌘; the plain wheel scrolls the page. */
  #wheel(event: WheelEvent): void {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const { left, top } = this.svg.getBoundingClientRect();
    this.#zoom(Math.exp(-event.deltaY * 0.002), event.clientX - left, event.clientY - top);
  }

  #drag(start: PointerEvent): void {
    if ((start.target as Element).closest("[role=button]")) return;
    const { x, y } = this.#at;
    drag(this.svg, start, (event) =>
      this.#show(this.#scale, x + event.clientX - start.clientX, y + event.clientY - start.clientY),
    );
  }

  /** Zoom around a position of the pane. */
  #zoom(factor: number, x = this.svg.clientWidth / 2, y = this.svg.clientHeight / 2): void {
    const scale = Math.min(LARGEST, Math.max(SMALLEST, this.#scale * factor));
    const ratio = scale / this.#scale;
    this.#show(scale, x - (x - this.#at.x) * ratio, y - (y - this.#at.y) * ratio);
  }

  #show(scale: number, x: number, y: number): void {
    this.#scale = scale;
    this.#at = { x, y };
    this.svg.classList.toggle("far", scale < FAR);
    this.svg.style.setProperty("--scale", String(scale));
    this.#content.setAttribute("transform", `translate(${x} ${y}) scale(${scale})`);
  }

  #newButtons(fit: () => void): HTMLElement {
    const button = (text: string, title: string, onclick: () => void): HTMLElement =>
      h(
        "button",
        { class: "quiet", type: "button", title, "aria-label": `${text} ${title}`, onclick },
        text,
      );
    return h(
      "div",
      { class: "zoom" },
      button("−", "zoom the graph out", () => this.#zoom(0.8)),
      button("+", "zoom the graph in", () => this.#zoom(1.25)),
      button("fit", "the graph into its pane", fit),
    );
  }
}
