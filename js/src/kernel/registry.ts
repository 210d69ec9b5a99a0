/** Widgets without a view of their own, which a document's script finds in the page by id. */

/** Puts a live view in the place of a text; called by the document with the text. */
export type Mount = (host: HTMLElement) => void;

/** Make a view available to documents under a kind and an id; return a function that withdraws it. */
export function register(kind: string, id: string, mount: Mount): () => void {
  const page = globalThis as unknown as Record<symbol, Map<string, Mount> | undefined>;
  const all = (page[Symbol.for(`blsnb-${kind}`)] ??= new Map());
  all.set(id, mount);
  globalThis.dispatchEvent(new Event(`blsnb-${kind}-registered`));
  return () => {
    all.delete(id);
  };
}
