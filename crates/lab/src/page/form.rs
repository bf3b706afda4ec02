//! The forms of a page, the values that they hold, and what a browser would send of them (HTML, "form
//! submission"), as far as forms go without scripts and files. It must not know what a form is for.

use std::collections::BTreeMap;

use bytes::Bytes;
use form_urlencoded::Serializer;
use http::{HeaderValue, Method, header};
use serde::Deserialize;
use url::Url;

use super::tags::{Token, Tokens, decode};
use crate::call::Call;

/// Which form of a page. All that is given must fit; without anything it is the first form.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Selector {
    id: Option<String>,
    /// A part of its `action`.
    action: Option<String>,
    /// The name or the id of a control that it has.
    field: Option<String>,
    /// Controls that it has with these values.
    having: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Form {
    id: Option<String>,
    name: Option<String>,
    action: String,
    is_post: bool,
    controls: Vec<Control>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Control {
    id: Option<String>,
    name: String,
    value: String,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Is sent with its value.
    Value,
    /// A box or an option that is not chosen: sent only where somebody fills it in.
    Unchosen,
    /// Is sent when it is pressed.
    Button,
}

impl Control {
    fn is_called(&self, name: &str) -> bool {
        self.name == name || self.id.as_deref() == Some(name)
    }
}

impl Selector {
    pub(crate) fn find(&self, page: &str) -> Option<Form> {
        forms(page).forms.into_iter().find(|form| self.fits(form))
    }

    fn fits(&self, form: &Form) -> bool {
        let has = |name: &str, value: Option<&str>| {
            form.controls.iter().any(|control| {
                control.is_called(name) && value.is_none_or(|value| control.value == value)
            })
        };
        self.id
            .as_ref()
            .is_none_or(|id| form.id.as_ref() == Some(id))
            && self
                .action
                .as_ref()
                .is_none_or(|part| form.action.contains(part.as_str()))
            && self.field.as_ref().is_none_or(|name| has(name, None))
            && self
                .having
                .iter()
                .all(|(name, value)| has(name, Some(value)))
    }
}

/// What a page holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Forms {
    /// In the order of the page.
    forms: Vec<Form>,
    /// Controls that are in no form, as pages have them that are sent by scripts.
    loose: Form,
}

impl Forms {
    /// The value of a field: of the form of this id or name, or of the first that has such a field.
    pub(crate) fn value(&self, form: Option<&str>, field: &str) -> Option<&str> {
        let loose = form.is_none().then_some(&self.loose);
        let mut fitting = self.fitting(form).chain(loose);
        fitting.find_map(|form| form.value(field))
    }

    /// Where the form of this id or name goes, or the first form.
    pub(crate) fn action(&self, form: Option<&str>, page: &Url) -> Option<Url> {
        self.fitting(form).next()?.target(page)
    }

    fn fitting(&self, wanted: Option<&str>) -> impl Iterator<Item = &Form> {
        let forms = self.forms.iter();
        forms.filter(move |form| {
            let is_called = |name: &Option<String>| name.as_deref() == wanted;
            wanted.is_none() || is_called(&form.id) || is_called(&form.name)
        })
    }
}

impl Form {
    /// The value of a field: of a choice, what is chosen.
    fn value(&self, field: &str) -> Option<&str> {
        let named = || self.controls.iter().filter(|control| control.name == field);
        let sent = named().find(|control| control.kind == Kind::Value);
        sent.or_else(|| named().next())
            .map(|control| control.value.as_str())
    }

    /// Where it goes; without an action to where the page came from.
    fn target(&self, page: &Url) -> Option<Url> {
        match self.action.as_str() {
            "" => Some(page.clone()),
            action => page.join(action).ok(),
        }
    }

    /// The request of a browser in which somebody typed `filled` (by the names or ids of the fields) and
    /// pressed `press` (the id or name of a button, or `name=value`). `None` where there is no such
    /// button or the action is no URL.
    pub(crate) fn submit(
        &self,
        page: &Url,
        filled: &[(String, String)],
        press: Option<&str>,
    ) -> Option<Call> {
        let pressed = match press {
            Some(press) => Some(self.button(press)?),
            None => None,
        };
        let pairs = self.pairs(&self.named(filled), pressed);
        let mut url = self.target(page)?;
        url.set_fragment(None);
        let encoded = Serializer::new(String::new()).extend_pairs(pairs).finish();
        if !self.is_post {
            url.set_query(Some(&encoded));
            return Some(Call {
                method: Method::GET,
                url,
                headers: Vec::new(),
                body: Bytes::new(),
            });
        }
        let form = HeaderValue::from_static("application/x-www-form-urlencoded");
        let mut headers = vec![(header::CONTENT_TYPE, form)];
        // Servers compare it with their own, where it is sent; browsers send it with every post.
        if let Ok(origin) = HeaderValue::try_from(page.origin().ascii_serialization()) {
            headers.push((header::ORIGIN, origin));
        }
        Some(Call {
            method: Method::POST,
            url,
            headers,
            body: encoded.into(),
        })
    }

