//! The kind of a file, by its extension.

use std::path::Path;

use super::FileError;

/// The known extensions, for messages.
pub(super) const KNOWN: &str = ".mtx, .mtx.gz, .tns, .tns.gz, .npy, .npz, .ust.npz";

/// A kind of file. The extension alone decides, in upper or lower case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// Matrix Market: `.mtx`, `.mtx.gz`.
    MatrixMarket {
        /// Whether it is compressed with gzip.
        gzip: bool,
    },
    /// FROSTT: `.tns`, `.tns.gz`.
    Frostt {
        /// Whether it is compressed with gzip.
        gzip: bool,
    },
    /// One NumPy array: `.npy`.
    Npy,
    /// A SciPy sparse matrix: `.npz`.
    Npz,
    /// A tensor in any format, lossless: `.ust.npz`.
    Ust,
}

impl Kind {
    /// The kind of file that a path names. The file need not exist.
    ///
    /// ```
    /// use ust_io::Kind;
    /// assert_eq!(Kind::of("a/b.MTX.gz".as_ref()).unwrap(), Kind::MatrixMarket { gzip: true });
    /// assert_eq!(Kind::of("b.ust.npz".as_ref()).unwrap(), Kind::Ust);
    /// assert!(Kind::of("b.csv".as_ref()).is_err());
    /// ```
    ///
    /// # Errors
    /// [`FileError::Extension`], which lists the known extensions.
    pub fn of(path: &Path) -> Result<Self, FileError> {
        let name = path.file_name().map(|n| n.to_string_lossy().to_ascii_lowercase());
        let table = [
            (".mtx", Self::MatrixMarket { gzip: false }),
            (".mtx.gz", Self::MatrixMarket { gzip: true }),
            (".tns", Self::Frostt { gzip: false }),
            (".tns.gz", Self::Frostt { gzip: true }),
            (".npy", Self::Npy),
            (".ust.npz", Self::Ust),
            (".npz", Self::Npz),
        ];
        name.and_then(|name| {
            table.iter().find(|(end, _)| name.ends_with(end)).map(|&(_, kind)| kind)
        })
        .ok_or_else(|| FileError::Extension { path: path.to_owned() })
    }
}
