//! Temporary folders, for code and for what a program prints: only this user may look into one, whatever the umask is.
//! Owns: their mode, and that they go with genba (`TempDir`). Never: trusts the umask. clippy.toml forbids other ways to make one.

use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt;

use tempfile::TempDir;

/// In the folder for temporary files; its name begins with `prefix`.
#[expect(clippy::disallowed_methods, reason = "this is the one place that sets the mode")]
pub fn make(prefix: &str) -> io::Result<TempDir> {
    tempfile::Builder::new().prefix(prefix).permissions(Permissions::from_mode(0o700)).tempdir()
}

#[cfg(test)]
mod tests {
    use super::make;
    use rustix::fs::Mode;
    use rustix::process::umask;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn whatever_the_umask_is_only_its_owner_may_enter() {
        // A process of its own runs each test.
        umask(Mode::empty());
        let folder = make("genba-private-test-").unwrap();
        assert_eq!(folder.path().metadata().unwrap().mode() & 0o7777, 0o700);
    }
}
