//! Which test a stack belongs to: pytest and unittest call tests from functions of theirs that are known by name.
//! Owns: those functions. Never: takes for a test what one began in a task; tells the parameters of a test: all calls of one function are one test,
//! as no recording has arguments or the environment (docs/recipes/pytest.md).

use crate::tables::owner::Owner;
use crate::tables::profile::{FunctionIndex, Home, NodeIndex, Profile};

/// The end of a file's path, and the function in it that calls a test: CPython 3.11 to 3.15, pytest since 3.0. A plugin for coroutines, such as
/// that of anyio, has a hook of the same name, which calls the test itself.
const CALLERS: [(&str, &str); 3] = [
    (".py", "pytest_pyfunc_call"),
    ("/unittest/case.py", "TestCase._callTestMethod"),
    ("/unittest/async_case.py", "IsolatedAsyncioTestCase._callTestMethod"),
];

/// Functions of event loops below which tasks run: that a test waits for one does not say in whose task a stack is.
const LOOPS: [(&str, &str); 4] = [
    ("/asyncio/runners.py", "Runner.run"),
    ("/asyncio/base_events.py", "BaseEventLoop.run_until_complete"),
    ("/asyncio/base_events.py", "BaseEventLoop.run_forever"),
    ("/trio/_core/_run.py", "unrolled_run"),
];

/// How the name of a file begins that is the text of an example: CPython 3.11 to 3.15.
const DOCTEST: &str = "<doctest ";

/// Whose a stack is in a run of tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tested {
    /// The outermost of the user's functions below the outermost caller of tests: what stands between them only wraps the test.
    By(FunctionIndex),
    /// Of some test that is a coroutine: a task that it began, or the loop's wait. Which test that was the stack does not hold.
    InTask,
    /// No test ran, as where a run collects its tests, or makes what they need.
    Nothing,
}

/// The outermost caller decides: a test may run tests.
#[must_use]
pub fn tested(profile: &Profile, leaf: Option<NodeIndex>) -> Tested {
    let mut found = Tested::Nothing;
    let (mut outermost_own, mut outermost_named, mut is_in_loop) = (None, None, false);
    for frame in profile.stack(leaf) {
        let function = profile.frames[frame].function;
        let test = match (outermost_own, outermost_named) {
            // A decorator of the user's own: many tests have the same one.
            (Some(own), Some(named)) if is_inner(profile, own) => Some(named),
            (own, _) => own,
        };
        if is_doctest(profile, function) {
            found = Tested::By(function);
        } else if is_one_of(&CALLERS, profile, function) {
            found = match test {
                Some(test) if !is_in_loop || !is_inner(profile, test) || is_named_as_test(profile, test) => {
                    Tested::By(test)
                }
                None if !is_in_loop => Tested::Nothing,
                _ => Tested::InTask,
            };
        } else if is_one_of(&LOOPS, profile, function) {
            // The test's own task has the test at its root, any other one has a function that the test began it with.
            outermost_own = test.filter(|test| is_named_as_test(profile, *test));
            outermost_named = outermost_own;
            is_in_loop = true;
        } else if profile.owner_of(function) == Some(Owner::User) {
            outermost_own = Some(function);
            if is_named_as_test(profile, function) {
                outermost_named = Some(function);
            }
        }
    }
    found
}

fn is_one_of(functions: &[(&str, &str)], profile: &Profile, function: FunctionIndex) -> bool {
    let row = &profile.functions[function];
    let Home::Python { file, .. } = row.home else { return false };
    let path = &profile.files[file].path;
    functions.iter().any(|(end, name)| row.name == *name && path.ends_with(*end))
}

/// One of the examples in a text, which `doctest` names after the object that has the text.
fn is_doctest(profile: &Profile, function: FunctionIndex) -> bool {
    let row = &profile.functions[function];
    let Home::Python { file, .. } = row.home else { return false };
    row.name == "<module>" && profile.files[file].path.starts_with(DOCTEST)
}

/// Made by another function, as `timed.<locals>.wrapper` is.
fn is_inner(profile: &Profile, function: FunctionIndex) -> bool {
    profile.functions[function].name.contains("<locals>")
}

/// As pytest and unittest look for them, where nobody says otherwise.
fn is_named_as_test(profile: &Profile, function: FunctionIndex) -> bool {
    profile.functions[function].name.rsplit('.').next().is_some_and(|name| name.starts_with("test"))
}
