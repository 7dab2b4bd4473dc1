import { expect, test } from 'bun:test'
import { requireName } from '../../src/domain/partner'

test.each(['N', '3M', 'Nonesuch', 'North Care', "Zoë's & Söhne", '渡辺', 'x'.repeat(200), '👩'.repeat(200)])(
  'domain: %p is a valid name of a partner or organization',
  (name) => {
    expect(() => requireName(name)).not.toThrow()
  },
)

test.each([
  ['', 'name: must not be empty'],
  [' North', 'name: must not begin or end with a space'],
  ['North\u00a0', 'name: must not begin or end with a space'],
  [' ', 'name: must not begin or end with a space'],
  ['x'.repeat(201), 'name: must have at most 200 characters'],
  ['3', 'name: must not be a number, because commands read it as an id'],
  ['007', 'name: must not be a number, because commands read it as an id'],
  ['none', 'name: must not be none, because commands read it as no organization'],
  ['--yes', 'name: must not begin with a dash, because commands read it as an option'],
  ['None', 'name: must not be none, because commands read it as no organization'],
  ['North\nCare', 'name: must not contain a control character'],
  ['North\u001b[31m', 'name: must not contain a control character'],
  ['\u007fNorth', 'name: must not contain a control character'],
  ['North\u009b', 'name: must not contain a control character'],
  ['North\0', 'name: must not contain a control character'],
  ['North\u202eerac', 'name: must not contain a control character'],
  ['No\u200brth', 'name: must not contain a control character'],
  ['North\u2028Care', 'name: must not contain a control character'],
  ['North\ud800', 'name: must not contain a control character'],
])('domain: %p is not a valid name of a partner or organization', (name, message) => {
  expect(() => requireName(name)).toThrow(expect.objectContaining({ kind: 'field_invalid', message }))
})
