//! Programs that are refused by name before they start: each is a made-up ELF file of a few hundred bytes, no program.

use crate::sandbox::Sandbox;
use expect_test::expect;

const GLIBC: &str = "/lib64/ld-linux-x86-64.so.2";

/// An ELF file without sections: header, and a PT_INTERP segment when a loader is named.
struct MadeUp {
    class: u8,
    machine: u16,
    kind: u16,
    loader: Option<&'static str>,
}

const EM_386: u16 = 3;
const EM_X86_64: u16 = 62;
const EM_AARCH64: u16 = 183;
const ET_EXEC: u16 = 2;
const ET_DYN: u16 = 3;

impl MadeUp {
    fn python(loader: Option<&'static str>) -> MadeUp {
        MadeUp { class: 2, machine: EM_X86_64, kind: ET_DYN, loader }
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0x7f, b'E', b'L', b'F', self.class, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        bytes.extend(self.kind.to_le_bytes());
        bytes.extend(self.machine.to_le_bytes());
        bytes.extend(1_u32.to_le_bytes());
        if self.class == 1 {
            bytes.resize(52, 0);
            return bytes;
        }
        let headers = u16::from(self.loader.is_some());
        // Entry, program headers, section headers, flags; then sizes and counts.
        for offset in [0_u64, 64, 0] {
            bytes.extend(offset.to_le_bytes());
        }
        bytes.extend(0_u32.to_le_bytes());
        for number in [64_u16, 56, headers, 64, 0, 0] {
            bytes.extend(number.to_le_bytes());
        }
        if let Some(loader) = self.loader {
            let (size, offset) = (loader.len() as u64 + 1, 64 + 56_u64);
            bytes.extend(3_u32.to_le_bytes());
            bytes.extend(4_u32.to_le_bytes());
            for number in [offset, offset, offset, size, size, 1] {
                bytes.extend(number.to_le_bytes());
            }
            bytes.extend(loader.as_bytes());
            bytes.push(0);
        }
        bytes
    }
}

/// Nothing of the system is on PATH: the hints would name its interpreters.
fn lonely(name: &str) -> Sandbox {
    Sandbox { system_path: "", ..Sandbox::new(name) }
}

fn sandbox_with(name: &str, python: &MadeUp) -> Sandbox {
    let sandbox = lonely(name);
    sandbox.file("work/app.py", b"");
    sandbox.program("bin/python3", &python.bytes());
    sandbox
}

