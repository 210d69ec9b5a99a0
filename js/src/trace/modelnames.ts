/** Names and keys that distinguish the models of a run. Pure. */

import type { Header } from "./header.ts";

/** Return a key for each model; it stays when calls and models are dropped. */
export function distinctKeys({ models }: Header): string[] {
  const seen = new Map<string, number>();
  return models.map(({ name, version, kind }) => {
    const key = encodeURIComponent(`${name}@${version}:${kind}`);
    const number = seen.get(key) ?? 0;
    seen.set(key, number + 1);
    return number ? `${key}.${number}` : key;
  });
}

/** Return the name of each model, with its version if several share the name. */
export function distinctNames({ models }: Header): string[] {
  const seen = new Map<string, number>();
  for (const { name } of models) seen.set(name, (seen.get(name) ?? 0) + 1);
  return models.map(({ name, version }) =>
    (seen.get(name) ?? 0) > 1 ? `${name} v${version}` : name,
  );
}
