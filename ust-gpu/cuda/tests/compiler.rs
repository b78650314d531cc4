//! NVRTC itself, where it is installed: it needs no device.

mod texts;

use ust_cuda::{CudaError, compile, compiler_version};

fn is_there() -> bool {
    match compiler_version() {
        Ok(version) => {
            println!("NVRTC {version:?}");
            true
        }
        Err(CudaError::NoCompiler) => {
            eprintln!("SKIPPED: NVRTC is not installed");
            false
        }
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn a_text_becomes_machine_code_of_each_architecture() {
    if !is_there() {
        return;
    }
    for architecture in ["sm_80", "sm_90", "sm_100"] {
        for text in texts::ALL {
            let cubin = compile(text, &[String::from("--fmad=false")], architecture).unwrap();
            assert_eq!(cubin[..4], *b"\x7fELF", "{architecture}");
        }
    }
}

#[test]
fn a_text_that_does_not_compile_says_why() {
    if !is_there() {
        return;
    }
    match compile("extern \"C\" __global__ void k() {\n missing(); }", &[], "sm_90") {
        Err(CudaError::Compile { log, .. }) => {
            assert!(log.contains("kernel.cu(2)") && log.contains("missing"), "{log}");
        }
        other => panic!("{other:?}"),
    }
    let unknown = compile("", &[String::from("--no-such-option")], "sm_90");
    assert!(matches!(unknown, Err(CudaError::Compile { .. })));
    assert!(matches!(compile("", &[], "sm_1"), Err(CudaError::Compile { .. })));
    assert!(matches!(compile("\0", &[], "sm_90"), Err(CudaError::Argument(_))));
}
