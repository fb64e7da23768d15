//! The process that reads recordings, alone: what tests/reading.rs starts. With a word it misbehaves as a reader could.
//! Never: is shipped; `genba serve read-one` does the same.

use std::process::ExitCode;
use std::time::Duration;

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        None => genba_server::reading::work(),
        Some("sleep") => {
            std::thread::sleep(Duration::from_secs(3_600));
            ExitCode::SUCCESS
        }
        // It uses its processor until the kernel ends it.
        Some("spin") => {
            let limit = rustix::process::Rlimit { current: Some(1), maximum: Some(2) };
            let set = rustix::process::setrlimit(rustix::process::Resource::Cpu, limit);
            assert!(set.is_ok(), "no limit");
            loop {
                std::hint::spin_loop();
            }
        }
        Some("abort") => std::process::abort(),
        Some("panic") => panic!("a fault of genba's own"),
        Some("overflow") => {
            fn deeper(depth: u64) -> u64 {
                let room = std::hint::black_box([depth; 64]);
                if depth == u64::MAX { 0 } else { deeper(depth + 1) + room[3] }
            }
            ExitCode::from(deeper(0) as u8)
        }
        Some("endless") => {
            use std::io::Write;
            let mut out = std::io::stdout().lock();
            while out.write_all(&[b'x'; 4096]).is_ok() {}
            ExitCode::SUCCESS
        }
        Some("half") => {
            println!("{{\"reply\":\"json\",\"bytes\":100}}");
            println!("not a hundred");
            ExitCode::SUCCESS
        }
        Some("much") => {
            println!("{{\"reply\":\"json\",\"bytes\":100000000000}}");
            ExitCode::SUCCESS
        }
        Some(_) => ExitCode::from(3),
    }
}
