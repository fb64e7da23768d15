//! The way below a row as text: its links by name, the middle of a long one as a count.
//! Owns: how many links are shown. Keeps: what is left out is counted; on a screen no line is wider than its room.

use crate::owner::Owner;
use crate::profile::{FunctionIndex, Home, Profile};
use crate::report::Link;
use crate::report::excerpt::{middle_cut, printable};
use crate::wrap::wrapped_chain;

/// A longer way down is shown by its two ends; one link more takes no more room than the words for it.
const LINKS_MAX: usize = 9;
/// On a screen with room for more there are more, as long as they stand in so many lines.
const LINES_MAX: usize = 2;
/// Names so long that those links take more lines than this leave room for fewer links.
const LINES_MAX_OF_FEW: usize = 3;
const LINKS_MIN: usize = 5;
/// What `  → ` takes of a line that goes on.
const GOING_ON_CELLS: usize = 4;

/// `bytes.__getitem__ → PyBytes_FromStringAndSize → memmove (libc)`
pub fn chain(profile: &Profile, links: &[Link]) -> String {
    let names = names(profile, links);
    let shown = if names.len() > LINKS_MAX + 1 { LINKS_MAX } else { names.len() };
    ends(&names, shown).join(" → ")
}

/// The same in lines for a screen.
pub fn chain_lines(profile: &Profile, links: &[Link], room: usize) -> Vec<String> {
    let link_room = room.saturating_sub(GOING_ON_CELLS);
    let names: Vec<String> = names(profile, links).iter().map(|name| middle_cut(&printable(name), link_room)).collect();
    let with = |shown: usize| wrapped_chain(&ends(&names, shown), room);
    // To leave out a single link would say less in the same room.
    let counts = || (LINKS_MIN..=names.len()).rev().filter(|shown| shown + 1 != names.len());
    let many = counts().filter(|shown| *shown >= LINKS_MAX).map(with).find(|lines| lines.len() <= LINES_MAX);
    let few = || {
        let fewer = counts().filter(|shown| *shown <= LINKS_MAX + 1).map(with);
        fewer.into_iter().find(|lines| lines.len() <= LINES_MAX_OF_FEW)
    };
    many.or_else(few).unwrap_or_else(|| with(names.len().min(LINKS_MIN)))
}

/// The leaf says whose code it is; what the thread waits for stands after it.
fn names(profile: &Profile, links: &[Link]) -> Vec<String> {
    let mut names: Vec<String> = links.iter().map(|link| link.name(profile)).collect();
    let waits = matches!(links.last(), Some(Link::State(_)));
    let leaf = links.len().checked_sub(1 + usize::from(waits));
    if let Some(position) = leaf
        && let Link::Function(function) = links[position]
        && let Some(hint) = module_hint(profile, function)
    {
        names[position] += &format!(" ({hint})");
    }
    names
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
        _ => Some(module.base_name().to_string()),
    }
}
