//! People in the store: users, what they agreed to, where they are logged in, and the families of
//! tokens that came of it. How a password is compared and what a page shows is not known here.

pub(super) mod consents;
pub(super) mod failures;
pub(super) mod families;
pub(super) mod requests;
pub(super) mod sessions;
pub(super) mod users;

pub use consents::Withdrawn;
pub use failures::LoginFailures;
pub use families::{Opened, Opening, Redeemed, Redemption, Rotated, Rotation};
pub use requests::PushedRequest;
pub use sessions::{NewLogin, SessionClient};
pub use users::{
    CreatedUser, DeletedUser, Ends, Imported, UpdatedUser, UserCursor, UserField, UserList,
    UserPage, UserUpdate,
};
