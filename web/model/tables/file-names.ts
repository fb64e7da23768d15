// Short names of source files, the same that the terminal has for them: crates/profile/src/tables/file_names.rs.

/** Of each path its last part, and as many parts more as tell it from all others. */
export function fileNames(paths: Iterable<string>): ReadonlyMap<string, string> {
  const namesakes = new Map<string, string[]>();
  for (const path of new Set(paths)) {
    const last = fileName(path);
    namesakes.set(last, [...(namesakes.get(last) ?? []), path]);
  }
  return new Map([...namesakes.values()].flatMap((all) => all.map((path) => [path, shortest(path, all)] as const)));
}

/** The last part of a path. */
export function fileName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

function shortest(path: string, all: readonly string[]): string {
  const parts = path.split("/");
  const ends = parts.map((_, from) => parts.slice(from).join("/")).reverse();
  const isOthers = (end: string): boolean => all.some((other) => other !== path && (other === end || other.endsWith(`/${end}`)));
  return ends.find((end) => end !== "" && !isOthers(end)) ?? path;
}
