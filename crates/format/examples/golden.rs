//! `cargo run -p genba-format --features read --example golden -- FILE`: writes the recording of the golden test.
//! For a new format version only: the golden files of earlier versions are kept as they are, for good.

use std::process::ExitCode;

#[path = "../tests/recordings/small.rs"]
mod small;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path] = arguments.as_slice() else {
        eprintln!("error: expected one file to write, found {} arguments", arguments.len());
        return ExitCode::from(2);
    };
    match std::fs::write(path, small::encode(&small::version_3())) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: cannot write {path}: {error}");
            ExitCode::FAILURE
        }
    }
}
