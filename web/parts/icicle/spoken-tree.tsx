// The tree beside the canvas for screen readers: the way to the selected box, its siblings and its children. Each item
// says its level and position, so that what is not listed is still counted.
import type { JSX } from "preact";
import { siblingsOf } from "../../model/tree/layout";
import { pathTo, placeOf, shareOf } from "../../model/tree/tree";
import type { BoxIndex } from "../../model/units";
import { placeWhere, shareWords } from "../../model/words";
import type { Picture } from "./picture";

const NEIGHBOURS_MAX = 20;

export function spokenId(picture: Picture, box: BoxIndex): string {
  return `${picture.label.toLowerCase().replaceAll(" ", "-")}-${box}`;
}

export function SpokenTree({ picture }: { picture: Picture }): JSX.Element {
  const tree = picture.tree.value;
  const weight = picture.weight.value;
  const selected = picture.selected.value;
  const siblings = siblingsOf(tree, weight, selected);
  const here = Math.max(0, siblings.indexOf(selected));
  const near = siblings.slice(Math.max(0, here - NEIGHBOURS_MAX), here + NEIGHBOURS_MAX + 1);
  const children = tree.childrenOf(selected, weight).slice(0, NEIGHBOURS_MAX);
  const path = pathTo(tree, selected);
  const listed = [...path.slice(0, -1), ...(near.includes(selected) ? near : [selected]), ...children];
  return (
    <>
      {listed.map((box) => {
        const row = siblingsOf(tree, weight, box);
        const parts = [picture.nameOf(box), placeWhere(placeOf(tree, box)), shareWords(shareOf(tree, box, weight))];
        return (
          <span
            key={box}
            id={spokenId(picture, box)}
            class="spoken"
            role="treeitem"
            aria-level={(tree.depth[box] ?? 0) + 1}
            aria-posinset={row.indexOf(box) + 1}
            aria-setsize={row.length}
            aria-selected={box === selected}
            aria-expanded={tree.childrenOf(box, weight).length > 0 ? path.includes(box) : undefined}
          >
            {parts.filter((part) => part !== "").join(", ")}
          </span>
        );
      })}
    </>
  );
}
