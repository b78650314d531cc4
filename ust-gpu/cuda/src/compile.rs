//! Texts become machine code of a device.

use std::ffi::CString;
use std::ptr;

use cudarc::nvrtc::sys::{self, nvrtcProgram, nvrtcResult};

use crate::error::{CudaError, Result};
use crate::probe;

/// Compiles CUDA C++ to a cubin for one architecture, `sm_90` for example. It needs no device.
///
/// # Errors
///
/// [`CudaError::NoCompiler`] without NVRTC; [`CudaError::Compile`] with its log if it refuses the text.
pub fn compile(text: &str, options: &[String], architecture: &str) -> Result<Vec<u8>> {
    compiled(text, options, architecture)?.cubin()
}

/// What NVRTC says while it compiles a text as [`compile`] does: warnings, and with the option
/// `--ptxas-options=-v` the registers and the bytes of spills of each kernel.
///
/// # Errors
///
/// As [`compile`].
pub fn compiler_log(text: &str, options: &[String], architecture: &str) -> Result<String> {
    Ok(compiled(text, options, architecture)?.log())
}

fn compiled(text: &str, options: &[String], architecture: &str) -> Result<Program> {
    probe::compiler_version()?;
    let fixed = [format!("--gpu-architecture={architecture}"), String::from("--std=c++17")];
    let options: Vec<CString> =
        fixed.iter().chain(options).map(|option| text_of_c(option)).collect::<Result<_>>()?;
    let pointers: Vec<_> = options.iter().map(|option| option.as_ptr()).collect();
    let count =
        i32::try_from(pointers.len()).map_err(|_| CudaError::argument("too many options"))?;
    let program = Program::new(&text_of_c(text)?)?;
    // SAFETY: the program lives, and the options as long as the call.
    let compiled = unsafe { sys::nvrtcCompileProgram(program.0, count, pointers.as_ptr()) };
    if compiled != nvrtcResult::NVRTC_SUCCESS {
        return Err(CudaError::Compile { name: format!("{compiled:?}"), log: program.log() });
    }
    Ok(program)
}

fn text_of_c(text: &str) -> Result<CString> {
    CString::new(text)
        .map_err(|_| CudaError::argument("a kernel's text or option with a zero in it"))
}

struct Program(nvrtcProgram);

impl Program {
    fn new(text: &CString) -> Result<Self> {
        let mut program = ptr::null_mut();
        // SAFETY: the texts live as long as the call; there are no headers.
        let made = unsafe {
            sys::nvrtcCreateProgram(
                &mut program,
                text.as_ptr(),
                c"kernel.cu".as_ptr(),
                0,
                ptr::null(),
                ptr::null(),
            )
        };
        refuse(made)?;
        Ok(Self(program))
    }

    fn log(&self) -> String {
        let mut size = 0;
        // SAFETY: the program lives; the buffer has the size that NVRTC said.
        unsafe {
            if sys::nvrtcGetProgramLogSize(self.0, &mut size) != nvrtcResult::NVRTC_SUCCESS {
                return String::new();
            }
            let mut log = vec![0_u8; size];
            if sys::nvrtcGetProgramLog(self.0, log.as_mut_ptr().cast())
                != nvrtcResult::NVRTC_SUCCESS
            {
                return String::new();
            }
            let log: Vec<u8> = log.into_iter().take_while(|&byte| byte != 0).collect();
            String::from_utf8_lossy(&log).into_owned()
        }
    }

    fn cubin(&self) -> Result<Vec<u8>> {
        let mut size = 0;
        // SAFETY: the program was compiled; the buffer has the size that NVRTC said.
        unsafe {
            refuse(sys::nvrtcGetCUBINSize(self.0, &mut size))?;
            let mut cubin = vec![0_u8; size];
            refuse(sys::nvrtcGetCUBIN(self.0, cubin.as_mut_ptr().cast()))?;
            Ok(cubin)
        }
    }
}

fn refuse(result: nvrtcResult) -> Result<()> {
    match result {
        nvrtcResult::NVRTC_SUCCESS => Ok(()),
        other => Err(CudaError::Compile { name: format!("{other:?}"), log: String::new() }),
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // SAFETY: made by `new`, destroyed once.
        let _ = unsafe { sys::nvrtcDestroyProgram(&mut self.0) };
    }
}
