//! Which test a stack belongs to: pytest and unittest call tests from functions of theirs that are known by name.
//! Owns: those functions. Never: tells the parameters of a test: all calls of one function are one test, as no recording has arguments
//! or the environment (docs/recipes/pytest.md).

use crate::tables::owner::Owner;
use crate::tables::profile::{FunctionIndex, Home, NodeIndex, Profile};

/// The end of a file's path, and the function in it that calls a test: CPython 3.11 to 3.15, pytest since 3.0. A plugin for coroutines, such as
/// that of anyio, has a hook of the same name, which calls the test itself.
const CALLERS: [(&str, &str); 3] = [
    (".py", "pytest_pyfunc_call"),
    ("/unittest/case.py", "TestCase._callTestMethod"),
    ("/unittest/async_case.py", "IsolatedAsyncioTestCase._callTestMethod"),
];

/// The outermost of the user's functions below the outermost such caller: what stands between them only wraps the test. None: no test
/// ran, as where a run collects its tests, or makes what they need.
#[must_use]
pub fn test_function(profile: &Profile, leaf: Option<NodeIndex>) -> Option<FunctionIndex> {
    let (mut outermost_own, mut outermost_named, mut found) = (None, None, None);
    for frame in profile.stack(leaf) {
        let function = profile.frames[frame].function;
        if calls_a_test(profile, function) {
            found = match (outermost_own, outermost_named) {
                // A decorator of the user's own: many tests have the same one.
                (Some(own), Some(named)) if is_inner(profile, own) => Some(named),
                (own, _) => own,
            };
        } else if profile.owner_of(function) == Some(Owner::User) {
            outermost_own = Some(function);
            if is_named_as_test(profile, function) {
                outermost_named = Some(function);
            }
        }
    }
    found
}

fn calls_a_test(profile: &Profile, function: FunctionIndex) -> bool {
    let row = &profile.functions[function];
    let Home::Python { file, .. } = row.home else { return false };
    let path = &profile.files[file].path;
    CALLERS.iter().any(|(end, name)| row.name == *name && path.ends_with(*end))
}

/// Made by another function, as `timed.<locals>.wrapper` is.
fn is_inner(profile: &Profile, function: FunctionIndex) -> bool {
    profile.functions[function].name.contains("<locals>")
}

/// As pytest and unittest look for them, where nobody says otherwise.
fn is_named_as_test(profile: &Profile, function: FunctionIndex) -> bool {
    profile.functions[function].name.rsplit('.').next().is_some_and(|name| name.starts_with("test"))
}
