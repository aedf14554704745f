//! Objects and words in a body. A list of the values of an object in order, which a derived reader takes as well, is no object; and an object
//! with a word as its only key is no word.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// What is read from an object, and from nothing else.
pub(super) struct Object<T>(pub(super) T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ObjectVisitor(PhantomData)).map(Self)
    }
}

struct ObjectVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
    type Value = T;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<T, A::Error> {
        T::deserialize(MapAccessDeserializer::new(fields))
    }
}

/// Reads an object in a field, if there is one.
pub(super) fn maybe<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    Ok(Option::<Object<T>>::deserialize(deserializer)?.map(|object| object.0))
}

/// Reads a list of objects.
pub(super) fn several<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    let all = Vec::<Object<T>>::deserialize(deserializer)?;
    Ok(all.into_iter().map(|object| object.0).collect())
}

/// One of several words, read from a string and from nothing else.
struct Word<T>(T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Word<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(WordVisitor(PhantomData)).map(Self)
    }
}

struct WordVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for WordVisitor<T> {
    type Value = T;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("a string")
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<T, E> {
        T::deserialize(StrDeserializer::new(word))
    }
}

/// Reads a word in a field.
pub(super) fn word<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    Ok(Word::deserialize(deserializer)?.0)
}

/// Reads a word in a field, if there is one.
pub(super) fn maybe_word<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    Ok(Option::<Word<T>>::deserialize(deserializer)?.map(|word| word.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Eq, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Size {
        Small,
        Large,
    }

    #[derive(Debug, PartialEq, Eq, Deserialize)]
    struct Sizes {
        #[serde(deserialize_with = "word")]
        one: Size,
        #[serde(default, deserialize_with = "maybe_word")]
        other: Option<Size>,
    }

    #[test]
    fn a_word_is_a_string_and_no_object_with_the_word_as_its_key() {
        let read = |text: &str| serde_json::from_str::<Sizes>(text);
        let why = |text: &str| read(text).unwrap_err().to_string();
        let small = || Sizes { one: Size::Small, other: None };
        assert_eq!(read(r#"{"one":"small"}"#).unwrap(), small());
        assert_eq!(read(r#"{"one":"small","other":null}"#).unwrap(), small());
        let both = Sizes { other: Some(Size::Large), ..small() };
        assert_eq!(read(r#"{"one":"small","other":"\u006carge"}"#).unwrap(), both);
        for text in [r#"{"one":{"small":null}}"#, r#"{"one":"small","other":{"large":null}}"#] {
            let why = why(text);
            assert!(why.starts_with("invalid type: map, expected a string"), "{why}");
        }
        let unknown = why(r#"{"one":"huge"}"#);
        assert!(unknown.starts_with("unknown variant `huge`, expected `small` or `large`"));
    }
}
