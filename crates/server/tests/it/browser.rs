//! What people do with the server, in a browser.

mod pages;
