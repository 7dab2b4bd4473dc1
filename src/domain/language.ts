import { parse } from 'bcp-47'
import { memo } from './memo'

let englishNames: Intl.DisplayNames | undefined

/** Used if the partner sends no language for a member (contract, memberData). */
export const defaultLanguageTag = 'en'

/** Returns true for a well-formed language tag (RFC 5646 §2.1). */
export function isLanguageTag(text: string): boolean {
  // The parser folds case and would accept the Kelvin sign as a k.
  if (!/^[A-Za-z0-9-]+$/.test(text)) return false
  // The parser returns an empty tag on failure.
  const tag = parse(text, { normalize: false })
  return Boolean(tag.language || tag.irregular || tag.regular || tag.privateuse.length)
}

/** Matches well-formed language tags (RFC 5646 §2.1). Does not match grandfathered tags. */
export const languageTagPattern =
  '^(?:(?:[A-Za-z]{2,3}(?:-[A-Za-z]{3}){0,3}|[A-Za-z]{4,8})' +
  '(?:-[A-Za-z]{4})?(?:-(?:[A-Za-z]{2}|[0-9]{3}))?' +
  '(?:-(?:[A-Za-z0-9]{5,8}|[0-9][A-Za-z0-9]{3}))*' +
  '(?:-[0-9A-WY-Za-wy-z](?:-[A-Za-z0-9]{2,8})+)*' +
  '(?:-[Xx](?:-[A-Za-z0-9]{1,8})+)?|[Xx](?:-[A-Za-z0-9]{1,8})+)$'

/** Returns true for equal tags, and for a tag and a prefix: `fr-CA` and `fr`. Ignores case (RFC 5646 §2.1.1). */
export function languageMatches(spoken: string, wanted: string): boolean {
  const [a, b] = [`${spoken.toLowerCase()}-`, `${wanted.toLowerCase()}-`]
  return a.startsWith(b) || b.startsWith(a)
}

/** Returns the English name, such as `French (Canada)`, or the tag itself if it has no name. */
export const languageName = memo(1_000, (tag) => {
  englishNames ??= new Intl.DisplayNames(['en'], { type: 'language', languageDisplay: 'standard' })
  // Tries shorter prefixes of the tag, because extensions and private subtags have no names.
  for (let known = tag; known; known = known.slice(0, Math.max(0, known.lastIndexOf('-')))) {
    try {
      const name = englishNames.of(known)
      if (name && name.toLowerCase() !== known.toLowerCase()) return name
    } catch {
      // Invalid as a Unicode language id, for example a grandfathered tag. A shorter prefix may be valid.
    }
  }
  return tag
})