    /// What was typed, by the names of the fields.
    fn named(&self, filled: &[(String, String)]) -> Vec<(String, String)> {
        let name_of = |key: &String| {
            let by_id = |control: &&Control| control.id.as_ref() == Some(key);
            let control = self.controls.iter().find(by_id);
            control.map_or(key, |control| &control.name).clone()
        };
        let filled = filled.iter();
        filled
            .map(|(key, value)| (name_of(key), value.clone()))
            .collect()
    }

    /// In the order of the page; what was typed for fields that it does not have comes last.
    fn pairs(
        &self,
        typed: &[(String, String)],
        pressed: Option<&Control>,
    ) -> Vec<(String, String)> {
        let is_typed = |name: &String| typed.iter().any(|(of, _)| of == name);
        let mut left = typed.to_vec();
        let mut pairs = Vec::new();
        for control in self
            .controls
            .iter()
            .filter(|control| !control.name.is_empty())
        {
            let name = &control.name;
            if let Some(place) = left.iter().position(|(of, _)| of == name) {
                pairs.push(left.remove(place));
            }
            let is_sent = match control.kind {
                Kind::Value => !is_typed(name),
                Kind::Unchosen => false,
                Kind::Button => pressed.is_some_and(|button| std::ptr::eq(button, control)),
            };
            if is_sent {
                pairs.push((name.clone(), control.value.clone()));
            }
        }
        pairs.append(&mut left);
        pairs
    }

    fn button(&self, press: &str) -> Option<&Control> {
        let mut buttons = self
            .controls
            .iter()
            .filter(|control| control.kind == Kind::Button);
        buttons.find(|button| {
            button.is_called(press) || press.split_once('=') == Some((&button.name, &button.value))
        })
    }
}

/// Every form of a page, in its order, with the controls that stand elsewhere and name it.
pub(crate) fn forms(page: &str) -> Forms {
    let mut reader = Reader::default();
    for token in Tokens::of(page) {
        reader.take(token);
    }
    let Reader {
        mut forms,
        loose,
        outside,
        ..
    } = reader;
    for (id, control) in outside {
        if let Some(form) = forms.iter_mut().find(|form| form.id.as_ref() == Some(&id)) {
            form.controls.push(control);
        }
    }
    Forms { forms, loose }
}

/// The tags of a page so far.
#[derive(Debug, Default)]
struct Reader {
    forms: Vec<Form>,
    loose: Form,
    is_inside: bool,
    /// Controls that belong to the form of this id.
    outside: Vec<(String, Control)>,
    /// The name of the `select` that is open, and whether an option of it was taken.
    select: Option<(Attributes, bool)>,
    textarea: Option<(Attributes, String)>,
}

#[derive(Clone, Debug, Default)]
struct Attributes(Vec<(String, String)>);

impl Attributes {
    fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(of, _)| of == name);
        found.map(|(_, value)| value.as_str())
    }

    fn text(&self, name: &str) -> String {
        self.get(name).unwrap_or_default().to_owned()
    }
}

impl Reader {
    fn take(&mut self, token: Token<'_>) {
        match token {
            Token::Text(text) => {
                if let Some((_, content)) = &mut self.textarea {
                    content.push_str(text);
                }
            }
            Token::Close(name) => self.close(&name),
            Token::Open { name, attributes } => self.open(&name, Attributes(attributes)),
        }
    }

    fn close(&mut self, name: &str) {
        match name {
            "form" => self.is_inside = false,
            "select" => self.select = None,
            "textarea" => {
                if let Some((attributes, content)) = self.textarea.take() {
                    let content = content.strip_prefix('\n').unwrap_or(&content);
                    self.add(&attributes, decode(content), Kind::Value);
                }
            }
            _ => {}
        }
    }

    fn open(&mut self, name: &str, attributes: Attributes) {
        match name {
            // A form inside a form is none.
            "form" if !self.is_inside => {
                self.is_inside = true;
                self.forms.push(Form {
                    id: attributes.get("id").map(str::to_owned),
                    name: attributes.get("name").map(str::to_owned),
                    action: attributes.text("action").trim().to_owned(),
                    is_post: attributes.text("method").eq_ignore_ascii_case("post"),
                    controls: Vec::new(),
                });
            }
            "input" => self.input(&attributes),
            "button" => {
                let kind = attributes.text("type").to_ascii_lowercase();
                if matches!(kind.as_str(), "" | "submit") {
                    self.add(&attributes, attributes.text("value"), Kind::Button);
                }
            }
            "select" => self.select = Some((attributes, false)),
            "option" => self.option(&attributes),
            "textarea" => self.textarea = Some((attributes, String::new())),
            _ => {}
        }
    }

