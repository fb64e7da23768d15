//! Whole call paths: every function under each of its callers, never merged across callers.
//! Owns: the tree and the order of its branches. Never: makes text (`text`, `json` do).

mod fold;
pub mod json;
pub mod text;

use foldhash::HashMap;

use crate::rules::reading::Reading;
use crate::rules::show::Show;
use crate::rules::weight::{Choice, Totals, Weight};
use crate::tables::file_names::{FileNames, without_tag};
use crate::tables::own_code::event_loop::EventLoop;
use crate::tables::own_code::twins::Twins;
use crate::tables::profile::{FrameKind, FunctionIndex, Home, Profile, SampleGroup};
use crate::tables::state::in_words;
use crate::tables::table::{Table, table_index};
use genba_format::state::State;

table_index!(/// Row of `Tree::branches`.
    BranchIndex);

#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// None: genba chooses.
    pub weight: Option<Weight>,
    pub show: Show,
    /// From the leaves to their callers.
    pub inverted: bool,
    /// Every call, also asyncio's own calls above its event loop's work, and the interpreter's own calls.
    pub whole: bool,
    /// 0 to 1; branches below it are folded.
    pub share_min: f64,
    /// None: to the leaves.
    pub depth_max: Option<usize>,
    pub sort: Order,
    /// Under each parent. None: all of them.
    pub children_max: Option<usize>,
}

/// Of branches with one parent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    #[default]
    Total,
    /// By what ends there.
    Own,
}

#[derive(Debug)]
pub struct Tree {
    pub choice: Choice,
    pub whole: Totals,
    pub branches: Table<BranchIndex, Branch>,
    /// As the children of each branch in the order that was asked for.
    pub roots: Vec<BranchIndex>,
}

#[derive(Debug)]
pub struct Branch {
    pub step: Step,
    /// With everything below.
    pub total: Totals,
    /// Of samples whose stack ends here.
    pub own: Totals,
    pub children: Vec<BranchIndex>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    Function(FunctionIndex, Found),
    /// In place of all calls down to what asyncio's event loop runs.
    EventLoop,
    /// What the thread waited for.
    State(State),
    NoStack,
}

/// How a function is known to have been there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Found {
    OnStack,
    Inferred,
    Inlined,
}

pub fn tree(reading: &Reading, options: &Options) -> Tree {
    let profile = &reading.profile;
    let choice = reading.choice(options.weight);
    let mut tree = Tree { choice, whole: Totals::default(), branches: Table::default(), roots: Vec::new() };
    // From the leaves on, the loop's own calls come last and are in nobody's way.
    let event_loop = if options.inverted || options.whole { EventLoop::default() } else { EventLoop::of(profile) };
    let twins = Twins::of(profile);
    let mut known: HashMap<(Option<BranchIndex>, Step), BranchIndex> = HashMap::default();
    for group in &profile.samples {
        let totals = Totals::of_group(group);
        tree.whole.add(totals);
        let mut steps = steps((profile, &twins), options.show, &event_loop, group);
        if !options.inverted {
            steps.reverse();
        }
        let mut parent = None;
        for step in steps {
            let branch = *known.entry((parent, step)).or_insert_with(|| {
                let branch = tree.branches.push(Branch {
                    step,
                    total: Totals::default(),
                    own: Totals::default(),
                    children: Vec::new(),
                });
                match parent {
                    Some(parent) => tree.branches[parent].children.push(branch),
                    None => tree.roots.push(branch),
                }
                branch
            });
            tree.branches[branch].total.add(totals);
            parent = Some(branch);
        }
        if let Some(end) = parent {
            tree.branches[end].own.add(totals);
        }
    }
    sort(profile, &mut tree, options.sort);
    tree
}

