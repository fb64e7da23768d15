//! "The user's own code": where a recording holds none, libraries take its place, and where there are none, the
//! standard library.

use crate::owner::Owner;
use crate::profile::{Home, Profile};

pub fn promote(profile: &mut Profile) {
    let seen = |owner| {
        profile.functions.iter().any(|function| match function.home {
            Home::Python { file, .. } => profile.files[file].owner == owner,
            Home::C { .. } | Home::Mark => false,
        })
    };
    if seen(Owner::User) {
        return;
    }
    let promoted = if seen(Owner::Library) { Owner::Library } else { Owner::Stdlib };
    for file in profile.files.iter_mut() {
        if file.owner == promoted && !file.path.starts_with("<frozen ") {
            file.owner = Owner::User;
        }
    }
}
