//! A shared library that brings `bitmap` to programs that do not link it.

ust_plugin::export!(bitmap_level);
