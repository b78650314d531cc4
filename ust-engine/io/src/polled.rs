//! Reading and writing that ends early when the caller cancels it.

use std::io::{self, Read, Write};

use ust_level_api::ir::cancel::poll;

/// Bytes that are read or written between two looks at the caller's tokens, at most.
const AT_ONCE: usize = 1 << 20;

/// A reader or writer that looks at the caller's tokens each time.
pub(super) struct Polled<T>(pub(super) T);

impl<T: Read> Read for Polled<T> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        poll();
        let most = to.len().min(AT_ONCE);
        self.0.read(&mut to[..most])
    }
}

impl<T: Write> Write for Polled<T> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        poll();
        self.0.write(&bytes[..bytes.len().min(AT_ONCE)])
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
