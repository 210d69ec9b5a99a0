/** The entry of the dashboard: numbers that arrive as a trait, and word to Python that somebody watches. */

import { Dashboard } from "./dashboard.ts";
import type { WidgetModel } from "./kernel.ts";
import type { Overview } from "./overview.ts";

/** Python rests when it hears nothing for ten minutes. */
const WATCHING_MS = 30_000;
/** Numbers come twice a second; without any for so long they are not those of now. */
const LATE_MS = 5_000;

function render({ model, el }: { model: WidgetModel; el: HTMLElement }): () => void {
  const dashboard = new Dashboard();
  let came = new Date();
  let frame = 0;
  const overview = (): Overview => model.get("overview") as Overview;
  const tell = (): void => {
    const late = Date.now() - came.getTime() > LATE_MS;
    const state = late ? `no news since ${came.toLocaleTimeString()}` : "live";
    dashboard.tell(overview().ended ? "closed" : state);
  };
  const paint = (): void => {
    frame = 0;
    dashboard.draw(overview());
    tell();
  };
  const changed = (): void => {
    came = new Date();
    frame ||= requestAnimationFrame(paint);
  };
  const watching = (): void => {
    if (document.visibilityState === "visible" && !overview().ended)
      model.send({ type: "watching" });
  };
  el.append(dashboard.element);
  dashboard.theme();
  paint();
  watching();
  model.on("change:overview", changed);
  document.addEventListener("visibilitychange", watching);
  const timers = [setInterval(watching, WATCHING_MS), setInterval(tell, 1000)];
  return () => {
    model.off("change:overview", changed);
    document.removeEventListener("visibilitychange", watching);
    timers.forEach(clearInterval);
    cancelAnimationFrame(frame);
    dashboard.dispose();
  };
}

export default { render };
