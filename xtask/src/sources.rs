//! The text files of the repository, as the checks see them. Owns: which folders are looked into.
//! Never: looks into what is built, fetched or ignored, or into the checks' own bad fixtures.

use std::fs;
use std::path::Path;

/// A text file: its path below the root (with `/`), and its text.
pub struct SourceFile {
    pub path: String,
    pub text: String,
}

impl SourceFile {
    pub fn extension(&self) -> &str {
        self.path.rsplit_once('.').map_or("", |(_, end)| end)
    }

    /// The file's name without folder and extension.
    pub fn stem(&self) -> &str {
        let name = self.path.rsplit_once('/').map_or(self.path.as_str(), |(_, name)| name);
        name.split_once('.').map_or(name, |(stem, _)| stem)
    }
}

const NOT_OURS: &[&str] = &[".git", "target", "build", "node_modules", "dist", "__pycache__", ".venv", ".pytest_cache"];
const FIXTURES: &str = "xtask/fixtures";
const DEPTH_MAX: usize = 16;

/// All UTF-8 files below `root`, sorted by path; bytes that are not UTF-8 make a file binary, and it is left out.
pub fn read_below(root: &Path) -> Result<Vec<SourceFile>, String> {
    let mut files = Vec::new();
    collect(root, root, 0, &mut files)?;
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

fn collect(root: &Path, folder: &Path, depth: usize, files: &mut Vec<SourceFile>) -> Result<(), String> {
    if depth > DEPTH_MAX {
        return Err(format!("folders nest deeper than {DEPTH_MAX} at {}", folder.display()));
    }
    let failed = |what: &Path, error: std::io::Error| format!("cannot read {}: {error}", what.display());
    for entry in fs::read_dir(folder).map_err(|e| failed(folder, e))? {
        let entry = entry.map_err(|e| failed(folder, e))?;
        let path = entry.path();
        let below = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned();
        let kind = entry.file_type().map_err(|e| failed(&path, e))?;
        let name = entry.file_name();
        if kind.is_dir() {
            let skipped = NOT_OURS.iter().any(|skip| name == *skip)
                || name.to_string_lossy().ends_with(".egg-info")
                || below == FIXTURES;
            if !skipped {
                collect(root, &path, depth + 1, files)?;
            }
        } else if kind.is_file()
            && let Ok(text) = String::from_utf8(fs::read(&path).map_err(|e| failed(&path, e))?)
        {
            files.push(SourceFile { path: below, text });
        }
    }
    Ok(())
}
