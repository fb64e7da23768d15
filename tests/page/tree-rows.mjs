// The rows of the view Tree, and the branches of `genba tree --format json`, by the same names: so that a test can lay one on the other.

/** Rows of the view Tree from the top: what their cells say, and as `path` the names from the outermost call. */
export async function rowsOf(page) {
  const shown = await page.locator("[data-tree] [role=treeitem]").evaluateAll((items) => items.map((item) => {
    const [share, cpu, , wall, , samples, name] = item.children;
    const { top, bottom } = item.getBoundingClientRect();
    const own = [...name.childNodes].filter(({ nodeType }) => nodeType === Node.TEXT_NODE).map(({ data }) => data).join("").trim();
    return { level: Number(item.ariaLevel), share: share.innerText, cpu: cpu.title, wall: wall.title, samples: samples.innerText, name: own, isInSight: top >= 0 && bottom <= window.innerHeight };
  }));
  const path = [];
  return shown.map((row) => {
    path.splice(row.level - 1, Infinity, row.name);
    return { ...row, path: path.slice(1).join(" › ") };
  });
}

/** By their paths. A stack that is cut begins anew below its mark, which Python's frames alone do not show: the heavier of two rows with one path comes first, and counts. */
export function byPath(rows) {
  return new Map(rows.toReversed().map((row) => [row.path, row]));
}

/** Opens every row. On a screen that is too low for all rows only those in sight are there. */
export async function openAll(page) {
  const closed = page.locator("[data-tree] [role=treeitem][aria-expanded=false]");
  while (await closed.count() > 0) await closed.first().locator(".turn").evaluate((button) => button.click());
}

/** Branches of `genba tree --format json` by the same names. */
export function branchesOf({ branches }) {
  const pathOf = (at) => (at === null ? [] : [...pathOf(branches[at].parent), branches[at].name]);
  return new Map(branches.map((branch, at) => [pathOf(at).join(" › "), branch]));
}