#[test]
fn musl() {
    let sandbox = sandbox_with("musl", &MadeUp::python(Some("/lib/ld-musl-x86_64.so.1")));
    sandbox.check(
        "run app.py",
        expect![[r#"
        exit code 1
        stdout
        stderr
          error: cannot record [box]/bin/python3: it is built for musl
            its loader is /lib/ld-musl-x86_64.so.1; genba needs glibc's, ld-linux-x86-64.so.2
          hint: run it in an image with glibc (python:3-slim instead of python:3-alpine)
    "#]],
    );
    sandbox.script("bin/tool", "exit 0");
    sandbox.program("bin/sh-of-musl", &MadeUp::python(Some("/lib/ld-musl-x86_64.so.1")).bytes());
    let script = format!("#!{}\n", sandbox.path("bin/sh-of-musl").display());
    sandbox.program("bin/tool", script.as_bytes());
    sandbox.check(
        "run tool",
        expect![[r#"
        exit code 1
        stdout
        stderr
          error: cannot record [box]/bin/sh-of-musl: it is built for musl
            its loader is /lib/ld-musl-x86_64.so.1; genba needs glibc's, ld-linux-x86-64.so.2
          hint: run it in an image with glibc (python:3-slim instead of python:3-alpine)
    "#]],
    );
    expect!["app.py"].assert_eq(&sandbox.work());
}

#[test]
fn static_and_static_pie() {
    let fixed = MadeUp { kind: ET_EXEC, ..MadeUp::python(None) };
    sandbox_with("static", &fixed).check(
        "run app.py",
        expect![[r#"
            exit code 1
            stdout
            stderr
              error: cannot record [box]/bin/python3: it is a static program
                it has no loader, so LD_PRELOAD does nothing and no library can be added
              hint: install CPython 3.11 to 3.15 and name it with --python
        "#]],
    );
    sandbox_with("static-pie", &MadeUp::python(None)).check(
        "run python3 app.py",
        expect![[r#"
            exit code 1
            stdout
            stderr
              error: cannot record [box]/bin/python3: it is a static-pie program
                it has no loader, so LD_PRELOAD does nothing and no library can be added
              hint: start it with CPython 3.11 to 3.15
        "#]],
    );
    let sandbox = sandbox_with("static-launcher", &fixed);
    sandbox.program("bin/launch", &fixed.bytes());
    sandbox.check(
        "run launch python3 app.py",
        expect![[r#"
            exit code 1
            stdout
            stderr
              error: cannot record [box]/bin/launch: it is a static program
                it has no loader, so LD_PRELOAD does nothing and no library can be added
              hint: when it starts Python, put genba behind it: launch genba run python3 app.py
        "#]],
    );
    sandbox.check(
        "run launch --with option",
        expect![[r#"
            exit code 1
            stdout
            stderr
              error: cannot record [box]/bin/launch: it is a static program
                it has no loader, so LD_PRELOAD does nothing and no library can be added
              hint: when it starts Python, put genba behind it: launch genba run …
        "#]],
    );
    sandbox.program("bin/gosu", &fixed.bytes());
    sandbox.check_command(
        &mut sandbox.genba(&["run", "gosu", "somebody", "sh", "-c", "python3 app.py"]),
        expect![[r#"
            exit code 1
            stdout
            stderr
              error: cannot record [box]/bin/gosu: it is a static program
                it has no loader, so LD_PRELOAD does nothing and no library can be added
              hint: put genba behind the user: gosu somebody genba run sh -c 'python3 app.py'
        "#]],
    );
}

#[test]
fn word_size_and_machine() {
    let narrow = MadeUp { class: 1, machine: EM_386, ..MadeUp::python(None) };
    sandbox_with("32-bit", &narrow).check(
        "run app.py",
        expect![[r#"
            exit code 1
            stdout
            stderr
              error: cannot record [box]/bin/python3: it is a 32-bit program
                genba's library is 64-bit and cannot be loaded into it
              hint: install CPython 3.11 to 3.15 and name it with --python
        "#]],
    );
    let other = MadeUp { machine: EM_AARCH64, ..MadeUp::python(Some("/lib/ld-linux-aarch64.so.1")) };
    sandbox_with("aarch64", &other).check(
        "run app.py",
        expect![[r#"
            exit code 1
            stdout
            stderr
              error: cannot record [box]/bin/python3: it is a program for another machine (aarch64)
                genba records programs for x86_64
              hint: install CPython 3.11 to 3.15 and name it with --python
        "#]],
    );
}

#[test]
fn other_rights() {
    let sandbox = sandbox_with("setuid", &MadeUp::python(Some(GLIBC)));
    // The same user and group get no rights from it.
    if !sandbox.give_away("bin/python3") {
        eprintln!("left out: only root can have a program that is another user's");
        return;
    }
    sandbox.mode("bin/python3", 0o4755);
    sandbox.check(
        "run app.py",
        expect![[r#"
            exit code 1
            stdout
            stderr
              error: cannot record [box]/bin/python3: it is setuid
                the kernel starts it with other rights, and the loader then ignores LD_PRELOAD
              hint: install CPython 3.11 to 3.15 and name it with --python
        "#]],
    );
    sandbox.mode("bin/python3", 0o2755);
    sandbox.check(
        "run app.py",
        expect![[r#"
            exit code 1
            stdout
            stderr
              error: cannot record [box]/bin/python3: it is setgid
                the kernel starts it with other rights, and the loader then ignores LD_PRELOAD
              hint: install CPython 3.11 to 3.15 and name it with --python
        "#]],
    );
    for name in ["bin/become", "bin/su"] {
        sandbox.program(name, &MadeUp::python(Some(GLIBC)).bytes());
        sandbox.give_away(name);
        sandbox.mode(name, 0o4755);
    }
    sandbox.check(
        "run become python3 app.py",
        expect![[r#"
        exit code 1
        stdout
        stderr
          error: cannot record [box]/bin/become: it is setuid
            the kernel starts it with other rights, and the loader then ignores LD_PRELOAD
          hint: when it starts Python, put genba behind it: become genba run python3 app.py
    "#]],
    );
    sandbox.check(
        "run su somebody -c 'python3 app.py'",
        expect![[r#"
        exit code 1
        stdout
        stderr
          error: cannot record [box]/bin/su: it is setuid
            the kernel starts it with other rights, and the loader then ignores LD_PRELOAD
          hint: when it starts Python, put genba into su's command: su USER -c 'genba run COMMAND'
    "#]],
    );
}

/// The kernel gives it no other rights.
#[test]
fn a_setuid_program_of_the_user_who_starts_it_is_started() {
    let sandbox = Sandbox::new("setuid-own");
    sandbox.program("bin/own", &std::fs::read("/bin/true").expect("read a program"));
    sandbox.mode("bin/own", 0o4755);
    let done = sandbox.genba(&["run", "own"]).output().expect("genba starts");
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(said.starts_with("error: no Python in the command\n"), "{said}");
}

#[test]
fn other_implementations_and_versions_by_name() {
    let sandbox = lonely("by-name");
    sandbox.file("work/app.py", b"");
    sandbox.script("bin/pypy3", "exit 0");
    sandbox.check(
        "run --python pypy3 app.py",
        expect![[r#"
            exit code 1
            stdout
            stderr
              error: cannot record [box]/bin/pypy3: it is PyPy
                genba knows CPython 3.11 to 3.15
              hint: install CPython 3.11 to 3.15 and name it with --python
        "#]],
    );
    sandbox.check(
        "run pypy3 app.py",
        expect![[r#"
            exit code 1
            stdout
            stderr
              error: cannot record [box]/bin/pypy3: it is PyPy
                genba knows CPython 3.11 to 3.15
              hint: start it with CPython 3.11 to 3.15
        "#]],
    );
    std::os::unix::fs::symlink("pypy3", sandbox.path("bin/python")).expect("link");
    sandbox.check(
        "run python app.py",
        expect![[r#"
            exit code 1
            stdout
            stderr
              error: cannot record [box]/bin/python: it is PyPy
                genba knows CPython 3.11 to 3.15
              hint: start it with CPython 3.11 to 3.15
        "#]],
    );
    for name in ["python3.10", "python3.16", "python3.13t", "python3.12d", "graalpy", "python2.7"] {
        sandbox.program(&format!("bin/{name}"), &MadeUp::python(Some(GLIBC)).bytes());
    }
    sandbox.check(
        "run --python python3.10 app.py",
        expect![[r#"
            exit code 1
            stdout
            stderr
              error: cannot record [box]/bin/python3.10: genba has no table for this Python
                found CPython 3.10; genba knows 3.11 to 3.15
              hint: install CPython 3.11 to 3.15 and name it with --python
        "#]],
    );
    sandbox.check(
        "run python2.7 app.py",
        expect![[r#"
            exit code 1
            stdout
            stderr
              error: cannot record [box]/bin/python2.7: genba has no table for this Python
                found CPython 2.7; genba knows 3.11 to 3.15
              hint: start it with CPython 3.11 to 3.15
        "#]],
    );
    sandbox.check(
        "run python3.16 app.py",
        expect![[r#"
            exit code 1
            stdout
            stderr
              error: cannot record [box]/bin/python3.16: genba has no table for this Python
                found CPython 3.16; genba knows 3.11 to 3.15
              hint: start it with CPython 3.11 to 3.15
        "#]],
    );
    sandbox.check(
        "run python3.13t app.py",
        expect![[r#"
            exit code 1
            stdout
            stderr
              error: cannot record [box]/bin/python3.13t: genba has no table for this Python
                found a free-threaded build of CPython 3.13; genba knows the default builds
              hint: start it with CPython 3.11 to 3.15
        "#]],
    );
    sandbox.check(
        "run python3.12d app.py",
        expect![[r#"
            exit code 1
            stdout
            stderr
              error: cannot record [box]/bin/python3.12d: genba has no table for this Python
                found a debug build of CPython 3.12; genba knows the default builds
              hint: start it with CPython 3.11 to 3.15
        "#]],
    );
    sandbox.check(
        "run graalpy app.py",
        expect![[r#"
            exit code 1
            stdout
            stderr
              error: cannot record [box]/bin/graalpy: it is GraalPy
                genba knows CPython 3.11 to 3.15
              hint: start it with CPython 3.11 to 3.15
        "#]],
    );
    expect!["app.py"].assert_eq(&sandbox.work());
}

#[test]
fn what_is_no_program_at_all() {
    let sandbox = sandbox_with("no-program", &MadeUp::python(Some(GLIBC)));
    sandbox.program("bin/text", b"hello");
    sandbox.check(
        "run --python text app.py",
        expect![[r#"
            exit code 1
            stdout
            stderr
              error: cannot start [box]/bin/text: it is not a program
                expected an ELF file or a script that begins with #!
              hint: install CPython 3.11 to 3.15 and name it with --python
        "#]],
    );
    sandbox.check(
        "run --python /usr/bin/env app.py",
        expect![[r#"
            exit code 1
            stdout
            stderr
              error: cannot record /usr/bin/env: it is not Python
                it neither is CPython nor needs its library, libpython
              hint: install CPython 3.11 to 3.15 and name it with --python
        "#]],
    );
    sandbox.program("bin/cut", b"\x7fELF\x02\x01");
    sandbox.check(
        "run --python cut app.py",
        expect![[r#"
            exit code 1
            stdout
            stderr
              error: cannot start [box]/bin/cut: it is not a program
                expected an ELF file or a script that begins with #!
              hint: install CPython 3.11 to 3.15 and name it with --python
        "#]],
    );
}
