//! `OpenID` Connect: claims about people, ID tokens, userinfo, logout.

pub mod claims;
pub mod id_token;
pub mod logout;
pub mod logout_token;
pub mod userinfo;
