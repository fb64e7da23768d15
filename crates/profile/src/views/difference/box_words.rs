//! What the boxes of a comparison's call tree are called: a name, and where it is.
//! Keeps: no two boxes under one caller have the same words.

use foldhash::HashMap;
use std::collections::{BTreeMap, BTreeSet};

use crate::rules::difference::Difference;
use crate::rules::difference::call_tree::{CallBox, CallStep, CallTree};
use crate::views::difference::short_names;
use crate::views::difference::text::one_line;
use crate::words::excerpt::printable;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct BoxWords {
    pub name: String,
    pub place: String,
    pub kind: &'static str,
}

/// Of each box of the tree.
pub(super) fn box_words(tree: &CallTree, difference: &Difference) -> Vec<BoxWords> {
    let files: BTreeSet<&str> = tree.boxes.iter().filter_map(|of| file(&of.step)).collect();
    let short = short_names(&files, difference);
    let plain = tree.boxes.iter().map(|of| plain_words(&of.step, &short)).collect();
    numbered(tree, with_columns(tree, plain))
}

fn file(step: &CallStep) -> Option<&str> {
    match step {
        CallStep::Function { file, .. } | CallStep::Expression { file, .. } => Some(file),
        CallStep::All | CallStep::C { .. } | CallStep::Words(_) => None,
    }
}

/// `short`: the names of files.
fn plain_words(step: &CallStep, short: &BTreeMap<String, String>) -> BoxWords {
    let place = |file: &str, line: Option<u32>| {
        let file = short.get(file).map_or(file, String::as_str);
        line.map_or_else(|| file.to_string(), |line| format!("{file}:{line}"))
    };
    let (name, place, kind) = match step {
        CallStep::All => ("everything".to_string(), String::new(), "all"),
        CallStep::Function { file, name, line } => (name.clone(), place(file, *line), "function"),
        CallStep::Expression { file, line, text, .. } => {
            let in_line = || line.map_or_else(|| "line".to_string(), |line| format!("line {line}"));
            (text.as_deref().map_or_else(in_line, one_line), place(file, *line), "expression")
        }
        CallStep::C { module, name } => (name.clone(), module.clone(), "c"),
        CallStep::Words(words) => (words.clone(), String::new(), "words"),
    };
    BoxWords { name: printable(&name), place: printable(&place), kind }
}

/// One line may have an expression twice.
fn with_columns(tree: &CallTree, words: Vec<BoxWords>) -> Vec<BoxWords> {
    let mut counts: HashMap<(Option<usize>, BoxWords), usize> = HashMap::default();
    for (of, words) in tree.boxes.iter().zip(&words) {
        *counts.entry((of.parent, words.clone())).or_default() += 1;
    }
    let with_column = |(of, words): (&CallBox, BoxWords)| match of.step {
        CallStep::Expression { line: Some(_), column: Some(column), .. }
            if counts.get(&(of.parent, words.clone())).is_some_and(|count| *count > 1) =>
        {
            BoxWords { place: format!("{}:{}", words.place, column + 1), ..words }
        }
        _ => words,
    };
    tree.boxes.iter().zip(words).map(with_column).collect()
}

/// Nothing else tells two texts apart that are in no file and begin in the same line.
fn numbered(tree: &CallTree, words: Vec<BoxWords>) -> Vec<BoxWords> {
    let mut seen: HashMap<(Option<usize>, BoxWords), usize> = HashMap::default();
    let number = |(of, words): (&CallBox, BoxWords)| {
        let nth = seen.entry((of.parent, words.clone())).or_default();
        *nth += 1;
        match *nth {
            1 => words,
            nth => BoxWords { place: format!("{} ({nth})", words.place).trim_start().to_string(), ..words },
        }
    };
    tree.boxes.iter().zip(words).map(number).collect()
}
