//! Names for functions that have none, from those that lead to them.
//! Owns: which function a moved part belongs to, and which named function all ways to an unnamed one begin in. Never:
//! answers when a way in may be unseen: its address is taken, or code without a description leads there.

use super::flow::{EdgeKind, Flow};
use crate::file::extents::{ExtentIndex, Extents};
use std::collections::BTreeSet;
use std::rc::Rc;

pub(crate) struct Lineage<'n> {
    pub extents: &'n Extents<'n>,
    pub flow: &'n Flow,
}

/// Helpers of helpers are followed up to this many functions.
const UNNAMED_MAX: usize = 2000;
/// What more functions than this lead to belongs to none of them.
const DOMINATORS_MAX: usize = 3;
const PARTS_MAX: usize = 8;
/// Extents of one function that jump to one of its parts.
const PARTS_OF_ONE_MAX: usize = 3;

impl Lineage<'_> {
    /// The extent that `part` was moved out of: everything that leads there jumps, and from one extent only, or from other parts
    /// of that extent (BOLT makes up to three of one function).
    pub fn whole_of(&self, part: ExtentIndex) -> Option<ExtentIndex> {
        let extent = self.extents.get(part);
        let sources = self.jumped_from(part)?;
        let whole = match sources.iter().copied().collect::<Vec<_>>()[..] {
            [whole] => whole,
            ref several if several.len() <= PARTS_OF_ONE_MAX => {
                let mut wholes = several.iter().copied().filter(|&whole| self.is_whole_of_all(whole, several, part));
                wholes.next().filter(|_| wholes.next().is_none())?
            }
            _ => return None,
        };
        let entered_inside = self.flow.edges_to(self.extents, part).iter().any(|edge| edge.to != extent.start);
        let whole_start = self.extents.get(whole).start;
        let comes_back = self
            .flow
            .edges_to(self.extents, whole)
            .iter()
            .any(|edge| edge.from == Some(part) && edge.to != whole_start);
        let is_part = entered_inside || comes_back || !self.extents.begins_like_a_function(part);
        is_part.then_some(whole)
    }

    /// The extents that jump to `part`; `None`: something calls it, or is not known.
    fn jumped_from(&self, part: ExtentIndex) -> Option<BTreeSet<ExtentIndex>> {
        let edges = self.flow.edges_to(self.extents, part).iter();
        let sources: Option<BTreeSet<ExtentIndex>> =
            edges.map(|edge| edge.from.filter(|_| edge.kind == EdgeKind::Jump)).collect();
        sources.filter(|sources| !sources.is_empty())
    }

    /// Whether of the extents that jump to `part`, all but `whole`, which begins a function, begin in the middle of one and are
    /// reached from nowhere else.
    fn is_whole_of_all(&self, whole: ExtentIndex, sources: &[ExtentIndex], part: ExtentIndex) -> bool {
        let is_known = |from: &ExtentIndex| *from == part || sources.contains(from);
        let is_part = |other: ExtentIndex| {
            !self.extents.begins_like_a_function(other)
                && self.jumped_from(other).is_some_and(|from| from.contains(&whole) && from.iter().all(is_known))
        };
        self.extents.begins_like_a_function(whole) && sources.iter().all(|&other| other == whole || is_part(other))
    }

    /// As `whole_of`, through parts of parts, up to an extent that has a name.
    pub fn named_whole_of(
        &self,
        part: ExtentIndex,
        name_of: &dyn Fn(ExtentIndex) -> Option<Rc<str>>,
    ) -> Option<Rc<str>> {
        let mut at = part;
        for _ in 0..PARTS_MAX {
            at = self.whole_of(at)?;
            if let Some(name) = name_of(at) {
                return Some(name);
            }
        }
        None
    }

    /// The named functions in which every way to `helper` begins.
    pub fn dominators_of(
        &self,
        helper: ExtentIndex,
        name_of: &dyn Fn(ExtentIndex) -> Option<Rc<str>>,
    ) -> Option<BTreeSet<Rc<str>>> {
        let mut dominators = BTreeSet::new();
        let mut seen = BTreeSet::from([helper]);
        let mut open = vec![helper];
        while let Some(unnamed) = open.pop() {
            let start = self.extents.get(unnamed).start;
            if seen.len() > UNNAMED_MAX || self.flow.is_address_taken(start) {
                return None;
            }
            let mut entered = false;
            for edge in self.flow.edges_to(self.extents, unnamed) {
                let from = edge.from?;
                entered = true;
                if seen.contains(&from) {
                    continue;
                }
                match name_of(from) {
                    Some(name) => {
                        dominators.insert(name);
                        // A helper of hundreds: they need not all be looked at.
                        if dominators.len() > DOMINATORS_MAX {
                            return None;
                        }
                    }
                    None => {
                        seen.insert(from);
                        open.push(from);
                    }
                }
            }
            if !entered {
                return None;
            }
        }
        Some(dominators)
    }
}

/// One name for all that is reached through `dominators` only: `list.sort⁺`, `list.__imul__/__mul__⁺`. None: too many.
pub(crate) fn dominated_name(dominators: &BTreeSet<Rc<str>>) -> Option<String> {
    let names: Vec<&str> = dominators.iter().map(|name| &**name).collect();
    let (owner, _) = names.first()?.rsplit_once('.').unwrap_or_default();
    let words: Option<Vec<&str>> = names
        .iter()
        .map(|name| name.rsplit_once('.').filter(|&(other, _)| other == owner).map(|(_, word)| word))
        .collect();
    match (&names[..], words) {
        ([name], _) => Some(format!("{name}⁺")),
        (_, Some(words)) if words.len() <= DOMINATORS_MAX => Some(format!("{owner}.{}⁺", words.join("/"))),
        ([first, second], _) => Some(format!("{first}/{second}⁺")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::dominated_name;

    #[test]
    fn a_helper_of_few_functions_says_which() {
        let check = |names: &[&str], expected: Option<&str>| {
            let names = names.iter().map(|&name| name.into()).collect();
            assert_eq!(dominated_name(&names).as_deref(), expected);
        };
        check(&["list.sort"], Some("list.sort⁺"));
        check(&["list.__mul__", "list.__imul__"], Some("list.__imul__/__mul__⁺"));
        check(&["a.B.x", "a.B.y", "a.B.z"], Some("a.B.x/y/z⁺"));
        check(&["PyList_Sort", "list.sort"], Some("PyList_Sort/list.sort⁺"));
        check(&["PyA", "PyB", "PyC"], None);
        check(&["a.b", "PyB", "c.d"], None);
        check(&[], None);
    }
}
