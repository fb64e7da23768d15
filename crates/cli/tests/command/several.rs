//! Several recordings on one command line.

use crate::notation;
use crate::sandbox::Sandbox;
use expect_test::expect;

fn recording(key: u8, version: &str, count: u32) -> Vec<u8> {
    notation::bytes(&format!("process 7 {version} cwd=/app key={key}\nwork@app.py:3 x{count}\nrefused moved 1"))
}

#[test]
fn several_are_read_as_one() {
    let sandbox = Sandbox::new("several");
    sandbox.file("work/a.genba", &recording(1, "3.13.0", 300));
    sandbox.file("work/b.genba", &recording(2, "3.14.0", 100));
    sandbox.check(
        "report a.genba b.genba --by process",
        expect![[r#"
            exit code 0
            stdout
              2 recordings · CPython 3.13.0, 3.14.0 · 640 ms wall · 640 ms CPU · 2 processes, 2 threads · sampled every 1.6 ms
              ticks 402 = sampled 400 + dropped 0 + refused 2 (moved 2) · CPU covered 100.0 %
              one place: 100.0 % of 640 ms CPU is app.py:3 work

               75.0 %  480 ms  process 7 of a.genba
               25.0 %  160 ms  process 7 of b.genba
            stderr
        "#]],
    );
    sandbox.check(
        "tree a.genba b.genba",
        expect![[r#"
            exit code 0
            stdout
              2 recordings · CPython 3.13.0, 3.14.0 · 640 ms wall · 640 ms CPU · 2 processes, 2 threads · sampled every 1.6 ms
              ticks 402 = sampled 400 + dropped 0 + refused 2 (moved 2) · CPU covered 100.0 %

                share      CPU     self     wall     self  path
              100.0 %   640 ms   640 ms   640 ms   640 ms  work (app.py:1)
            stderr
        "#]],
    );
    sandbox.check(
        "export a.genba b.genba --to collapsed --weight samples -o -",
        expect![[r#"
        exit code 0
        stdout
          work (/app/app.py:3) 400
        stderr
    "#]],
    );
    sandbox.check(
        "export a.genba b.genba --to collapsed --weight samples --threads -o -",
        expect![[r#"
        exit code 0
        stdout
          process 7 (of a.genba);thread 7 (main);work (/app/app.py:3) 300
          process 7 (of b.genba);thread 7 (main);work (/app/app.py:3) 100
        stderr
    "#]],
    );
    sandbox.check(
        "report a.genba ./a.genba",
        expect![[r#"
        exit code 2
        stdout
        stderr
          error: ./a.genba is named twice
            its samples would count twice
          hint: name each recording once
    "#]],
    );
    sandbox.file("work/copy.genba", &recording(1, "3.13.0", 300));
    sandbox.check(
        "report a.genba copy.genba",
        expect![[r#"
        exit code 2
        stdout
        stderr
          error: copy.genba and a.genba hold the same processes
            one is a copy of the other, and its samples would count twice
          hint: name one of them
    "#]],
    );
    sandbox.check(
        "report a.genba c.genba",
        expect![[r#"
        exit code 1
        stdout
        stderr
          error: cannot open c.genba: there is no such file
          hint: the newest recording here is copy.genba
    "#]],
    );
}
