//! Runs of the interpreter's own calls that a reader of the tree does not need: calls from the first frame of a thread to the first
//! Python function, and calls that only pass a call on.
//! Owns: which calls are one line. Never: takes a call out of the tree; its JSON and every export have them all.
//! Partner: web/model/tree/fold.ts, which has the same rule for the page. testdata/page/fold.json holds both to the same runs.

use super::{BranchIndex, Found, Options, Step, Tree};
use crate::rules::show::Show;
use crate::rules::weight::Totals;
use crate::tables::owner::Owner;
use crate::tables::profile::{Home, Profile};
use crate::tables::table::TableIndex;
use crate::views::plumbing::passes_on;

/// A call with this much self time, or this much time in a second callee, is shown.
const SHARE_MIN: f64 = 0.01;
/// A run of one call is not folded: its line would take the same room.
const CALLS_MIN: usize = 2;

/// Calls, each with the next as its only heavy child.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) calls: Vec<BranchIndex>,
    /// The children of its last call, then the light children of the others.
    pub(super) children: Vec<BranchIndex>,
}

pub(super) struct Fold<'t> {
    profile: &'t Profile,
    tree: &'t Tree,
    /// The least weight of a heavy branch.
    smallest: f64,
    /// For each branch: whether heavy calls below it lead to a Python function.
    leads_to_python: Vec<bool>,
}

impl<'t> Fold<'t> {
    /// None: the options ask for every call or for C alone, or the tree does not begin at the root of a thread.
    pub(super) fn of(profile: &'t Profile, tree: &'t Tree, options: &Options) -> Option<Fold<'t>> {
        if options.whole || options.inverted || options.show == Show::C {
            return None;
        }
        let smallest = (options.share_min.min(SHARE_MIN) * tree.whole.by(tree.choice.weight) as f64).max(1.0);
        let mut fold = Fold { profile, tree, smallest, leads_to_python: vec![false; tree.branches.len()] };
        // A branch comes after the one that it is below.
        let branches: Vec<BranchIndex> = tree.branches.enumerate().map(|(branch, _)| branch).collect();
        for branch in branches.into_iter().rev() {
            let leads = |child: BranchIndex| fold.leads_to_python[child.position()] || is_python(profile, tree, child);
            let leads = fold.heavy(branch).any(leads);
            fold.leads_to_python[branch.position()] = leads;
        }
        Some(fold)
    }

    /// The run that begins at a branch. `leads`: only the interpreter's own calls are above the branch.
    pub(super) fn run(&self, first: BranchIndex, leads: bool) -> Option<Run> {
        let mut run = Run { calls: Vec::new(), children: Vec::new() };
        let mut next = Some(first);
        while let Some(branch) = next.filter(|branch| self.is_of_no_interest(*branch, leads)) {
            run.calls.push(branch);
            let mut heavy = self.heavy(branch);
            next = heavy.next().filter(|_| heavy.next().is_none());
        }
        let mut light: Vec<BranchIndex> = Vec::new();
        for pair in run.calls.windows(2) {
            light.extend(self.tree.branches[pair[0]].children.iter().filter(|child| **child != pair[1]));
        }
        run.children = self.tree.branches[*run.calls.last()?].children.clone();
        run.children.extend(light);
        let of_interpreter =
            |call: &BranchIndex| self.owner(*call) == Some(Owner::Interpreter) || self.passes_on(*call);
        let is_of_interpreter = run.calls.iter().any(of_interpreter);
        (run.calls.len() >= CALLS_MIN && is_of_interpreter).then_some(run)
    }

    /// Whether the callees of a branch still have only the interpreter's own calls above them.
    pub(super) fn leads(&self, branch: BranchIndex) -> bool {
        matches!(self.owner(branch), Some(Owner::Interpreter | Owner::Libc))
    }

    fn is_of_no_interest(&self, branch: BranchIndex, leads: bool) -> bool {
        let is_own = self.passes_on(branch) || (leads && self.leads(branch) && self.leads_to_python[branch.position()]);
        is_own && (self.weigh(self.tree.branches[branch].own) < self.smallest) && self.heavy(branch).next().is_some()
    }

    fn heavy(&self, branch: BranchIndex) -> impl Iterator<Item = BranchIndex> {
        let children = self.tree.branches[branch].children.iter().copied();
        children.filter(|child| self.weigh(self.tree.branches[*child].total) >= self.smallest)
    }

    fn weigh(&self, totals: Totals) -> f64 {
        totals.by(self.tree.choice.weight) as f64
    }

    fn passes_on(&self, branch: BranchIndex) -> bool {
        let Step::Function(function, _) = self.tree.branches[branch].step else { return false };
        passes_on(self.profile, function)
    }

    /// The name of a C function.
    fn owner(&self, branch: BranchIndex) -> Option<Owner> {
        let Step::Function(function, Found::OnStack | Found::Inferred | Found::Inlined) =
            self.tree.branches[branch].step
        else {
            return None;
        };
        match self.profile.functions[function].home {
            Home::C { .. } => self.profile.owner_of(function),
            Home::Python { .. } | Home::Mark => None,
        }
    }
}

fn is_python(profile: &Profile, tree: &Tree, branch: BranchIndex) -> bool {
    match tree.branches[branch].step {
        Step::Function(function, _) => matches!(profile.functions[function].home, Home::Python { .. }),
        Step::EventLoop => true,
        Step::State(_) | Step::NoStack => false,
    }
}
