//! Names of what is kept: a hash that is the same in every process.

/// FNV-1a over 128 bits: wide enough that no two texts meet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hash(u128);

impl Hash {
    pub(crate) fn new() -> Self {
        Self(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
    }

    /// Adds bytes, and how many they are, so that two texts are not one.
    pub(crate) fn with(mut self, bytes: &[u8]) -> Self {
        for &byte in bytes.iter().chain(&(bytes.len() as u64).to_le_bytes()) {
            self.0 =
                (self.0 ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
        }
        self
    }

    pub(crate) fn value(self) -> u128 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::Hash;

    #[test]
    fn texts_are_told_apart_by_where_they_end() {
        let one = Hash::new().with(b"ab").with(b"c").value();
        let other = Hash::new().with(b"a").with(b"bc").value();
        assert_ne!(one, other);
        assert_eq!(one, Hash::new().with(b"ab").with(b"c").value());
    }
}
