//! What the description of the doors says of refusals that people see.

use std::collections::BTreeMap;
use utoipa::IntoResponses;
use utoipa::openapi::schema::Type;
use utoipa::openapi::{ContentBuilder, ObjectBuilder, RefOr, Response};

use crate::http::reply::Refusals;

/// The refusals of endpoints that people see: a page; JSON where the request could not even be
/// read.
#[derive(Debug)]
pub struct PageRefusals;

impl IntoResponses for PageRefusals {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        let mut responses = Refusals::responses();
        let text = ObjectBuilder::new().schema_type(Type::String).build();
        let page = ContentBuilder::new().schema(Some(text)).build();
        for response in responses.values_mut() {
            if let RefOr::T(response) = response {
                response
                    .content
                    .insert("text/html".to_owned(), RefOr::T(page.clone()));
            }
        }
        responses
    }
}
