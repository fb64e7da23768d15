//! Which frames of a stack are the user's own code.
//! Owns: that rule. A sample counts for the deepest of them; without any, for the deepest Python frame. Below asyncio's event loop only
//! what the loop was given to run counts: who started the loop is on every task's stack, and is the place of none.

pub mod event_loop;
pub mod twins;

use std::cell::LazyCell;

use crate::tables::own_code::event_loop::EventLoop;
use crate::tables::owner::{self, Library, Owner};
use crate::tables::profile::{File, FileIndex, FrameIndex, FrameKind, Home, NodeIndex, Profile};
use crate::tables::table::TableIndex;

/// Code that CPython 3.11 compiles to a function of its own inside of another function. CPython 3.12 does so for the last only.
const PARTS_OF_A_FUNCTION: [&str; 4] = ["<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"];

/// Innermost first.
pub struct OwnCode {
    /// The code that the sample counts for. None: no Python frame at all.
    pub deepest: Option<FrameIndex>,
    /// Above an event loop, too.
    pub frames: Vec<FrameIndex>,
    /// How many of the frames run under the event loop; all of them if there is no loop.
    pub given: usize,
}

pub fn own_code(profile: &Profile, event_loop: &EventLoop, leaf: Option<NodeIndex>) -> OwnCode {
    own_code_and(profile, event_loop, leaf, &|_| false)
}

/// The same where somebody counts some files as the user's own beside those that are.
pub fn own_code_and(
    profile: &Profile,
    event_loop: &EventLoop,
    leaf: Option<NodeIndex>,
    also: &dyn Fn(FileIndex) -> bool,
) -> OwnCode {
    let is_python = |frame: &FrameIndex| profile.frames[*frame].kind == FrameKind::Python;
    let python: Vec<FrameIndex> = profile.stack(leaf).filter(is_python).collect();
    let owned = |frame: &FrameIndex, allowed: &dyn Fn(&str) -> bool| {
        let function = profile.function_of(*frame);
        let Home::Python { file, .. } = function.home else { return false };
        let row = &profile.files[file];
        also(file) || row.owner == Owner::User && allowed(&row.path)
    };
    let by_name = |frame: &FrameIndex| owned(frame, &|path| !owner::is_nameless(path) || owner::is_typed(path));
    // `python -c`. Whoever runs a text with `exec` has a file or was typed; what the standard library makes so are methods of Python's own,
    // and what `.pth` files run before the program.
    let by_site = LazyCell::new(|| python.iter().any(|frame| is_of_site(profile, *frame)));
    let by_text = |frame: &FrameIndex| {
        let name = &profile.function_of(*frame).name;
        let is_made = name.ends_with("__") && !name.starts_with('<');
        !is_made && owned(frame, &owner::is_program_text) && !*by_site
    };
    let named: Vec<bool> = python.iter().map(by_name).collect();
    let is_own = if named.contains(&true) { named } else { python.iter().map(by_text).collect() };
    let own = || python.iter().zip(&is_own).filter(|(_, is_own)| **is_own).map(|(frame, _)| *frame);
    let below = match event_loop.given(profile, leaf) {
        Some(given) => profile.stack(leaf).take(given).filter(is_python).count(),
        None => python.len(),
    };
    // Innermost first, so those below the loop are the first ones.
    let given = is_own[..below].iter().filter(|is_own| **is_own).count();
    let deepest = own().take(given).next().or(python.first().copied());
    OwnCode { deepest, given, frames: own().collect() }
}

/// Whether a file is a library's by its path, also where it counts as the user's own because its process ran next to none of that.
pub fn is_of_library(profile: &Profile, path: &str) -> bool {
    Library::of(path).is_some() || owner::path_in_installed(&profile.packages, path).is_some()
}

pub fn is_frame_of_library(profile: &Profile, frame: FrameIndex) -> bool {
    let Home::Python { file, .. } = profile.function_of(frame).home else { return false };
    is_of_library(profile, &profile.files[file].path)
}

fn is_of_site(profile: &Profile, frame: FrameIndex) -> bool {
    let Home::Python { file, .. } = profile.function_of(frame).home else { return false };
    let File { path, owner, .. } = &profile.files[file];
    path == "<frozen site>" || *owner == Owner::Stdlib && path.ends_with("/site.py")
}

/// A file and a name in it: the same for a function and the comprehensions in it.
pub(crate) fn code_of(profile: &Profile, frame: FrameIndex) -> (Option<usize>, &str) {
    let function = profile.function_of(frame);
    let file = match function.home {
        Home::Python { file, .. } => Some(file.position()),
        Home::C { .. } | Home::Mark => None,
    };
    (file, without_parts(&function.name))
}

/// `Shop.sell.<locals>.<genexpr>` → `Shop.sell`; a comprehension outside of functions is the module's.
pub(crate) fn without_parts(qualname: &str) -> &str {
    let mut name = qualname;
    while let Some((outer, inner)) = name.rsplit_once(".<locals>.")
        && PARTS_OF_A_FUNCTION.contains(&inner)
    {
        name = outer;
    }
    if PARTS_OF_A_FUNCTION.contains(&name) { "<module>" } else { name }
}

#[cfg(test)]
mod tests {
    use super::without_parts;

    #[test]
    fn a_comprehension_is_part_of_its_function() {
        let check = |qualname: &str, expected: &str| assert_eq!(without_parts(qualname), expected);
        check("Shop.sell.<locals>.<genexpr>", "Shop.sell");
        check("f.<locals>.<listcomp>.<locals>.<genexpr>", "f");
        check("f.<locals>.g", "f.<locals>.g");
        check("f.<locals>.<lambda>", "f.<locals>.<lambda>");
        check("<setcomp>", "<module>");
        check("<module>", "<module>");
    }
}
