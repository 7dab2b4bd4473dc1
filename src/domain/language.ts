import { parse } from 'bcp-47'
import { memo } from './memo'

let englishNames: Intl.DisplayNames | undefined

/** The language that a member is taken to speak who has not said otherwise (contract, memberData). */
export const defaultLanguageTag = 'en'

/** Whether a text is a well-formed language tag (RFC 5646 §2.1). */
export function isLanguageTag(text: string): boolean {
  // Folding its case, the parser would take the Kelvin sign for a k.
  if (!/^[A-Za-z0-9-]+$/.test(text)) return false
  // The parser's own form of a failure is an empty tag.
  const tag = parse(text, { normalize: false })
  return Boolean(tag.language || tag.irregular || tag.regular || tag.privateuse.length)
}

/** Well-formed language tags but for the grandfathered ones (RFC 5646 §2.1), as a regular expression. */
export const languageTagPattern =
  '^(?:(?:[A-Za-z]{2,3}(?:-[A-Za-z]{3}){0,3}|[A-Za-z]{4,8})' +
  '(?:-[A-Za-z]{4})?(?:-(?:[A-Za-z]{2}|[0-9]{3}))?' +
  '(?:-(?:[A-Za-z0-9]{5,8}|[0-9][A-Za-z0-9]{3}))*' +
  '(?:-[0-9A-WY-Za-wy-z](?:-[A-Za-z0-9]{2,8})+)*' +
  '(?:-[Xx](?:-[A-Za-z0-9]{1,8})+)?|[Xx](?:-[A-Za-z0-9]{1,8})+)$'

/**
 * Whether a spoken language answers a wanted one: one tag equals the other or extends it subtag by subtag,
 * so `fr` finds `fr-CA` and `fr-CA` finds `fr`, but not `fr-FR`. Case does not matter (RFC 5646 §2.1.1).
 */
export function languageMatches(spoken: string, wanted: string): boolean {
  const [a, b] = [`${spoken.toLowerCase()}-`, `${wanted.toLowerCase()}-`]
  return a.startsWith(b) || b.startsWith(a)
}

/** The English name of a language tag, as `English` or `French (Canada)`; the tag itself where there is none. */
export const languageName = memo(1_000, (tag) => {
  englishNames ??= new Intl.DisplayNames(['en'], { type: 'language', languageDisplay: 'standard' })
  // Names are known for a tag's first subtags: an extension or a private part says nothing about the language.
  for (let known = tag; known; known = known.slice(0, Math.max(0, known.lastIndexOf('-')))) {
    try {
      const name = englishNames.of(known)
      if (name && name.toLowerCase() !== known.toLowerCase()) return name
    } catch {
      // Not a Unicode language id (an extlang, a grandfathered tag): its beginning may be one.
    }
  }
  return tag
})
