/** The tab of the graph: which model may call which; a click on a model opens it. */

import { h, setText } from "../../page/dom.ts";
import { counted, messageOf } from "../../page/format.ts";
import { themeOf, watchTheme } from "../../page/theme.ts";
import type { About, Drawing, Reply, Row } from "../link/link.ts";
import type { Act } from "./models.ts";

/** Widths between which the drawing follows the panel, in pixels. */
const WIDTHS = [240, 1600];
const MARGIN = 16;
/** Pause before the next drawing, as a multiple of the time of the last one, and its maximum in milliseconds. */
const [PAUSE, MAX_PAUSE_MS] = [3, 2000];

type Ask = (action: string, about: About) => Promise<Reply>;

export class Graph {
  readonly node: HTMLElement;
  #ask: Ask;
  #act: Act;
  #seen = "";
  #isAsking = false;
  #picture = h("div", { class: "drawing" });
  #image = h("img", {});
  /** The drawing as SVG. */
  #svg = "";
  #findings = h("ul", { class: "rows findings", "aria-label": "findings" });
  #note = h("p", { class: "note" });
  /** It appears when the drawing is late, as that of hundreds of models. */
  #waiting = h("p", { class: "waiting" }, "Waiting for the kernel.");

  constructor(ask: Ask, act: Act) {
    [this.#ask, this.#act] = [ask, act];
    const refresh = h("button", { type: "button", onclick: () => void this.#refresh() }, "Draw again");
    const bar = h("div", { class: "filters" }, refresh, this.#waiting);
    this.node = h("div", { class: "listing graph" }, bar, this.#picture, this.#note, this.#findings);
    this.#wait(false);
    watchTheme(() => this.#colour());
  }

  /** Draw the graph again if models have changed: another text takes another time to load. */
  show(rows: Iterable<Row>): void {
    const models = [...rows].map(({ name, origin, versions, state, load_s }) => [name, origin, versions, state, load_s]);
    const seen = JSON.stringify(models);
    if (seen === this.#seen) return;
    this.#seen = seen;
    void this.#refresh();
  }

  async #refresh(): Promise<void> {
    if (this.#isAsking) return;
    this.#wait(true);
    const [seen, start] = [this.#seen, performance.now()];
    const width = Math.max(WIDTHS[0], Math.min(WIDTHS[1], this.node.clientWidth - MARGIN));
    try {
      const { graph, buffer } = await this.#ask("graph", { width });
      if (graph) this.#draw(graph, buffer);
    } catch (error) {
      this.#picture.replaceChildren();
      this.#findings.replaceChildren();
      setText(this.#note, messageOf(error));
      // The next list, as of a restarted kernel, draws it again.
      this.#seen = "";
      return this.#wait(false);
    }
    if (seen === this.#seen) return this.#wait(false);
    // A kernel that loads many models has the time for them.
    const pause = Math.min(PAUSE * (performance.now() - start), MAX_PAUSE_MS);
    setTimeout(() => {
      this.#wait(false);
      void this.#refresh();
    }, pause);
  }

  #wait(isAsking: boolean): void {
    this.#isAsking = isAsking;
    this.#waiting.hidden = !isAsking;
  }

  #draw(drawing: Drawing, buffer: ArrayBuffer): void {
    const { svg, places, findings, others, unlisted } = drawing;
    this.#svg = new TextDecoder().decode(new Uint8Array(buffer, ...svg));
    // Pipelines that are drawn one by one repeat the models that they share.
    this.#image.alt = `Graph of ${counted(new Set(places.map(([model]) => model)).size, "model")}`;
    this.#colour();
    this.#picture.replaceChildren(this.#image, ...places.map((place) => this.#spot(place, drawing)));
    this.#findings.replaceChildren(...findings.map((each) => this.#finding(each)));
    const left = [
      places.length + others ? "" : "There are no models yet.",
      others > 0 ? `${counted(others, "more model")} ${others === 1 ? "is" : "are"} not drawn.` : "",
      unlisted > 0 ? `${counted(unlisted, "finding")} ${unlisted === 1 ? "is" : "are"} not listed.` : "",
    ];
    setText(this.#note, left.filter(Boolean).join(" "));
  }

  /** Show the drawing as an image, in which no script runs, in the colours of the page. */
  #colour(): void {
    if (!this.#svg) return;
    const theme = themeOf(document.body);
    const source = `data:image/svg+xml,${encodeURIComponent(this.#svg.replace("<svg ", `<svg data-theme="${theme}" `))}`;
    if (this.#image.src !== source) this.#image.src = source;
  }

  /** Return a button over a model's box. */
  #spot([model, x, y]: Drawing["places"][number], { size, box }: Drawing): HTMLElement {
    const open = (): void => this.#act("open", { model });
    const spot = h("button", { type: "button", class: "spot", "aria-label": `Open ${model}`, title: `Open ${model}`, onclick: open });
    const [width, height] = size;
    const percent = (part: number, whole: number): string => `${((100 * part) / whole).toFixed(2)}%`;
    Object.assign(spot.style, {
      left: percent(x, width),
      top: percent(y, height),
      width: percent(box[0], width),
      height: percent(box[1], height),
    });
    return spot;
  }

  #finding([model, place, text, isFault]: Drawing["findings"][number]): HTMLElement {
    const kind = isFault ? "trouble" : "line";
    return h("li", {}, h("div", { class: kind }, h("b", {}, model), place ? ` (${place})` : "", `: ${text}`));
  }
}
