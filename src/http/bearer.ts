import { bearer } from '@elysiajs/bearer'

/** What the plugin derives a token from, and what it comes to. */
type ReadBearer = (sent: { query: object; headers: { authorization: string } }) => { readonly bearer: string }

// Called and not mounted: as a hook it would have Elysia parse the query and all headers of each request, and wait for a
// promise, which takes as long as all else that stands before an endpoint.
const readBearer = bearer().event.transform?.[0]?.fn as unknown as ReadBearer

// Headers that were read, those of forged tokens too: a partner sends the same one with each request.
const known = new Map<string, string>()
const [mostKnown, mostCharacters] = [1_000, 1_000]

/** The token that a request's Authorization header hands over (RFC 6750 §2.1); empty where it hands over none. */
export function tokenOf({ headers }: Request): string {
  const authorization = headers.get('authorization')
  if (authorization === null) return ''
  const found = known.get(authorization)
  if (found !== undefined) return found
  const token = read(authorization)
  if (authorization.length > mostCharacters) return token
  if (known.size >= mostKnown) known.clear()
  known.set(authorization, token)
  return token
}

function read(authorization: string): string {
  if (!/^bearer [^ ]+$/i.test(authorization)) return ''
  // The plugin knows one case of the scheme, and looks for tokens in the query too: it gets to see a header in its own
  // spelling, and no query (RFC 9110 §11.1).
  const inItsSpelling = `Bearer ${authorization.slice('bearer '.length)}`
  return readBearer({ query: {}, headers: { authorization: inItsSpelling } }).bearer
}