    fn input(&mut self, attributes: &Attributes) {
        let value = attributes.text("value");
        let kind = attributes.text("type").to_ascii_lowercase();
        match kind.as_str() {
            "submit" | "image" => self.add(attributes, value, Kind::Button),
            "button" | "reset" | "file" => {}
            "checkbox" | "radio" => {
                let value = attributes.get("value").unwrap_or("on").to_owned();
                let is_chosen = attributes.get("checked").is_some();
                let kind = if is_chosen {
                    Kind::Value
                } else {
                    Kind::Unchosen
                };
                self.add(attributes, value, kind);
            }
            _ => self.add(attributes, value, Kind::Value),
        }
    }

    /// The first option is the chosen one until another says so.
    fn option(&mut self, attributes: &Attributes) {
        let Some((select, taken)) = self.select.clone() else {
            return;
        };
        let is_selected = attributes.get("selected").is_some();
        if taken && !is_selected {
            return;
        }
        if taken {
            let name = select.text("name");
            let inside = self.forms.last_mut().filter(|_| self.is_inside);
            let controls = &mut inside.unwrap_or(&mut self.loose).controls;
            let old = controls
                .iter_mut()
                .rev()
                .find(|control| control.name == name);
            if let Some(old) = old {
                old.value = attributes.text("value");
            }
        } else {
            self.add(&select, attributes.text("value"), Kind::Value);
            self.select = Some((select, true));
        }
    }

