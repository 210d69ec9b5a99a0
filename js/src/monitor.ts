/** The entry of the dashboard: shows the trait `overview`, and reports to Python that it is watched. */

import { Dashboard } from "./dashboard/dashboard.ts";
import { register } from "./kernel/registry.ts";
import type { WidgetModel } from "./kernel/widget.ts";
import type { Overview } from "./dashboard/overview.ts";

/** Pause between two reports; without one for ten minutes Python stops reading. */
const WATCHING_MS = 30_000;
/** Numbers arrive twice a second; after this pause they are late. */
const LATE_MS = 5_000;

/** A live view. */
interface Watched {
  dashboard: Dashboard;
  dispose(): void;
}

/** Connect a dashboard to its model; it must be in the page. */
function watch(model: WidgetModel, dashboard: Dashboard): Watched {
  let came = new Date();
  let frame = 0;
  const overview = (): Overview => model.get("overview") as Overview;
  const showState = (): void => {
    const late = Date.now() - came.getTime() > LATE_MS;
    const state = late ? `no news since ${came.toLocaleTimeString()}` : "live";
    dashboard.showState(overview().ended ? "closed" : state);
  };
  const paint = (): void => {
    frame = 0;
    dashboard.draw(overview());
    showState();
  };
  const changed = (): void => {
    came = new Date();
    frame ||= requestAnimationFrame(paint);
  };
  const watching = (): void => {
    const seen = document.visibilityState === "visible" && dashboard.element.isConnected;
    if (seen && !overview().ended) model.send({ type: "watching" });
  };
  dashboard.theme();
  paint();
  watching();
  model.on("change:overview", changed);
  document.addEventListener("visibilitychange", watching);
  const timers = [setInterval(watching, WATCHING_MS), setInterval(showState, 1000)];
  const dispose = (): void => {
    model.off("change:overview", changed);
    document.removeEventListener("visibilitychange", watching);
    timers.forEach(clearInterval);
    cancelAnimationFrame(frame);
    dashboard.dispose();
  };
  return { dashboard, dispose };
}

function render({ model, el }: { model: WidgetModel; el: HTMLElement }): () => void {
  const dashboard = new Dashboard();
  el.append(dashboard.element);
  return watch(model, dashboard).dispose;
}

/**
 * The output of a cell is a table, which a notebook keeps. As long as there is a kernel, the live view
 * takes its place, and moves to a newer table.
 */
function initialize({ model }: { model: WidgetModel }): () => void {
  const id = String(model.get("monitor_id"));
  const all: Watched[] = [];
  const withdraw = register("monitors", id, (host) => {
    const left = all.find(({ dashboard }) => !dashboard.element.isConnected);
    const dashboard = left?.dashboard ?? new Dashboard();
    dashboard.moveTo(host);
    if (!left) all.push(watch(model, dashboard));
  });
  return () => {
    withdraw();
    for (const { dispose } of all) dispose();
  };
}

export default { initialize, render };
