//! The browser, led to the address without a command line that holds it.
//! Owns: the file that leads there. Never: waits for the browser.

use std::io::Write;

use tempfile::NamedTempFile;

/// Opens the browser with a page that only this user can read, and that leads to `address`: any user of the machine can read the command
/// lines of all processes. The file goes with what is returned.
pub fn lead_to(address: &str) -> std::io::Result<NamedTempFile> {
    let mut page = tempfile::Builder::new().prefix("genba-view-").suffix(".html").tempfile()?;
    write!(
        page,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta http-equiv=\"refresh\" content=\"0; url={address}\">\n\
        <title>genba</title>\n</head>\n<body>\n<a href=\"{address}\">the recording</a>\n</body>\n</html>\n"
    )?;
    open::that_detached(page.path())?;
    Ok(page)
}

/// Without a screen `xdg-open` starts a browser in the terminal, over what stands there.
pub fn has_screen() -> bool {
    ["DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME"]
        .iter()
        .any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
}