    fn add(&mut self, attributes: &Attributes, value: String, kind: Kind) {
        if attributes.get("disabled").is_some() {
            return;
        }
        let control = Control {
            id: attributes.get("id").map(str::to_owned),
            name: attributes.text("name"),
            value,
            kind,
        };
        if let Some(form) = attributes.get("form") {
            self.outside.push((form.to_owned(), control));
        } else {
            let inside = self.forms.last_mut().filter(|_| self.is_inside);
            inside.unwrap_or(&mut self.loose).controls.push(control);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PAGE: &str = r#"<!doctype html><title>a &lt;form&gt;</title>
<form id=search action="/search"><input name=q></form>
<script>document.write('<form id="login">')</script>
<!-- <form id="login"> -->
<FORM ID="login" method=POST action="/do?a=1&amp;b=2#x">
  <input type="hidden" name="csrf" value="a&quot;b&#x26;c">
  <input id="user-field" name="username" value="">
  <input type="password" name="password">
  <input type="checkbox" name="remember"> <input type=checkbox name=terms value=yes checked>
  <input type=radio name=r value=1><input type=radio name=r value=2 checked>
  <select name="lang"><option value="en">E<option value="de" selected>D</select>
  <select name="tz"><option value="utc">U</option><option value="x">X</option></select>
  <textarea name="note">
one &amp; two</textarea>
  <input name="off" value="1" disabled>
  <button id="cancel" name="action" value="deny">No</button>
  <button id="allow" name="action" value="allow">Yes</button>
  <button type="button" name="script">x</button>
</form>
<input form="login" type="hidden" name="late" value="1">"#;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    fn selector(toml: &str) -> Selector {
        toml::from_str(toml).unwrap()
    }

    fn fill(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        pairs.iter().map(owned).collect()
    }

    #[test]
    fn a_form_is_sent_as_a_browser_sends_it() {
        let form = selector("id = 'login'").find(PAGE).unwrap();
        let filled = fill(&[("user-field", "anna"), ("password", "p w&")]);
        let call = form
            .submit(&url("https://op.example/ui/login"), &filled, Some("allow"))
            .unwrap();
        assert_eq!(call.method, Method::POST);
        assert_eq!(call.url.as_str(), "https://op.example/do?a=1&b=2");
        let pairs: Vec<(String, String)> =
            form_urlencoded::parse(&call.body).into_owned().collect();
        let expected = fill(&[
            ("csrf", "a\"b&c"),
            ("username", "anna"),
            ("password", "p w&"),
            ("terms", "yes"),
            ("r", "2"),
            ("lang", "de"),
            ("tz", "utc"),
            ("note", "one & two"),
            ("action", "allow"),
            ("late", "1"),
        ]);
        assert_eq!(pairs, expected);
        let origin = HeaderValue::from_static("https://op.example");
        assert!(call.headers.contains(&(header::ORIGIN, origin)));
    }

    #[test]
    fn a_form_is_found_by_what_it_is_or_has() {
        for (wanted, found) in [
            ("", Some("search")),
            ("id = 'login'", Some("login")),
            ("action = '/do'", Some("login")),
            ("field = 'password'", Some("login")),
            ("field = 'late'", Some("login")),
            ("field = 'off'", None),
            ("having = { lang = 'de' }", Some("login")),
            ("having = { lang = 'fr' }", None),
            ("id = 'search'\nfield = 'password'", None),
            ("id = 'nothing'", None),
        ] {
            let form = selector(wanted).find(PAGE);
            assert_eq!(form.and_then(|form| form.id).as_deref(), found, "{wanted}");
        }
    }

    #[test]
    fn fields_give_their_values_and_forms_where_they_go() {
        let page = "<input name=a value=0><form id=one action=/1><input name=b value=1>\
            <input type=radio name=r value=x><input type=radio name=r value=y checked></form>\
            <form name=two><input name=b value=2><input name=a value=3></form>";
        let forms = forms(page);
        for (form, field, expected) in [
            (None, "b", Some("1")),
            (Some("two"), "b", Some("2")),
            (None, "r", Some("y")),
            (None, "a", Some("3")),
            (Some("one"), "a", None),
            (Some("three"), "b", None),
        ] {
            assert_eq!(forms.value(form, field), expected, "{form:?} {field}");
        }
        let action = |form| {
            forms
                .action(form, &url("http://h/dir/page"))
                .map(String::from)
        };
        assert_eq!(action(None).as_deref(), Some("http://h/1"));
        assert_eq!(action(Some("two")).as_deref(), Some("http://h/dir/page"));
        assert_eq!(action(Some("three")), None);
        let loose = super::forms("<p><input name=csrf value=z>");
        assert_eq!(loose.value(None, "csrf"), Some("z"));
        assert_eq!(Selector::default().find("<input name=csrf>"), None);
    }

    #[test]
    fn what_is_no_markup_has_no_fields() {
        let page = "<script>'<input name=a>'</script><!-- <input name=b> --><style><input name=c>\
             </STYLE><textarea><input name=d></textarea><title><input name=f></title>a < b <input name=e>";
        let forms = forms(page);
        for field in ["a", "b", "c", "d", "f"] {
            assert_eq!(forms.value(None, field), None, "{field}");
        }
        assert_eq!(forms.value(None, "e"), Some(""));
    }

    #[test]
    fn a_form_without_a_method_goes_into_the_query() {
        let form = selector("id = 'search'").find(PAGE).unwrap();
        let call = form
            .submit(&url("http://h/page?old=1"), &fill(&[("q", "a b")]), None)
            .unwrap();
        assert_eq!(
            (call.method, call.url.as_str()),
            (Method::GET, "http://h/search?q=a+b")
        );
        assert!(call.body.is_empty());
    }

    #[test]
    fn a_button_is_pressed_by_id_by_name_or_by_name_and_value() {
        let page = "<form method=post><button id=a name=n value=1><button name=n value=2><input type=submit name=s value=3></form>";
        let form = Selector::default().find(page).unwrap();
        for (press, body) in [
            (Some("a"), Some("n=1")),
            (Some("n"), Some("n=1")),
            (Some("n=2"), Some("n=2")),
            (Some("s"), Some("s=3")),
            (Some("n=4"), None),
            (Some("absent"), None),
            (None, Some("")),
        ] {
            let call = form.submit(&url("http://h/p"), &[], press);
            let sent = call.map(|call| String::from_utf8(call.body.to_vec()).unwrap());
            assert_eq!(sent.as_deref(), body, "{press:?}");
        }
    }

    #[test]
    fn an_action_of_no_text_is_the_page_itself() {
        for (action, expected) in [
            ("", "http://h/a/b?c=d"),
            ("x", "http://h/a/x"),
            ("?y", "http://h/a/b?y"),
            ("https://other/", "https://other/"),
        ] {
            let page = format!("<form method=post action='{action}'></form>");
            let form = Selector::default().find(&page).unwrap();
            let call = form.submit(&url("http://h/a/b?c=d"), &[], None).unwrap();
            assert_eq!(call.url.as_str(), expected);
        }
    }

    proptest! {
        #[test]
        fn hidden_values_come_back_whatever_they_are(value in ".{0,40}") {
            let escaped = value.replace('&', "&amp;").replace('"', "&quot;");
            let page = format!("<form method=post><input type=hidden name=v value=\"{escaped}\"></form>");
            let form = Selector::default().find(&page).unwrap();
            let call = form.submit(&url("http://h/"), &[], None).unwrap();
            let pairs: Vec<(String, String)> = form_urlencoded::parse(&call.body).into_owned().collect();
            prop_assert_eq!(pairs, vec![("v".to_owned(), value)]);
        }

        #[test]
        fn no_page_makes_the_reader_panic(page in "(.|<form |<input name=a |</form>|<select>|<option |<textarea>|<button |>|=|'|\"){0,60}") {
            drop(forms(&page));
        }
    }
}
