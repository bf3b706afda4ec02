//! The pages of a server, as far as a browser without scripts reads them: their forms, and what would be
//! sent of these. It must not know what a page is for. It is no HTML parser: a page that needs one needs
//! more than the lab can do.

pub(crate) mod form;
mod tags;