/// Innermost first.
fn steps((profile, twins): (&Profile, &Twins), show: Show, event_loop: &EventLoop, group: &SampleGroup) -> Vec<Step> {
    let mut steps = Vec::new();
    if group.state != State::Running {
        steps.push(Step::State(group.state));
    }
    let given = event_loop.given(profile, group.node);
    for frame in profile.stack(group.node).take(given.unwrap_or(usize::MAX)) {
        let frame = &profile.frames[frame];
        if show.shows(frame.kind) {
            let found = match frame.kind {
                FrameKind::Inferred => Found::Inferred,
                FrameKind::Inlined => Found::Inlined,
                FrameKind::Python | FrameKind::C | FrameKind::Mark => Found::OnStack,
            };
            steps.push(Step::Function(twins.function(frame.function), found));
        }
    }
    if given.is_some() {
        steps.push(Step::EventLoop);
    }
    if steps.iter().all(|step| matches!(step, Step::State(_))) {
        steps.push(Step::NoStack);
    }
    steps
}

fn sort(profile: &Profile, tree: &mut Tree, by: Order) {
    let weight = tree.choice.weight;
    let order = |branches: &Table<BranchIndex, Branch>, list: &mut Vec<BranchIndex>| {
        list.sort_by_cached_key(|branch| {
            let branch = &branches[*branch];
            let (own, total) = (branch.own.by(weight), branch.total.by(weight));
            let measures = match by {
                Order::Total => (total, 0),
                Order::Own => (own, total),
            };
            (std::cmp::Reverse(measures), name(profile, branch.step, None))
        });
    };
    let mut lists: Vec<Vec<BranchIndex>> =
        tree.branches.iter_mut().map(|branch| std::mem::take(&mut branch.children)).collect();
    for list in &mut lists {
        order(&tree.branches, list);
    }
    for (branch, list) in tree.branches.iter_mut().zip(lists) {
        branch.children = list;
    }
    let mut roots = std::mem::take(&mut tree.roots);
    order(&tree.branches, &mut roots);
    tree.roots = roots;
}

impl Tree {
    /// Which of some children are shown at this depth, in their order, and which are left out.
    fn shown(&self, options: &Options, children: &[BranchIndex], depth: usize) -> (Vec<BranchIndex>, Vec<BranchIndex>) {
        let weight = self.choice.weight;
        let smallest = options.share_min * self.whole.by(weight) as f64;
        let is_heavy = |child: &BranchIndex| self.branches[*child].total.by(weight) as f64 >= smallest;
        let is_too_deep = options.depth_max.is_some_and(|depth_max| depth >= depth_max);
        let (mut shown, mut others): (Vec<_>, Vec<_>) =
            children.iter().partition(|child| is_heavy(child) && !is_too_deep);
        others.extend(shown.split_off(options.children_max.map_or(shown.len(), |most| most.min(shown.len()))));
        (shown, others)
    }
}

const EVENT_LOOP: &str = "event loop (asyncio)";

/// `load (app.py:3)`, `memmove [libc.so.6]`; with `files` in the short forms of a screen.
fn name(profile: &Profile, step: Step, files: Option<&FileNames>) -> String {
    let (function, found) = match step {
        Step::State(state) => return in_words(state),
        Step::NoStack => return "no stack".to_string(),
        Step::EventLoop => return EVENT_LOOP.to_string(),
        Step::Function(function, found) => (&profile.functions[function], found),
    };
    let name = &function.name;
    match &function.home {
        Home::Python { file, first_line, .. } => {
            if profile.files[*file].is_unknown() {
                return name.clone();
            }
            let path = &profile.files[*file].path;
            let file = files.and_then(|files| files.short(*file)).unwrap_or(path);
            match first_line {
                0 => format!("{name} ({file})"),
                _ => format!("{name} ({file}:{first_line})"),
            }
        }
        Home::C { module, origin, .. } => {
            let how = match found {
                Found::OnStack => "",
                Found::Inferred => " (inferred)",
                Found::Inlined => " (inlined)",
            };
            match origin {
                // Without a name of its own it is called by its module already.
                None => format!("{name}{how}"),
                Some(_) => {
                    let file = profile.modules[*module].base_name();
                    let file = files.map_or_else(|| file.to_string(), |_| without_tag(file));
                    format!("{name}{how} [{file}]")
                }
            }
        }
        Home::Mark => format!("({name})"),
    }
}
