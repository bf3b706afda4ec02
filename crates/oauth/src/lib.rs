//! The law: what the RFCs say, as pure functions of facts and `now`.
