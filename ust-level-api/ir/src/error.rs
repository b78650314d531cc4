//! What error types of the project have in common.

/// Gives error types a [`Debug`](std::fmt::Debug) that shows their message: `unwrap` and `expect`
/// print what `Debug` shows, and so does a `main` that returns an error.
///
/// ```
/// #[derive(thiserror::Error)]
/// #[error("level {0} is missing")]
/// struct Missing(usize);
/// ust_ir::debug_shows_message!(Missing);
///
/// assert_eq!(format!("{:?}", Missing(2)), "level 2 is missing");
/// ```
#[macro_export]
macro_rules! debug_shows_message {
    ($($error:ty),* $(,)?) => {$(
        impl ::std::fmt::Debug for $error {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                ::std::fmt::Display::fmt(self, f)
            }
        }
    )*};
}
