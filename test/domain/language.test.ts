import { describe, expect, test } from 'bun:test'
import { defaultLanguageTag, isLanguageTag, languageMatches, languageName } from '../../src/domain/language'
import { words } from '../support/words'

describe('domain: languageMatches', () => {
  test.each([
    ['fr', 'fr'],
    ['fr-CA', 'fr'],
    ['fr', 'fr-CA'],
    ['fr-CA', 'FR-ca'],
    ['FR', 'fr-ca'],
    ['zh-Hant-TW', 'zh-Hant'],
    ['zh', 'zh-Hant-TW'],
  ])('a provider who speaks %s is found by a search for %s', (spoken, wanted) => {
    expect(languageMatches(spoken, wanted)).toBe(true)
  })

  test.each([
    ['fr-CA', 'fr-FR'],
    ['fr', 'en'],
    ['fr', 'fry'],
    ['fry', 'fr'],
    ['fr-CA', 'fr-C'],
    ['zh-Hant', 'zh-Hans'],
    ['zh-Hant-TW', 'zh-TW'],
  ])('a provider who speaks %s is not found by a search for %s', (spoken, wanted) => {
    expect(languageMatches(spoken, wanted)).toBe(false)
  })
})

describe('domain: isLanguageTag', () => {
  test.each(words`
    en EN-us fr-CA zh-Hant-TW es-419 yue sl-rozaj-biske de-CH-1901 en-a-bbb-x-a-ccc x-whatever i-klingon
    sgn-BE-FR zh-cmn
  `)('accepts %s', (tag) => {
    expect(isLanguageTag(tag)).toBe(true)
  })

  test.each([
    '',
    'e',
    'en_US',
    'en-',
    '-en',
    'en--US',
    'toolongname',
    'en-US ',
    'en US',
    'f\u00e9',
    '\u212ao',
    'x',
    'en-a',
    '12',
  ])('rejects %j', (tag) => {
    expect(isLanguageTag(tag)).toBe(false)
  })
})

describe('domain: languageName', () => {
  test.each([
    ['en', 'English'],
    ['en-US', 'English (United States)'],
    ['fr-CA', 'French (Canada)'],
    ['FR-ca', 'French (Canada)'],
    ['es-419', 'Spanish (Latin America)'],
    ['zh-Hant-TW', 'Chinese (Traditional, Taiwan)'],
    ['yue', 'Cantonese'],
    ['de-CH-1901', 'German (Switzerland, Traditional German orthography)'],
    ['en-CA-x-clinic', 'English (Canada)'],
    ['zh-cmn', 'Chinese'],
  ])('returns for the tag %s the name %s', (tag, name) => {
    expect(languageName(tag)).toBe(name)
  })

  test.each(['x-whatever', 'i-klingon', 'qaa'])(
    'returns the tag %s unchanged if it has no English name',
    (tag) => {
      expect(languageName(tag)).toBe(tag)
    },
  )

  test('returns English for the default language', () => {
    expect(languageName(defaultLanguageTag)).toBe('English')
  })
})
