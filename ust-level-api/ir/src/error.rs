//! The `Debug` implementation of the project's error types.

/// Implements [`Debug`](std::fmt::Debug) for error types so that it shows their message. `unwrap`,
/// `expect`, and a `main` that returns an error then print the message.
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
