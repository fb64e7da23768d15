//! The way below a row as text: its links by name, the middle of a long one as a count.
//! Owns: how many links are shown. Keeps: what is left out is counted; on a screen no line is wider than its room.

use crate::tables::file_names::without_tag;
use crate::tables::owner::Owner;
use crate::tables::profile::{FunctionIndex, Home, Profile};
use crate::views::report::chain::Chain;
use crate::views::report::{Link, Report, Row};
use crate::words::excerpt::{middle_cut, printable};
use crate::words::figures::share;
use crate::words::wrap::wrapped_chain;

/// A longer way down is shown by its two ends; one link more takes no more room than the words for it.
const LINKS_MAX: usize = 9;
/// A wide screen shows more links, as long as they need no more lines than this.
const LINES_MAX: usize = 2;
/// Names so long that those links take more lines than this leave room for fewer links.
const LINES_MAX_OF_FEW: usize = 3;
const LINKS_MIN: usize = 5;
/// What `  → ` takes of a line that goes on.
const GOING_ON_CELLS: usize = 4;

/// A chain with a mark in it (a stack that was cut) says nothing of a row with a smaller share than this: the row has few samples, and other
/// rows show what the program does.
const MARKED_SHARE_MIN: f64 = 0.02;

/// The chain that a screen has under this row.
pub fn shown<'a>(profile: &Profile, report: &Report, row: &'a Row) -> &'a Chain {
    static NONE: Chain = Chain { links: Vec::new(), share: 0.0, split: Vec::new() };
    let weight = report.choice.weight;
    let is_small = share(row.own.by(weight), report.whole.by(weight)) < MARKED_SHARE_MIN;
    if is_small && row.chain.links.iter().any(|link| link.is_mark(profile)) { &NONE } else { &row.chain }
}

/// `json.dumps → JSONEncoder.encode → _iterencode 98 %: diff 24 %, quorem 15 %`
pub fn chain(profile: &Profile, chain: &Chain) -> String {
    let names = names(profile, chain);
    let shown = if names.len() > LINKS_MAX + 1 { LINKS_MAX } else { names.len() };
    let links = Some(ends(&names, shown).join(" → ")).filter(|links| !links.is_empty());
    links.into_iter().chain(split(profile, chain)).collect::<Vec<_>>().join(" ")
}

/// The same in lines for a screen.
pub fn chain_lines(profile: &Profile, chain: &Chain, room: usize) -> Vec<String> {
    let link_room = room.saturating_sub(GOING_ON_CELLS);
    let split: Vec<String> = split(profile, chain).iter().map(|step| middle_cut(&printable(step), link_room)).collect();
    let names: Vec<String> = names(profile, chain).iter().map(|name| middle_cut(&printable(name), link_room)).collect();
    let with = |shown: usize| wrapped_chain(&ends(&names, shown), &split, room);
    // To leave out a single link would say less in the same room.
    let counts = || (LINKS_MIN..=names.len()).rev().filter(|shown| shown + 1 != names.len());
    let many = counts().filter(|shown| *shown >= LINKS_MAX).map(with).find(|lines| lines.len() <= LINES_MAX);
    let few = || {
        let fewer = counts().filter(|shown| *shown <= LINKS_MAX + 1).map(with);
        fewer.into_iter().find(|lines| lines.len() <= LINES_MAX_OF_FEW)
    };
    many.or_else(few).unwrap_or_else(|| with(names.len().min(LINKS_MIN)))
}

/// The last link has the share that took the whole way and, if the link is a leaf, the owner of its code. The thread's wait follows.
fn names(profile: &Profile, chain: &Chain) -> Vec<String> {
    let links = &chain.links;
    let mut names: Vec<String> = links.iter().map(|link| link.name(profile)).collect();
    let waits = matches!(links.last(), Some(Link::State(_)));
    let leaf = links.len().checked_sub(1 + usize::from(waits)).filter(|_| chain.split.is_empty());
    if let Some(position) = leaf {
        names[position] = named(profile, links[position]);
    }
    if let Some(last) = names.last_mut() {
        let parts = if chain.split.is_empty() { "" } else { ":" };
        *last += &format!(" {:.0} %{parts}", chain.share * 100.0);
    }
    names
}

/// `diff 24 %,` and `quorem 15 %`: parts of what the last link has.
fn split(profile: &Profile, chain: &Chain) -> Vec<String> {
    let last = chain.split.len().saturating_sub(1);
    let steps = chain.split.iter().enumerate().map(|(position, (link, share))| {
        let comma = if position < last { "," } else { "" };
        format!("{} {:.0} %{comma}", named(profile, *link), share * 100.0)
    });
    steps.collect()
}

fn named(profile: &Profile, link: Link) -> String {
    let hint = match link {
        Link::Function(function) => module_hint(profile, function),
        Link::State(_) => None,
    };
    let name = link.name(profile);
    hint.map_or(name.clone(), |hint| format!("{name} ({hint})"))
}

/// `shown` of the names, more of them at the leaf, with the number of the others between.
fn ends(names: &[String], shown: usize) -> Vec<String> {
    if shown >= names.len() {
        return names.to_vec();
    }
    let at_top = shown * 4 / 9;
    let at_leaf = shown - at_top;
    let mut ends = names[..at_top].to_vec();
    ends.push(format!("({} more)", names.len() - shown));
    ends.extend_from_slice(&names[names.len() - at_leaf..]);
    ends
}

/// None: the interpreter's own code, which goes without saying, or Python.
fn module_hint(profile: &Profile, function: FunctionIndex) -> Option<String> {
    let Home::C { module, origin, .. } = &profile.functions[function].home else {
        return None;
    };
    let module = &profile.modules[*module];
    match module.owner {
        Owner::Interpreter => None,
        // Without a name of its own it is called by its module already.
        _ if origin.is_none() => None,
        Owner::Libc => Some("libc".to_string()),
        _ => Some(without_tag(module.base_name())),
    }
}
