// The chain from an expression into C, as names with the colour of whose code they are.
import { Fragment } from "preact";
import type { JSX } from "preact";
import type { Link, WhereRow } from "../model/rows";
import { partWords } from "../model/words";

/** Longer chains keep both ends, and say what is between. */
const CHAIN_ENDS = 4;

export function Chain({ row: { row, linked } }: { row: WhereRow }): JSX.Element | null {
  const { chain, split } = linked();
  if (chain.length === 0 && split.length === 0) return null;
  const between = chain.slice(CHAIN_ENDS, -CHAIN_ENDS);
  const isLong = between.length > 1;
  const shown = isLong ? [...chain.slice(0, CHAIN_ENDS), between, ...chain.slice(-CHAIN_ENDS)] : chain;
  return (
    <span class="chain">
      {shown.map((link, at) => (
        <Fragment key={at}>
          {at === 0 ? null : " → "}
          {"name" in link ? <Step link={link} /> : <abbr title={link.map(({ name }) => name).join(" → ")}>{link.length} more</abbr>}
        </Fragment>
      ))}
      {row.chainShare === null ? null : ` ${partWords(row.chainShare)}`}
      {split.map(({ link, share }, at) => (
        <Fragment key={link.name}>
          {at > 0 ? ", " : chain.length > 0 ? ": " : null}
          <Step link={link} /> {partWords(share)}
        </Fragment>
      ))}
    </span>
  );
}

function Step({ link }: { link: Link }): JSX.Element {
  const why = link.inferred ? "inferred: a tail call had taken it off the stack" : undefined;
  return <i class={link.inferred ? "inferred" : `tint-${link.tint}`} title={why}>{link.name}</i>;
}
